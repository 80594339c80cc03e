package e2e

import (
	"maps"
	"os"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// Runs that commit 24feb20 wrote, of schema 1, can be looked at, marked as unverified. They are not kept, and in no
// mean with runs of now: testdata/before holds what `run` and `sweep` of that commit left, the processor's name aside.
func TestRunsOfBefore(t *testing.T) {
	out := t.TempDir()
	must.OK(t, os.CopyFS(out, os.DirFS("testdata/before")))
	o := rollcall(t, "results", "verify", out)
	if o.status != statusFailure || strings.Count(o.stderr, "run.json of schema 1, want 2: unverified") != 3 {
		t.Errorf("verify: status %d, %q, want three runs that are unverified", o.status, o.stderr)
	}
	o = pass(t, "run", "--method", "ca-fed", "--data", "leaf", "--availability", "markov", "--clients", "4",
		"--rounds", "2", "--eval-every", "1", "--prior", "1000000", "--device", "cpu", "--out", out)
	if strings.Contains(o.stdout, "kept") {
		t.Errorf("run: %q, want the run of before left alone", o.stdout)
	}
	o = pass(t, "sweep", "--methods", "fedar,fedawe", "--availability", "uniform", "--data", "binary", "--clients", "4",
		"--rounds", "2", "--eval-every", "1", "--like", "fedavg-active", "--fedar-t0", "none", "--seeds", "3,4",
		"--device", "cpu", "--out", out)
	if strings.Contains(o.stderr, "kept") {
		t.Errorf("sweep: %q, want the runs of before left alone", o.stderr)
	}
	rows := summaryRows(t, out, "sweep")
	counts := map[string]int{}
	for _, row := range rows {
		counts[row["status"]+" of "+row["n"]]++
	}
	if want := map[string]int{"ok of 2": 4, "unverified of 1": 4}; !maps.Equal(counts, want) {
		t.Errorf("summary.csv: %v, want the runs of before in rows of their own: %v", counts, want)
	}
	if list := pass(t, "results", "list", out).stdout; strings.Count(list, "[unverified]") != 3 ||
		strings.Count(list, "complete") != 6 {
		t.Errorf("results list:\n%s\nwant six cells that are complete, three of them unverified", list)
	}
	if text := pass(t, "results", "export", "sweep", out).stdout; !strings.Contains(text, "unverified") {
		t.Errorf("results export:\n%s\nwant the runs of before marked", text)
	}
	pass(t, "report", out)
	// What can be told of a damaged one is told.
	curve := only(t, out, "run/ca-fed_leaf_markov_8604aeecc7/seed-3/curve.csv")
	text := strings.TrimSuffix(contents(t, curve), "\n")
	must.OK(t, os.WriteFile(curve, []byte(text[:strings.LastIndex(text, "\n")+1]), 0o666))
	o = rollcall(t, "results", "verify", out)
	if o.status != statusFailure || !strings.Contains(o.stderr, curve+": ends with round 1, want round 2") {
		t.Errorf("without its last row: status %d, %q, want it named", o.status, o.stderr)
	}
}
