//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// Two processes share a tuning, and find what one alone finds. Without waiting, one ends where others make a run.
func TestTuneShared(t *testing.T) {
	ofProcesses(t)
	more := []string{"--methods", "fedawe,mifa", "--availability", "sine"}
	alone := t.TempDir()
	pass(t, tuneOf(alone, tuneGrid, more...)...)
	want := trialsAndRates(t, alone)

	out := t.TempDir()
	var both [2]*child
	for i := range both {
		both[i] = startChild(t, claimTimes+"=50ms 5s", tuneOf(out, tuneGrid, more...)...)
	}
	for _, c := range both {
		<-c.ended
		if c.ProcessState.ExitCode() != statusOK {
			t.Errorf("status %d, want 0:\n%s", c.ProcessState.ExitCode(), c.log.String())
		}
	}
	if got := trialsAndRates(t, out); got != want {
		t.Errorf("two processes:\n%s\nwant what one alone found:\n%s", got, want)
	}

	runs, err := filepath.Glob(filepath.Join(out, "tune", "mifa_*", "seed-1001"))
	if err != nil || len(runs) != 6 {
		t.Fatalf("runs of mifa: %q, %v, want those of 6 pairs", runs, err)
	}
	held := runs[0]
	must.OK(t, os.RemoveAll(held))
	defer hold(t, held)()
	o := rollcall(t, tuneOf(out, tuneGrid, append(more, "--no-wait")...)...)
	if o.status != statusOK ||
		!strings.Contains(o.stderr, "tune tune: other processes make 1 run, which are not waited for") ||
		strings.Contains(o.stdout, "\nmifa ") || !strings.Contains(o.stdout, "\nfedawe ") {
		t.Errorf("status %d, want 0 and the rates of fedawe alone:\n%s%s", o.status, o.stdout, o.stderr)
	}
}
