package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// Methods of four papers under two availability models have one and the same activity, split and initial model, and
// everything is kept the second time.
func TestSweep(t *testing.T) {
	out := t.TempDir()
	args := smallSweep(out, "--methods", "fedawe,ca-fed,fedar,scaffold", "--availability", "markov,uniform",
		"--seeds", "3,4")
	first := pass(t, args...)
	active := map[string][]string{} // of every round, by availability and seed
	initial := map[string]string{}  // loss of the initial model
	curves, err := filepath.Glob(filepath.Join(out, "sweep", "*", "seed-*", results.CurveFile))
	if err != nil || len(curves) != 16 {
		t.Fatalf("%d curves, %v, want 16", len(curves), err)
	}
	for _, path := range curves {
		_, curve := table(t, contents(t, path))
		var there []string
		for _, row := range curve {
			there = append(there, row["active"])
		}
		key := curve[0]["availability"] + curve[0]["seed"]
		if active[key] == nil {
			active[key], initial[key] = there, curve[0]["test_loss"]
		}
		if !slices.Equal(active[key], there) || initial[key] != curve[0]["test_loss"] {
			t.Errorf("%s: active %v from loss %s, want the others' %v from %s",
				path, there, curve[0]["test_loss"], active[key], initial[key])
		}
	}
	again := pass(t, args...)
	if again.stdout != first.stdout || strings.Count(again.stderr, "2 finished runs kept") != 8 {
		t.Errorf("second time:\n%s%s\nwant the same table from kept runs:\n%s",
			again.stdout, again.stderr, first.stdout)
	}
}

// A table is printed as it is on disk when the command ends: a run that somebody has changed since it was done is no
// part of it.
func TestSweepOnDisk(t *testing.T) {
	out := t.TempDir()
	line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4")
	pass(t, line...)
	must.OK(t, os.RemoveAll(filepath.Dir(filepath.Dir(only(t, out, "sweep/fedawe_*/seed-3/run.json")))))
	mifa := only(t, out, "sweep/mifa_*/seed-4/run.json")
	o := meanwhile(t, "fedawe leaf stationary seed 3: round 0/", func() { // mifa is done
		if err := os.Remove(mifa); err != nil {
			t.Error(err)
		}
	}, line...)
	if o.status != statusFailure || !strings.Contains(o.stderr, "seed-4: unfinished, and was finished before") ||
		!strings.Contains(o.stderr, "table sweep: 1 of 2 cells failed") ||
		!strings.Contains(o.stdout, "was finished before") {
		t.Errorf("status %d, want 1 and what has changed:\n%s\n%s", o.status, o.stderr, o.stdout)
	}
	if o := pass(t, line...); len(begun(o.stderr)) != 1 {
		t.Errorf("begun %q, want the one that has changed:\n%s", begun(o.stderr), o.stderr)
	}
}

// A narrower command leaves the rows of the others in summary.csv, also if it is interrupted.
func TestNarrowerSweep(t *testing.T) {
	out := t.TempDir()
	pass(t, smallSweep(out, "--methods", "fedawe,mifa")...)
	path := filepath.Join(out, "sweep", results.SummaryFile)
	sorted := func() string {
		lines := strings.Split(contents(t, path), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	want := sorted()
	pass(t, smallSweep(out, "--methods", "fedawe")...)
	if got := sorted(); got != want {
		t.Errorf("narrower:\n%s\nwant\n%s", got, want)
	}
	interrupt(t, "round 1/100000", smallSweep(out, "--methods", "fedvarp", "--rounds", "100000")...)
	for line := range strings.Lines(want) {
		if !strings.Contains(sorted(), line) {
			t.Errorf("interrupted: %q is gone", line)
		}
	}
}
