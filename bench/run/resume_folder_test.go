package run

import (
	"os"
	"path/filepath"
	"testing"

	"rollcall/bench/run/checkpoint"
)

// A folder with something in it that has the name of a checkpoint costs that checkpoint alone, and stays as it is.
func TestResumeFolderInTheWay(t *testing.T) {
	x, ses, _ := resumable(t, "method=fedavg-active")
	interruptedAfter(t, x, ses, 2)
	path := filepath.Join(x.Dir, checkpoint.Name(4))
	obstructed(t, path)
	interruptedAfter(t, x, ses, 4)
	rows, err := do(t.Context(), x, ses, silent())
	if err != nil || len(rows) != 7 {
		t.Errorf("%d rows, %v, want all of them", len(rows), err)
	}
	if _, err := os.Stat(filepath.Join(path, "in the way")); err != nil {
		t.Errorf("%v, want the folder as it was", err)
	}
}
