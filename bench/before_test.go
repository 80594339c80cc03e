package main

import (
	"os"
	"strings"
	"testing"
)

// Runs that commit 24feb20 wrote, before settings were rows and parameters stood beside their methods, are read and kept:
// testdata/before holds what `run` and `sweep` of that commit left, the processor's name aside.
func TestRunsOfBefore(t *testing.T) {
	out := t.TempDir()
	if err := os.CopyFS(out, os.DirFS("testdata/before")); err != nil {
		t.Fatal(err)
	}
	o := must(t, "run", "--method", "ca-fed", "--data", "leaf", "--availability", "markov", "--clients", "4", "--rounds", "2",
		"--eval-every", "1", "--prior", "1000000", "--device", "cpu", "--out", out)
	if !strings.Contains(o.stdout, "kept, as finished before") {
		t.Errorf("run: %q, want the run of before kept", o.stdout)
	}
	o = must(t, "sweep", "--methods", "fedar,fedawe", "--availability", "uniform", "--data", "binary", "--clients", "4",
		"--rounds", "2", "--eval-every", "1", "--like", "fedavg-active", "--fedar-t0", "none", "--seeds", "3", "--device", "cpu",
		"--out", out)
	if n := strings.Count(o.stderr, "1 finished run kept"); n != 2 {
		t.Errorf("sweep: %d cells kept, want the two of before:\n%s", n, o.stderr)
	}
	if list := must(t, "results", "list", out).stdout; strings.Count(list, "complete") != 3 {
		t.Errorf("results list:\n%s\nwant three complete runs", list)
	}
	must(t, "report", out)
}
