package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
	"rollcall/results/report"
	"rollcall/results/resultstest"
)

// The formats are those of package compare, whose goldens have all of them.
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

func TestCompare(t *testing.T) {
	// The paper prints 85.6 ± 0.9 over 3 seeds; ours is 84.6 ± 0.9 over 3: within 2·√(2·0.009²/3) = 0.0147.
	out := onSVHN(t, 2000, 0.837, 0.846, 0.855)
	for _, dir := range []string{out, filepath.Join(out, "fedawe-2")} {
		text := pass(t, "results", "compare", "fedawe-2", dir).stdout
		if !strings.Contains(text, "84.6 ± 0.9") || !strings.Contains(text, "85.6 ± 0.9") ||
			!strings.Contains(text, "within") {
			t.Errorf("%s: %q, want both numbers and the verdict within", dir, text)
		}
	}
}

// onSVHN writes finished runs of fedawe in Table 2 of FedAWE, one for each of the last accuracies, and returns where.
func onSVHN(t *testing.T, rounds int, accuracies ...float64) (out string) {
	t.Helper()
	out = t.TempDir()
	s := must.Get(settings.Defaults("fedawe", "code", "svhn"))(t)
	s.Availability = "sine"
	for i, acc := range accuracies {
		row := results.CurveRow{
			Setup: s.Setup("fedawe-2"), Seed: uint32(3 + i), TestAcc: files.Some(0.1), TrainAcc: files.Some(0.1),
			TrainLoss: files.Some(2), Engine: "cpu-avx2", Precision: "fp32", Version: "v1",
		}
		last := row
		last.Round, last.TestAcc, last.TrainAcc = rounds, files.Some(acc), files.Some(acc+0.01)
		resultstest.WriteCurve(t, out, []results.CurveRow{row, last}, rounds,
			results.RunInfo{Status: results.RunComplete, Numerics: "cpu-fp32", DataChecksum: results.OfFiles("0")})
	}
	return out
}

// A caption and a label of one's own stand in LaTeX.
func TestExportLabel(t *testing.T) {
	out := t.TempDir()
	pass(t, smallSweep(out, "--methods", "mifa")...)
	latex := pass(t, "results", "export", "sweep", out, "--format", "latex", "--caption", "x", "--label",
		"tab:our_sweep-1").stdout
	if !strings.Contains(latex, `\caption{x}`) || !strings.Contains(latex, `\label{tab:our_sweep-1}`) {
		t.Errorf("%q, want the caption and the label", latex)
	}
	for _, label := range []string{"a b", "a\nb"} {
		oneLineError(t, rollcall(t, "results", "export", "sweep", out, "--format", "latex", "--label", label),
			statusUsage, "--label ", `want none of {}\%`)
	}
}
