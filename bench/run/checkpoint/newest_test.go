package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
)

// What a checkpoint says of itself is read without the rest of it.
func TestNewest(t *testing.T) {
	dir := t.TempDir()
	if got, err := Newest(filepath.Join(dir, "none")); got != nil || err != nil {
		t.Errorf("no folder: %v, %v, want nothing", got, err)
	}
	if got, err := Newest(dir); got != nil || err != nil {
		t.Errorf("no checkpoint: %v, %v, want nothing", got, err)
	}
	for _, round := range []int{9, 100, 20} {
		c := &Content{About: About{Round: round, Rounds: 2000, Seed: 3}}
		must.OK(t, Write(t.Context(), filepath.Join(dir, Name(round)), c, nil))
	}
	got, err := Newest(dir)
	if err != nil || got.Round != 100 || got.Rounds != 2000 || got.Seed != 3 || got.Schema != Schema {
		t.Errorf("%+v, %v, want round 100 of 2000, seed 3, schema %d", got, err, Schema)
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, Name(200)), []byte("no checkpoint"), 0o666))
	if got, err := Newest(dir); err == nil {
		t.Errorf("damaged: %+v, want an error", got)
	}
}
