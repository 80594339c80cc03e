package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// trackersPython is the variable that names a Python with TensorBoard, W&B and MLflow.
const trackersPython = "ROLLCALL_TRACKERS_PYTHON"

// Runs that were trained without --events open in TensorBoard, W&B and MLflow as docs/trackers.md says: complete ones,
// one that diverged, one that was interrupted and one that was killed.
func TestTrackers(t *testing.T) {
	python := os.Getenv(trackersPython)
	if python == "" {
		t.Skip(trackersPython + " is not set, want a Python with what .ci/trackers.txt names")
	}
	ofProcesses(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	pass(t, smallSweep(out, "--methods", "fedau,mifa", "--availability", "sine", "--seeds", "1,2")...)
	if o := rollcall(t, smallRun(out, "--lr", "1e9")...); o.status == 0 {
		t.Errorf("status 0, want a run that diverges:\n%s", o.stderr)
	}
	pass(t, smallRun(out, "--seed", "5")...)
	pass(t, smallRun(out, "--seed", "6", "--method", "fedau")...)
	stopped := only(t, out, "run/*/seed-5/"+results.RunFile)
	info := must.Get(results.ReadRunInfo(stopped))(t)
	info.Status, info.Error = results.RunInterrupted, "interrupted after 4 rounds"
	must.OK(t, results.WriteRunInfo(stopped, info, nil))
	must.OK(t, os.Rename(only(t, out, "run/*/seed-6/"+results.RunFile), filepath.Join(dir, "killed.json")))
	if o := pass(t, "results", "events", out); o.stdout != "7 event files written\n" {
		t.Errorf("%q, want 7 event files", o.stdout)
	}

	var snippets []string
	for i, piece := range strings.Split(contents(t, "../../docs/trackers.md"), "```") {
		if code, is := strings.CutPrefix(piece, "python\n"); is && i%2 == 1 {
			snippets = append(snippets, code)
		}
	}
	if len(snippets) != 2 {
		t.Fatalf("docs/trackers.md: %d pieces of Python, want one for W&B and one for MLflow", len(snippets))
	}
	modules := filepath.Join(dir, "python")
	must.OK(t, os.CopyFS(modules, os.DirFS("../python"))) // which tells the cache of tests what this one reads
	args := append([]string{"-c", contents(t, "testdata/trackers.py")}, snippets...)
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "ROLLCALL="+must.Get(exec.LookPath("rollcall"))(t),
		"PYTHONPATH="+modules, "HOME="+dir, "DO_NOT_TRACK=true", "WANDB_SILENT=true", "WANDB_ERROR_REPORTING=false")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
}
