package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"rollcall/results/report"
	"rollcall/results/resultstest"
)

// A few small runs, and every command that looks at them.
func TestResultsCommands(t *testing.T) {
	out := t.TempDir()
	for _, seed := range []string{"3", "4"} {
		pass(t, small(out, "--method", "fedawe", "--availability", "sine", "--seed", seed)...)
		pass(t, small(out, "--method", "mifa", "--availability", "sine", "--seed", seed)...)
	}
	t.Run("list", func(t *testing.T) {
		text := pass(t, "results", "list", out).stdout
		if !strings.Contains(text, "fedawe") || !strings.Contains(text, "3 4") ||
			!strings.Contains(text, "complete") || strings.Count(text, "\n") != 3 {
			t.Errorf("%q, want a heading and two cells of two seeds", text)
		}
		_, rows := table(t, pass(t, "results", "list", out, "--format", "csv").stdout)
		if len(rows) != 2 || rows[0]["seeds"] != "3 4" || rows[0]["rounds"] != "2" || rows[0]["status"] != "complete" {
			t.Errorf("%v, want two cells of seeds 3 and 4, complete after 2 rounds", rows)
		}
	})
	t.Run("show", func(t *testing.T) {
		cell := filepath.Base(filepath.Dir(filepath.Dir(only(t, out, "run/mifa_*/seed-3/curve.csv"))))
		byHash := pass(t, "results", "show", cell[strings.LastIndex(cell, "_")+1:], "--out", out).stdout
		if byPath := pass(t, "results", "show", filepath.Join(out, "run", cell)).stdout; byPath != byHash ||
			!strings.Contains(byHash, "local-steps            2\n") || !strings.Contains(byHash, "2 seeds") {
			t.Errorf("by path %q, by hash %q, want the same, with settings and both seeds", byPath, byHash)
		}
		oneLineError(t, rollcall(t, "results", "show", "synthetic", "--out", out), statusFailure,
			"2 cells", "want one of")
		oneLineError(t, rollcall(t, "results", "show", "nothing", "--out", out), statusFailure,
			`"nothing"`, "want a cell")
	})
	t.Run("diff", func(t *testing.T) {
		_, rows := table(t,
			pass(t, "results", "diff", out, out, "--format", "csv", "--metric", "test_acc,test_loss").stdout)
		if len(rows) != 4 {
			t.Fatalf("%d rows, want 2 cells × 2 metrics", len(rows))
		}
		for _, r := range rows {
			if r["n"] != "2" || number(t, r["difference"]) != 0 || r["apart"] != "false" {
				t.Errorf("%v, want no difference over 2 seeds", r)
			}
		}
		fedawe, mifa := filepath.Dir(filepath.Dir(only(t, out, "run/fedawe_*/seed-3/curve.csv"))),
			filepath.Dir(filepath.Dir(only(t, out, "run/mifa_*/seed-3/curve.csv")))
		oneLineError(t, rollcall(t, "results", "diff", fedawe, mifa), statusFailure, "no complete run", "--ignore")
		text := pass(t, "results", "diff", fedawe, mifa, "--ignore", "method,params").stdout
		if !strings.Contains(text, "1 rows") {
			t.Errorf("%q, want the two methods compared", text)
		}
	})
	t.Run("merge", func(t *testing.T) {
		into := filepath.Join(t.TempDir(), "all")
		text := pass(t, "results", "merge", out, out, "--out", into).stdout
		if !strings.Contains(text, "4 runs copied") {
			t.Errorf("%q, want 4 runs copied", text)
		}
		again := pass(t, small(into, "--method", "mifa", "--availability", "sine", "--seed", "4")...)
		if !strings.Contains(again.stdout, "kept, finished before") {
			t.Errorf("%q, want the merged run kept", again.stdout)
		}
	})
	t.Run("report", func(t *testing.T) {
		o := pass(t, "report", out)
		page := contents(t, filepath.Join(out, "report", report.Page))
		for _, want := range []string{
			`id="curves-synthetic-sine"`, `id="availability-sine"`, "Single runs", "Seeds 3, 4",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		if !strings.Contains(o.stdout, "index.html: 4 runs, 2 figures") {
			t.Errorf("stdout %q, want the page, 4 runs and 2 figures", o.stdout)
		}
	})
}

// Small numbers are said as people say them.
func TestSmallNumbersInWords(t *testing.T) {
	out := t.TempDir()
	pass(t, "run", "--data", "leaf", "--clients", "1", "--rounds", "1", "--device", "cpu", "--out", out)
	said := pass(t, "report", out).stdout
	said += pass(t, "availability", "--data", "leaf", "--clients", "1", "--rounds", "1",
		"--csv", filepath.Join(out, "a.csv")).stdout
	history := filepath.Join(out, "history")
	resultstest.Nights(t, history, oldMachine, 1, 0, 1)
	said += pass(t, "track", "compare", "--history", history).stdout
	for _, want := range []string{
		"1 run, ", "figures, less than 0.1 MB\n", ": 1 round of 1 client, ",
		".csv, 1 night, last run", "compared, 1 night of ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q, want %q in it", said, want)
		}
	}
}
