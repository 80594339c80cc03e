package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// A run that fails is tried again after all others, and made if it can be made by then.
func TestRetries(t *testing.T) {
	out := t.TempDir()
	line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4,5", "--retries", "2")
	pass(t, line...)
	want := timelessTree(t, out)
	blocked := filepath.Dir(only(t, out, "sweep/mifa_*/seed-4/run.json"))
	last := filepath.Dir(only(t, out, "sweep/fedawe_*/seed-5/run.json"))
	must.OK(t, errors.Join(os.RemoveAll(last), os.RemoveAll(blocked), os.WriteFile(blocked, nil, 0o600)))
	o := meanwhile(t, "fedawe leaf stationary seed 5: round 0/", func() { _ = os.Remove(blocked) }, line...)
	runs := strings.Join(begun(succeeded(t, o, line).stderr), ", ")
	if runs != "fedawe leaf stationary seed 5, mifa leaf stationary seed 4" {
		t.Errorf("begun: %q, want mifa's seed 4 after all others:\n%s", runs, o.stderr)
	}
	if n := strings.Count(o.stderr, "tried again later"); n != 1 {
		t.Errorf("said %d times that it is tried again, want once:\n%s", n, o.stderr)
	}
	sameTree(t, "after a failure", timelessTree(t, out), want)
}

// What keeps failing is tried as often as is asked for and counted, the seeds of one cause in one line.
func TestRetriesFail(t *testing.T) {
	for retries, want := range map[string]int{"0": 0, "1": 2, "3": 6} {
		t.Run("--retries "+retries, func(t *testing.T) {
			out := t.TempDir()
			line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4,6", "--retries", retries)
			pass(t, line...)
			cell := filepath.Dir(filepath.Dir(only(t, out, "sweep/mifa_*/seed-4/run.json")))
			for _, seed := range []string{"3", "6"} {
				must.OK(t, os.RemoveAll(filepath.Join(cell, "seed-"+seed)))
				must.OK(t, os.WriteFile(filepath.Join(cell, "seed-"+seed), nil, 0o600))
			}
			o := rollcall(t, line...)
			want3and6 := "mifa leaf stationary: seeds 3, 6: output folder " +
				filepath.Join(cell, "seed-*") + ": not a directory, want a folder that can be written to\n"
			if !strings.Contains(o.stderr, want3and6) {
				t.Errorf("want seeds 3 and 6 in one line:\n%s", o.stderr)
			}
			if o.status != statusFailure ||
				!strings.HasSuffix(o.stderr, "\nrollcall: table sweep: 1 of 2 cells failed\n") {
				t.Errorf("status %d, want 1 and one cell of two:\n%s", o.status, o.stderr)
			}
			if n := strings.Count(o.stderr, "tried again later\n"); n != want {
				t.Errorf("tried again %d times, want %d:\n%s", n, want, o.stderr)
			}
		})
	}
}

// What another attempt would come to again is not tried again.
func TestNoRetry(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"no data", "--data svhn", "unavailable"},
		{"no memory", "--data leaf --memory-limit 10kB", "--memory-limit"},
		{"diverged", "--data leaf --lr 1e38 --rounds 6", "have runs that diverged, named above"},
		{"of another engine", "--data leaf", "--mixed accepts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := t.TempDir()
			line := strings.Fields("sweep --methods mifa --seeds 3,4 --clients 4 --rounds 2 --eval-every 1 " +
				"--retries 3 --device cpu --out " + out + " " + c.line)
			if c.name == "of another engine" {
				pass(t, line...)
				doctored(t, out, func(info *results.RunInfo, row *results.CurveRow) {
					info.Numerics, info.Engine, row.Engine = "cuda-sm90-tf32", "cuda-sm90", "cuda-sm90"
				})
			}
			o := rollcall(t, line...)
			if o.status != statusFailure || !strings.Contains(o.stderr, c.want) ||
				strings.Contains(o.stderr, "tried again") {
				t.Errorf("status %d, want 1, %q, and no other attempt:\n%s", o.status, c.want, o.stderr)
			}
		})
	}
}
