package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// A method in Python whose numbers change with the environment: its run is killed in round 5 and repeated elsewhere,
// with another NumPy. The rows that differ are an error that names the version; rows that do not are gone on from, and
// a line names it.
func TestPythonRuntimeChanged(t *testing.T) {
	needsPython(t)
	ofProcesses(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	file := script(t, dir, "own", `import os, signal, time
import rollcall_fl as rc

class Own(rc.Method):
    rates = dict(lr=0.05, server_lr=1)

    def start(self, fed):
        self.w = fed.model("w")

    def round(self, r):
        if r.t == 5 and "KILL" in os.environ:
            time.sleep(0.5)  # until the rows are written
            os.kill(os.getppid(), signal.SIGKILL)
        ends = r.train(start=self.w)
        self.w.set(self.w + float(os.environ.get("FACTOR", "1")) * rc.mean(ends - self.w))
`)
	must.OK(t, os.Mkdir(other, 0o777))
	script(t, other, "sitecustomize", "import numpy\nnumpy.__version__ = '9.9'\n")
	for _, c := range []struct {
		name, factor string
		status       int
		want         string
	}{
		{"same rows", "1", 0, ": goes on from round "},
		{"other rows", "2", 1, "curve.csv: round "},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := strings.Fields("run --method " + file + " --data leaf --clients 10 --rounds 8 --eval-every 1 " +
				"--checkpoint-every 1ns --device cpu --out " + out)
			killed := process(t, args...)
			killed.Stderr = nil
			killed.Env = append(killed.Env, "KILL=1")
			if text, err := killed.CombinedOutput(); err == nil {
				t.Fatalf("it ended by itself, want it killed:\n%s", text)
			}
			// With the older of two checkpoints, the curve has a row that comes again.
			kept := must.Get(filepath.Glob(filepath.Join(out, "run", "*", "seed-3", "checkpoint-*")))(t)
			for _, newer := range slices.Sorted(slices.Values(kept))[1:] {
				must.OK(t, os.Remove(newer))
			}
			again := process(t, args...)
			again.Stderr = nil
			again.Env = append(again.Env, "FACTOR="+c.factor, "PYTHONPATH="+other)
			text, _ := again.CombinedOutput()
			said := string(text)
			if again.ProcessState.ExitCode() != c.status || !strings.Contains(said, c.want) ||
				!strings.Contains(said, " there, 9.9 here") {
				t.Errorf("status %d\n%s\nwant status %d, %q and the versions", again.ProcessState.ExitCode(), said,
					c.status, c.want)
			}
		})
	}
}
