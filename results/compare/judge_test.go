package compare

import (
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
)

// tableTwo is one number of FedAWE's Table 2, 0.856 ± 0.009 of 3 seeds, 2000 rounds and 100 clients, and one of ours
// that is of the same experiment.
func tableTwo(t *testing.T) (paper results.Printed, ours results.SummaryRow) {
	t.Helper()
	for _, p := range paperTable(t, "fedawe-2").Printed {
		if p.Method == "fedawe" && p.Data == "svhn" && p.Availability == "sine" && p.Metric == metrics.TestAcc {
			paper = p
		}
	}
	ours = resultstest.AsPrinted(paper)
	ours.Mean, ours.Std, ours.Version, ours.Numerics = files.Some(0.85), files.Some(0.01), "1.2", "cpu-fp32"
	return paper, ours
}

// besidePrinted returns a number of ours beside the paper's, after a change to both.
func besidePrinted(t *testing.T, change func(r *results.SummaryRow, p *results.Printed)) ComparisonRow {
	t.Helper()
	paper, ours := tableTwo(t)
	change(&ours, &paper)
	r := ourRow(&papers.Table{}, &ours, "")
	r.beside(&paper)
	return r
}

func TestJudge(t *testing.T) {
	type (
		row   = results.SummaryRow
		paper = results.Printed
	)
	none := files.Optional{}
	for _, c := range []struct {
		name   string
		change func(r *row, p *paper)
		want   judge.Verdict
	}{
		// The printed 85.6 ± 0.9 of 3 alone leaves more than a point open.
		{"three seeds", func(*row, *paper) {}, judge.Untold},
		{"many alike", func(r *row, p *paper) { r.N, p.N, r.Mean.Value = 30, 30, 0.855 }, judge.Agrees},
		{"a point and a half off", func(r *row, p *paper) { r.N, p.N, r.Mean.Value = 30, 30, 0.835 }, judge.Differs},
		{"ten points off", func(r *row, _ *paper) { r.Mean.Value = 0.95 }, judge.Differs},
		{"no printed spread", func(r *row, p *paper) { p.Std, r.Std.Value = none, 0.001 }, judge.Agrees},
		{"one printed seed, no spread", func(r *row, p *paper) {
			p.N, p.Std, r.N, r.Std = 1, none, 1, none
		}, judge.Untold},
		{"never reached", func(r *row, _ *paper) { r.Mean, r.Std = none, none }, judge.Untold},
		{"never reached, in rounds", func(r *row, p *paper) {
			r.Metric, r.Mean, r.Std, p.Mean.Value = metrics.RoundsTo100, none, none, 820
		}, judge.Differs},
		{"never, as printed", func(r *row, p *paper) {
			r.Metric, r.Mean, r.Std, p.Mean = metrics.RoundsTo100, none, none, none
		}, judge.Agrees},
	} {
		r := besidePrinted(t, c.change)
		if r.NotJudged != "" || r.Verdict != c.want {
			t.Errorf("%s: got %q, verdict %q, want %q", c.name, r.NotJudged, r.Verdict, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		change func(r *row)
		why    string
	}{
		{"fewer rounds", func(r *row) { r.Rounds = 100 }, "100 of 2000 rounds"},
		{"more rounds", func(r *row) { r.Rounds = 4000 }, "4000 rounds in place of 2000"},
		{"rounds unknown", func(r *row) { r.Rounds = 0 }, "rounds unknown"},
		{"other rates", func(r *row) { r.Params = "lr=1;server-lr=5;nu=0.3" }, "lr=1 server-lr=5, not the paper's"},
		{
			"fewer samples", func(r *row) { r.Params = "nu=0.3;test-size=9;train-size=2000" },
			"test-size=9 train-size=2000, not the paper's data",
		},
		{"no test set", func(r *row) { r.Params = "hold-out=0.1" }, "hold-out=0.1, not the paper's data"},
		{
			"another split", func(r *row) { r.Params = "split=file;split-file=mine.csv" },
			"split=file, not the paper's data",
		},
		{"fewer clients", func(r *row) { r.Clients = 5 }, "5 of 100 clients"},
		{"more clients", func(r *row) { r.Clients = 120 }, "120 clients in place of 100"},
		{"fewer seeds", func(r *row) { r.N, r.Std = 1, none }, "1 of 3 seeds"},
		{
			"all of it", func(r *row) { r.Rounds, r.Clients, r.N = 100, 5, 1 },
			"100 of 2000 rounds, 5 of 100 clients, 1 of 3 seeds",
		},
		{"mixed", func(r *row) { r.Status = results.CellMixed }, "mixed"},
		{"unverified", func(r *row) { r.Status = results.CellUnverified }, "unverified"},
		{"both", func(r *row) { r.Status, r.Rounds = results.CellUnverified, 0 }, "rounds unknown, unverified"},
		{"diverged", func(r *row) {
			r.Status, r.N, r.Error = results.CellDiverged, 2, "1 diverged: seed 4: nets: round 3: loss NaN"
		}, "2 of 3 seeds, 1 diverged"},
		{"diverged of many", func(r *row) { r.Status, r.N = results.CellDiverged, 4 }, "some diverged"},
		{"interrupted", func(r *row) { r.Status, r.N = results.CellInterrupted, 1 }, "1 of 3 seeds, interrupted"},
		{"failed", func(r *row) {
			r.Status, r.N, r.Rounds, r.Mean, r.Std = results.CellFailed, 0, 0, none, none
		}, "failed"},
	} {
		r := besidePrinted(t, func(r *row, _ *paper) { c.change(r) })
		if r.NotJudged != c.why || r.Verdict != judge.NotJudged || r.Difference.Valid || r.Margin.Valid {
			t.Errorf("%s: %+v, want it not judged: %s", c.name, r.Judgement, c.why)
		}
	}
}

// Numbers that are not compared for several reasons say each its own, in a note.
func TestReasonsByNote(t *testing.T) {
	of := paperTable(t, "fedawe-2")
	_, whole := tableTwo(t)
	short, few := whole, whole
	short.Method, short.Rounds = "mifa", 100
	few.Method, few.N = "fedau", 2
	var text, table strings.Builder
	rows := []results.SummaryRow{whole, short, few}
	c := Table(of, rows)
	must.OK(t, c.Write(&text, Plain))
	must.OK(t, WriteTable(&table, of, rows, 80))
	var latex, markdown strings.Builder
	must.OK(t, c.Grid().Write(&latex, Export{Format: "latex", Printed: true, Caption: "Mine"}))
	must.OK(t, c.Grid().Write(&markdown, Export{Format: "markdown", Printed: true}))
	for _, c := range []struct{ what, got, want string }{
		{"compare", text.String(), "[1] not compared: 2 of 3 seeds\n[2] not compared: 100 of 2000 rounds\n"},
		{"compare", text.String(), "not compared [2]\n"},
		{"compare", text.String(), "1 number compared: 0 agree, 0 differ, 1 cannot be told; 2 not compared: " +
			"2 of 3 seeds; 100 of 2000 rounds"},
		{"table", table.String(), "85.0 ± 1.0 (3)     | 85.6 ± 0.9\n"},
		{"table", table.String(), "85.0 ± 1.0 (3) [1]"},
		{"table", table.String(), "[1] not compared: 100 of 2000 rounds\n[2] not compared: 2 of 3 seeds\n"},
		{
			"latex", latex.String(),
			`\caption{Mine. Not compared with the printed numbers: [1] 2 of 3 seeds; [2] 100 of 2000 rounds. ` +
				"Bold: best mean.}",
		},
		{"latex", latex.String(), `FedAU & $\mathbf{85.0} \pm 1.0$ [1] & $82.5 \pm 1.3$ \\`},
		{"markdown", markdown.String(), "| FedAWE | **85.0 ± 1.0** | 85.6 ± 0.9 |"},
		{"markdown", markdown.String(), "| MIFA | **85.0 ± 1.0** [2] | 84.1 ± 0.4 |"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s:\n%s\nwant %q in it", c.what, c.got, c.want)
		}
	}
	if why := NotCompared(of, rows); why != "" {
		t.Errorf("not compared: %q, want nothing of rows that differ", why)
	}
}

// One cause of many cells is one note, whatever the metric.
func TestOneNoteForOneCause(t *testing.T) {
	of := &papers.Table{Entries: []papers.Entry{{Metric: metrics.TestAcc}, {Metric: metrics.TrainAcc}}}
	var rows []results.SummaryRow
	for _, method := range []string{"fedawe", "mifa"} {
		for _, data := range []string{"svhn", "cifar10"} {
			for _, e := range of.Entries {
				r := resultstest.Row("", method, data, "sine", e.Metric, 0, 0)
				r.Status, r.Error, r.Mean = results.CellFailed, "datasets: not found", files.Optional{}
				rows = append(rows, r)
			}
		}
	}
	var b strings.Builder
	must.OK(t, WriteTable(&b, of, rows, 80))
	if strings.Count(b.String(), "failed [1]") != 8 ||
		!strings.HasSuffix(b.String(), "\n\n[1] failed: datasets: not found\n") {
		t.Errorf("got\n%s\nwant eight cells with one note at the end", b.String())
	}
}
