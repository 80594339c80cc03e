package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/results"
)

// The run that stays aside while it is made anew is seen by no other command; it goes when the new one is complete.
func TestAgainKeepsTheOldAside(t *testing.T) {
	out := t.TempDir()
	pass(t, smallRun(out, "--rounds", "6")...)
	seed := filepath.Dir(only(t, out, curvePath))
	want := timelessTree(t, out)
	interrupt(t, "round 3/6", smallRun(out, "--rounds", "6", "--again")...)
	old, err := results.ReadRunInfo(filepath.Join(seed, ".old", results.RunFile))
	if err != nil || old.Status != results.RunComplete {
		t.Errorf("%s, %v, want the complete run aside", old.Status, err)
	}
	if o := pass(t, "results", "list", out); strings.Count(o.stdout, "mifa") != 1 ||
		!strings.Contains(o.stdout, "interrupted") {
		t.Errorf("list: %q, want the interrupted run alone", o.stdout)
	}
	if o := pass(t, "results", "verify", out); !strings.Contains(o.stdout, "1 run") {
		t.Errorf("verify: %q, want one run", o.stdout)
	}
	for _, line := range []string{"results merge OUT --out TO", "report OUT --to TO"} {
		to := t.TempDir()
		rollcall(t, strings.Fields(strings.NewReplacer("OUT", out, "TO", to).Replace(line))...) // there may be no run
		for path, text := range contentsBelow(t, to, "") {
			if strings.Contains(path+text, ".old") || strings.Contains(path, "checkpoint-") {
				t.Errorf("%s: wrote %s, want nothing of the run that is aside", line, path)
			}
		}
	}
	if o := pass(t, smallRun(out, "--rounds", "6")...); !strings.Contains(o.stderr, "resumes from round 3") {
		t.Errorf("stderr %q, want it to go on", o.stderr)
	}
	sameTree(t, "again", timelessTree(t, out), want)
}

// What a killed command left to tidy up is tidied up by the repeated one, kept checkpoints too unless they are asked
// for again.
func TestKeptRunIsTidied(t *testing.T) {
	out := t.TempDir()
	interrupt(t, "round 2/6", smallRun(out, "--rounds", "6")...)
	interrupt(t, "round 4/6", smallRun(out, "--rounds", "6")...)
	pass(t, smallRun(out, "--rounds", "6", "--keep-checkpoints")...)
	seed := filepath.Dir(only(t, out, curvePath))
	for _, aside := range []string{".old", ".old-7"} { // with a part of what the run has
		must.OK(t, os.MkdirAll(filepath.Join(seed, aside), 0o777))
		must.OK(t, os.Link(filepath.Join(seed, results.CurveFile), filepath.Join(seed, aside, results.CurveFile)))
	}
	pass(t, smallRun(out, "--rounds", "6", "--keep-checkpoints")...)
	if kept := must.Get(filepath.Glob(filepath.Join(seed, "checkpoint-*")))(t); len(kept) != 2 {
		t.Errorf("checkpoints %q, want 2 kept", kept)
	}
	if o := pass(t, smallRun(out, "--rounds", "6")...); !strings.Contains(o.stdout, "kept, finished before") {
		t.Errorf("stdout %q, want the run kept", o.stdout)
	}
	entries, err := os.ReadDir(seed)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v, want %s, %s and %s alone", entries, err, lock.File, results.CurveFile, results.RunFile)
	}
}
