package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/internal/must"
	"rollcall/results"
)

// sometimes are the settings of a sweep in which one of the seeds 3, 4 and 5 diverges: in both rounds of the
// seeds 3 and 5 one client trains, and in the first of seed 4 both do, whose loss at this rate grows to 1e7.
func sometimes(out string, more ...string) []string {
	return append(strings.Fields("sweep --methods mifa,fedawe --nets lenet5 --data synthetic --train-size 100 "+
		"--test-size 50 --clients 2 --rounds 2 --local-steps 2 --batch 8 --eval-every 1 --p 0.6 --rates mifa=1 "+
		"--seeds 3,4,5 --device cpu --out "+out), more...)
}

// A seed that diverges is a result: it is said and kept as that, the others are run, and the mean says of which it is.
func TestDivergedSeed(t *testing.T) {
	out := t.TempDir()
	first := rollcall(t, sometimes(out)...)
	if first.status != statusFailure || !strings.Contains(first.stderr, "1 of 2 cells have runs that diverged") {
		t.Fatalf("status %d, %s, want 1 and that a cell diverged", first.status, first.stderr)
	}
	if said := first.stderr; !strings.Contains(said, "mifa synthetic stationary: seed 4: mifa: round 1: ") ||
		!strings.Contains(said, "lower --lr") {
		t.Errorf("%s, want method, seed, round and what may help", said)
	}
	for seed, want := range map[string]results.RunStatus{
		"3": results.RunComplete, "4": results.RunDiverged, "5": results.RunComplete,
	} {
		run, bad := results.ReadRunFolder(filepath.Dir(only(t, out, "sweep/mifa_*/seed-"+seed+"/run.json")))
		if len(bad) > 0 || run.Status() != want {
			t.Errorf("seed %s: %s, %v, want %s", seed, run.Status(), bad, want)
		}
	}
	summary := contents(t, filepath.Join(out, "sweep", results.SummaryFile))
	_, rows := table(t, summary)
	for _, r := range rows {
		n, status, reason := "3", "ok", ""
		if r["method"] == "mifa" {
			n, status, reason = "2", "diverged", "1 diverged: seed 4: "
		}
		if r["n"] != n || r["status"] != status || !strings.HasPrefix(r["error"], reason) || r["mean"] == "" {
			t.Errorf("%v, want %s, the mean of %s, %q", r, status, n, reason)
		}
	}

	t.Run("kept", func(t *testing.T) {
		before := changes(t, out)
		again := rollcall(t, sometimes(out)...)
		if again.status != statusFailure || again.stdout != first.stdout {
			t.Errorf("status %d, %q, want what the first one printed, %q", again.status, again.stdout, first.stdout)
		}
		if !strings.Contains(again.stderr, "seed 4: mifa: round 1: ") || strings.Contains(again.stderr, "round 0/2") {
			t.Errorf("%q, want seed 4 named, and nothing trained", again.stderr)
		}
		if now := changes(t, out); now != before {
			t.Errorf("runs were written: %s, want none: %s", now, before)
		}
	})
	t.Run("seen by all", func(t *testing.T) {
		if o := pass(t, "results", "verify", out); !strings.Contains(o.stdout, "5 complete, 1 diverged") {
			t.Errorf("%q, want 5 complete runs and one that diverged", o.stdout)
		}
		if o := pass(t, "results", "list", out); !strings.Contains(o.stdout, "2 complete, 1 diverged") {
			t.Errorf("%q, want 2 complete, 1 diverged", o.stdout)
		}
		cell := filepath.Dir(filepath.Dir(only(t, out, "sweep/mifa_*/seed-4/run.json")))
		if o := pass(t, "results", "show", cell); !strings.Contains(o.stdout, "2 seeds") {
			t.Errorf("%q, want a mean over 2 seeds", o.stdout)
		}
		_, rows := table(t, pass(t, "results", "diff", out, out, "--format", "csv").stdout)
		for _, r := range rows {
			if want := map[string]string{"mifa": "2", "fedawe": "3"}[r["method"]]; r["n"] != want {
				t.Errorf("diff of %s over %s seeds, want %s", r["method"], r["n"], want)
			}
		}
		_, rows = table(t, pass(t, "results", "export", "sweep", out, "--format", "csv").stdout)
		for _, r := range rows {
			want := map[string]string{"mifa": "2 diverged", "fedawe": "3 ok"}[r["method"]]
			if r["n"]+" "+r["status"] != want {
				t.Errorf("export of %s: %s %s, want %s", r["method"], r["n"], r["status"], want)
			}
		}
		pass(t, "report", out)
		into := filepath.Join(t.TempDir(), "all")
		pass(t, "results", "merge", out, "--out", into)
		merged := contents(t, filepath.Join(into, "sweep", results.SummaryFile))
		if strings.Count(merged, "1 diverged: seed 4: ") != 2 {
			t.Errorf("merged: %s, want mifa's rows as diverged", merged)
		}
	})
}

// changes says when each run below a folder was written.
func changes(t *testing.T, out string) (text string) {
	t.Helper()
	for _, path := range filesBelow(t, out) {
		if filepath.Base(path) == results.RunFile {
			info := must.Get(os.Stat(path))(t)
			text += path + " " + info.ModTime().String() + "\n"
		}
	}
	return text
}

// Where every method diverges, in training or at an evaluation, its files are whole.
func TestDivergedMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("trains every method")
	}
	for _, lr := range []string{"1e30", "1e6"} {
		out := t.TempDir()
		args := []string{"sweep"}
		for _, method := range algos.Names() {
			if ratesOf(method) != nil {
				args = append(args, "--rates", method+"="+lr+"/1")
			}
		}
		o := rollcall(t, append(args, "--methods", strings.Join(algos.Names(), ","), "--data", "synthetic",
			"--nets", "lenet5", "--train-size", "100", "--test-size", "50", "--clients", "4", "--rounds", "2",
			"--local-steps", "1", "--batch", "8", "--eval-every", "1", "--p", "1",
			"--device", "cpu", "--lr", lr, "--out", out)...)
		if o.status != statusFailure || strings.Contains(o.stderr, "failed") {
			t.Errorf("--lr %s: status %d, %s, want diverged cells and no failed one", lr, o.status, o.stderr)
		}
		all := fmt.Sprintf("%d runs: ", len(algos.Names()))
		if v := pass(t, "results", "verify", out); !strings.HasPrefix(v.stdout, all) ||
			!strings.Contains(v.stdout, "diverged") {
			t.Errorf("--lr %s: %s, want a run of each method, some diverged", lr, v.stdout)
		}
		pass(t, "report", out)
	}
}
