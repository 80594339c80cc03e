package track

import (
	"errors"
	"os"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// Appending changes nothing of what is there, whatever that is.
func TestAppendKeeps(t *testing.T) {
	h := small(2)
	dir := t.TempDir()
	path := written(t, dir, h)
	good := must.Get(os.ReadFile(path))(t)
	torn := string(good[:len(good)-30])
	must.OK(t, os.WriteFile(path, []byte(torn), 0o600))
	w := must.Get(NewWriter(dir))(t)
	defer w.Close()
	next := small(3).Nights[2]
	must.OK(t, w.Append(h.Machine, next))
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), torn+halfWritten+"\n2,") {
		t.Errorf("file: got %q, %v, want what was there, its last line marked and ended, and the night", text, err)
	}
	back, bad := Read(path)
	if len(back.Nights) != 3 || len(bad) != 1 || !strings.Contains(bad[0].Error(), "line 5: half written") {
		t.Errorf("read: got %d nights, %v, want 3 and line 5 half written", len(back.Nights), bad)
	}
	if err := w.Append(h.Machine, next); err == nil ||
		!strings.Contains(err.Error(), "run "+next.Run+" is in it already") {
		t.Errorf("the same run again: got %v, want that it is in it already", err)
	}
	must.OK(t, os.WriteFile(path, []byte("schema,moon\n"), 0o600))
	if err := w.Check(h.Machine); err == nil || !strings.Contains(err.Error(), "line 1: ") {
		t.Errorf("foreign file: got %v, want line 1 named", err)
	}
	if err := w.Append(h.Machine, next); err == nil {
		t.Error("foreign file: a night was appended, want an error")
	}
	if text, _ := os.ReadFile(path); string(text) != "schema,moon\n" {
		t.Errorf("foreign file: it was changed to %q", text)
	}
}

func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	first := must.Get(NewWriter(dir))(t)
	if _, err := NewWriter(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("second writer: got %v, want %v", err, ErrBusy)
	}
	must.OK(t, first.Close())
	third, err := NewWriter(dir)
	if err != nil {
		t.Fatalf("after the first is closed: got %v, want a writer", err)
	}
	third.Close()
}
