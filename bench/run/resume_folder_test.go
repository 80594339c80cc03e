package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/run/checkpoint"
)

// A folder with something in it that has the name of a checkpoint ends the run before it trains, and stays as it is.
func TestResumeFolderInTheWay(t *testing.T) {
	x, l, _ := resumable(t, "method=fedavg-active")
	interruptedAfter(t, x, l, 2)
	path := filepath.Join(x.Dir, checkpoint.Name(4))
	obstructed(t, path)
	rows, err := x.Do(t.Context(), l, silent())
	if want := path + ": a folder, want a file"; err == nil || !strings.Contains(err.Error(), want) || len(rows) > 0 {
		t.Errorf("%d rows, %v, want none and %q", len(rows), err, want)
	}
	if _, err := os.Stat(filepath.Join(path, "in the way")); err != nil {
		t.Errorf("%v, want the folder as it was", err)
	}
}
