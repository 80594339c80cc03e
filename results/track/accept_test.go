package track

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// An accepted event is closed, also where another level gave it another ID; a new cause is not.
func TestAccept(t *testing.T) {
	path := written(t, t.TempDir(), slowed(70))
	h, _ := Read(path)
	v := verdictOn(t, h)
	f := v.Open()[0]
	if err := Accept(h, f, " \n", time.Now()); err == nil || !strings.Contains(err.Error(), "no reason") {
		t.Errorf("no reason: got %v, want an error", err)
	}
	when := time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
	must.OK(t, Accept(h, f, "a better loss,\n\"slower\"", when))
	accepted, bad := ReadAcceptances(path)
	want := Acceptance{"2026-03-12T12:00:00Z", f.ID, f.FirstRun, "metric/00 metric/01", `a better loss, "slower"`}
	if len(bad) > 0 || !reflect.DeepEqual(accepted, []Acceptance{want}) {
		t.Fatalf("kept: got %+v, %v, want %+v", accepted, bad, want)
	}
	if v := verdictOn(t, h, accepted...); len(v.Open()) > 0 || v.Events[0].State != Accepted ||
		!strings.HasSuffix(v.Events[0].Text, `: a better loss, "slower"`) ||
		!strings.Contains(v.Text, ": no regression") {
		t.Errorf("accepted: got %+v", v)
	}
	must.OK(t, Accept(h, f, "again", when))
	if accepted, _ = ReadAcceptances(path); len(accepted) != 2 {
		t.Errorf("two acceptances: got %+v", accepted)
	}
	accepted = accepted[:1]
	accepted[0].ID = "000000"
	if v := verdictOn(t, h, accepted...); len(v.Open()) > 0 {
		t.Errorf("another ID, the same first night and metrics: got %q, want it accepted", v.Text)
	}
	accepted[0].Metrics = "metric/02"
	if v := verdictOn(t, h, accepted...); len(v.Open()) != 1 {
		t.Errorf("another ID and other metrics: got %q, want it open", v.Text)
	}
	if all, bad := ReadFolder(filepath.Dir(path)); len(all) != 1 || len(bad) > 0 {
		t.Errorf("folder: got %d histories, %v, want the one", len(all), bad)
	}
	must.OK(t, os.WriteFile(acceptedPath(path), []byte("x\n"), 0o600))
	if _, bad := ReadAcceptances(path); len(bad) != 1 {
		t.Errorf("damaged: got %v, want one error", bad)
	}
}
