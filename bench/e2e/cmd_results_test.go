package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/events"
	"rollcall/results/papers"
	"rollcall/results/report"
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
		if pass(t, "results", "list", into).stdout != pass(t, "results", "list", out).stdout {
			t.Error("the lists differ, want the same runs")
		}
		again := pass(t, small(into, "--method", "mifa", "--availability", "sine", "--seed", "4")...)
		if !strings.Contains(again.stdout, "kept, as finished before") {
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
	t.Run("damaged", func(t *testing.T) {
		curve := only(t, out, "run/mifa_*/seed-3/curve.csv")
		whole := contents(t, curve)
		must.OK(t, os.WriteFile(curve, []byte(whole[:len(whole)-20]), 0o666))
		for _, args := range [][]string{{"results", "list", out}, {"report", out}} {
			o := rollcall(t, args...)
			if o.status != statusFailure || !strings.Contains(o.stderr, curve+": line 4") ||
				!strings.Contains(o.stderr, "the rest is done") || o.stdout == "" {
				t.Errorf("%q: status %d, stdout %q, stderr %q, want 1, the rest on stdout, and %s line 4 named",
					args, o.status, o.stdout, o.stderr, curve)
			}
		}
		into := filepath.Join(t.TempDir(), "x")
		for _, args := range [][]string{{"results", "diff", out, out}, {"results", "merge", out, "--out", into}} {
			o := rollcall(t, args...)
			if o.status != statusFailure || !strings.Contains(o.stderr, curve+": line 4") ||
				o.stdout != "" || len(filesBelow(t, filepath.Dir(into))) > 0 {
				t.Errorf("%q: status %d, stdout %q, stderr %q, want 1, nothing done, and %s line 4 named",
					args, o.status, o.stdout, o.stderr, curve)
			}
		}
		if page := contents(t, filepath.Join(out, "report", report.Page)); !strings.Contains(page, "line 4") {
			t.Error("the page does not name the problem")
		}
	})
}

// What a run writes on its way, and what --events makes of a finished one, is the same file.
func TestEvents(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out, "--events")...)
	path := only(t, out, "run/*/seed-*/"+events.File)
	first := []byte(contents(t, path))
	must.OK(t, os.Remove(path))
	pass(t, small(out)...)
	if _, err := os.Stat(path); err == nil {
		t.Error("without --events there is an event file, want none")
	}
	pass(t, small(out, "--events")...)
	if again := []byte(contents(t, path)); !bytes.Equal(first, again) || len(first) < 300 {
		t.Errorf("%d bytes on the way, %d afterwards, want the same", len(first), len(again))
	}
	pass(t, small(out, "--again")...)
	if _, err := os.Stat(path); err == nil {
		t.Error("an event file of an earlier run is left, want none")
	}
}

func TestExport(t *testing.T) {
	out := onSVHN(t, 2000, 0.837, 0.846, 0.855)
	for format, want := range map[string]string{
		"markdown": "| fedawe | **84.6 ± 0.9** | 85.6 ± 0.9 |",
		"latex":    `fedawe & $\mathbf{84.6} \pm 0.9$ & $85.6 \pm 0.9$ \\`,
		"csv":      ",3,ok,,code,cnn-svhn,100,0.1,2000,v1,cpu-fp32,0.856,0.009,3,\n",
	} {
		text := pass(t, "results", "export", "fedawe-2", out, "--format", format, "--printed",
			"--metric", "test_acc").stdout
		if !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q in it", format, text, want)
		}
	}
	caption := `\caption{Mean $\pm$ sample standard deviation over 3 seeds; 2000 rounds, N = 100, $\alpha$ = 0.1, ` +
		`preset code, cnn-svhn; rollcall v1, cpu-fp32.}`
	text := pass(t, "results", "export", "fedawe-2", out, "--format", "latex").stdout
	if !strings.Contains(text, caption) {
		t.Errorf("%q, want what the numbers are in its caption", text)
	}
	out = onSVHN(t, 100, 0.846)
	const short = "Not compared with the printed numbers: 100 of 2000 rounds, 1 of 3 seeds."
	for _, c := range []struct{ line, want string }{
		{"--format latex --printed --caption Mine", `\caption{Mine. ` + short + "}\n"},
		{
			"--format markdown --printed",
			"over 1 seed; 100 rounds, N = 100, α = 0.1, preset code, cnn-svhn; rollcall v1, cpu-fp32; printed: " +
				"Table 2 of ",
		},
		{"--format markdown --printed", " over 3 seeds. " + short + "\n\n**sine**\n"},
		{"--format markdown", "Mean ± sample standard deviation over 1 seed; 100 rounds, N = 100, α = 0.1, " +
			"preset code, cnn-svhn; rollcall v1, cpu-fp32.\n\n**sine**\n"},
		{"--format csv --printed", `0.856,0.009,3,"100 of 2000 rounds, 1 of 3 seeds"` + "\n"},
	} {
		text := pass(t, append([]string{"results", "export", "fedawe-2", out}, strings.Fields(c.line)...)...).stdout
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q in it", c.line, text, c.want)
		}
	}
}

// A summary without its runs can be looked at, and is compared with nothing.
func TestSummaryAlone(t *testing.T) {
	from, out := onSVHN(t, 2000, 0.837, 0.846, 0.855), t.TempDir()
	runs, _ := must.Get2(results.FindRuns(t.Context(), from))(t)
	summary := filepath.Join(out, "fedawe-2", results.SummaryFile)
	must.OK(t, results.WriteSummary(summary, papers.Summaries("fedawe-2", runs, false)))
	page := pass(t, "report", out, "--to", filepath.Join(t.TempDir(), "r"))
	if !strings.Contains(page.stdout, "0 runs, 0 figures") {
		t.Errorf("%q, want a page of the summary alone", page.stdout)
	}
	text := pass(t, "results", "compare", "fedawe-2", out).stdout
	if !strings.Contains(text, "unverified") || strings.Contains(text, "within 2") ||
		strings.Contains(text, "1 within") {
		t.Errorf("%q, want it unverified, and no verdict", text)
	}
	// That the runs of another table are of the same cells takes nothing away.
	rows := papers.Summaries("fedawe-10", runs, false)
	must.OK(t, results.WriteSummary(filepath.Join(from, "fedawe-10", results.SummaryFile), rows))
	pass(t, "report", from, "--to", filepath.Join(out, "r"))
	for _, table := range []string{"Table fedawe-2", "Table fedawe-10"} {
		if !strings.Contains(contents(t, filepath.Join(out, "r", report.Page)), table) {
			t.Errorf("the page lacks %s", table)
		}
	}
}
