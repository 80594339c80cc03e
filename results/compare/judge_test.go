package compare

import (
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/stats"
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
	ours = results.SummaryRow{Experiment: results.Experiment{
		Table: "fedawe-2", Method: "fedawe", Preset: "code", Data: "svhn", Net: "cnn-svhn", Availability: "sine",
		Clients: 100, Alpha: files.Some(0.1),
	}, Rounds: 2000, Metric: metrics.TestAcc, Status: results.CellOK, Version: "1.2", Numerics: "cpu-fp32"}
	ours.Estimate(stats.Estimate{Mean: 0.85, Std: files.Some(0.01), N: 3})
	ours.Paper(paper)
	return paper, ours
}

func TestJudge(t *testing.T) {
	type row = results.SummaryRow
	for _, c := range []struct {
		name   string
		change func(r *row, p *results.Printed)
		why    string
		want   stats.Verdict
		place  Place
		side   int
	}{
		{"the paper's experiment", func(*row, *results.Printed) {}, "", stats.Within, Inside, 0},
		{"near", func(r *row, _ *results.Printed) { r.Mean.Value = 0.845 }, "", stats.Within, Near, -1},
		{"away", func(r *row, _ *results.Printed) { r.Mean.Value = 0.95 }, "", stats.Outside, Away, 1},
		// Of 30 seeds the margin is less than one printed standard deviation: outside can never be called inside.
		{"outside, within the printed std", func(r *row, p *results.Printed) {
			r.N, p.N, r.Mean.Value, r.Std.Value = 30, 30, 0.848, 0.001
		}, "", stats.Outside, Away, -1},
		{"more seeds", func(r *row, _ *results.Printed) { r.N = 10 }, "", stats.Within, Inside, 0},
		{"one printed seed, no spread", func(r *row, p *results.Printed) {
			p.N, p.Std, r.N, r.Std = 1, files.Optional{}, 1, files.Optional{}
		}, "", stats.Unknown, NoPlace, 0},
		{
			"never reached", func(r *row, _ *results.Printed) { r.Mean, r.Std = files.Optional{}, files.Optional{} },
			"",
			stats.Unknown, NoPlace, 0,
		},

		{"fewer rounds", func(r *row, _ *results.Printed) { r.Rounds = 100 }, "100 of 2000 rounds", "", NoPlace, 0},
		{
			"more rounds", func(r *row, _ *results.Printed) { r.Rounds = 4000 }, "4000 rounds in place of 2000", "",
			NoPlace, 0,
		},
		{"rounds unknown", func(r *row, _ *results.Printed) { r.Rounds = 0 }, "rounds unknown", "", NoPlace, 0},
		{
			"other rates", func(r *row, _ *results.Printed) { r.Params = "lr=0.05;server-lr=5;nu=0.3" },
			"lr=0.05 server-lr=5, not the paper's", "", NoPlace, 0,
		},
		{"fewer clients", func(r *row, _ *results.Printed) { r.Clients = 5 }, "5 of 100 clients", "", NoPlace, 0},
		{
			"more clients", func(r *row, _ *results.Printed) { r.Clients = 120 }, "120 clients in place of 100", "",
			NoPlace, 0,
		},
		{
			"fewer seeds", func(r *row, _ *results.Printed) { r.N, r.Std = 1, files.Optional{} }, "1 of 3 seeds", "",
			NoPlace, 0,
		},
		{
			"all of it", func(r *row, _ *results.Printed) { r.Rounds, r.Clients, r.N = 100, 5, 1 },
			"100 of 2000 rounds, 5 of 100 clients, 1 of 3 seeds", "", NoPlace, 0,
		},
		{"mixed", func(r *row, _ *results.Printed) { r.Status = results.CellMixed }, "mixed", "", NoPlace, 0},
		{
			"unverified", func(r *row, _ *results.Printed) { r.Status = results.CellUnverified }, "unverified", "",
			NoPlace, 0,
		},
		{
			"unverified and short", func(r *row, _ *results.Printed) { r.Status, r.Rounds = results.CellUnverified, 0 },
			"rounds unknown, unverified", "", NoPlace, 0,
		},
		{"diverged", func(r *row, _ *results.Printed) {
			r.Status, r.N, r.Error = results.CellDiverged, 2, "1 diverged: seed 4: nets: round 3: loss NaN"
		}, "2 of 3 seeds, 1 diverged", "", NoPlace, 0},
		{
			"diverged of many", func(r *row, _ *results.Printed) { r.Status, r.N = results.CellDiverged, 4 },
			"some diverged", "", NoPlace, 0,
		},
		{
			"interrupted", func(r *row, _ *results.Printed) { r.Status, r.N = results.CellInterrupted, 1 },
			"1 of 3 seeds, interrupted", "", NoPlace, 0,
		},
		{"failed", func(r *row, _ *results.Printed) {
			r.Status, r.N, r.Rounds, r.Mean, r.Std = results.CellFailed, 0, 0, files.Optional{}, files.Optional{}
		}, "failed", "", NoPlace, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			paper, ours := tableTwo(t)
			c.change(&ours, &paper)
			r := ourRow(&papers.Table{}, &ours, "")
			r.beside(&paper)
			place, side := r.Place()
			if r.NotJudged != c.why || r.Verdict != c.want || place != c.place || side != c.side {
				t.Errorf("got %q, verdict %q, place %q, side %d, want %q, %q, %q, %d",
					r.NotJudged, r.Verdict, place, side, c.why, c.want, c.place, c.side)
			}
			if c.why != "" && (r.Difference.Valid || r.Margin.Valid) {
				t.Errorf("difference %v, margin %v of a number that is not judged, want neither",
					r.Difference, r.Margin)
			}
		})
	}
}

// A short run of one seed is not compared, in no count and in no order of methods.
func TestShortRunIsNotThePapers(t *testing.T) {
	of := paperTable(t, "fedawe-2")
	_, one := tableTwo(t)
	one.Rounds = 100
	one.Estimate(stats.Estimate{Mean: 0.2, N: 1})
	two := one
	two.Method, two.Mean = "mifa", files.Some(0.1)
	c := Table(of, []results.SummaryRow{one, two})
	n := c.Counts()
	if n.Inside+n.Near+n.Away+n.Unknown != 0 || n.NotJudged != 2 ||
		strings.Join(n.Why, "|") != "100 of 2000 rounds, 1 of 3 seeds" {
		t.Errorf("counts %+v, want 2 that are not judged, for one reason", n)
	}
	if r := c.Ranks[0]; r.Pairs != 0 || r.TauB.Valid || r.Holds() {
		t.Errorf("order %+v, want none of numbers that are not judged", r)
	}
	var b strings.Builder
	must.OK(t, c.Write(&b, Plain))
	for _, want := range []string{
		"over 1 seed; 100 rounds, N = 100, α = 0.1, preset code, cnn-svhn; rollcall 1.2, cpu-fp32.\n",
		"Not compared with the printed numbers: 100 of 2000 rounds, 1 of 3 seeds.\n",
		"0 numbers compared: 0 within, 0 outside, 0 unknown; 2 not compared: 100 of 2000 rounds, 1 of 3 seeds; " +
			"the paper's order holds in 0 of 0 columns",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nwant %q in it", b.String(), want)
		}
	}
	var table strings.Builder
	must.OK(t, WriteTable(&table, of, []results.SummaryRow{one, two}, 80))
	if why := NotCompared(of, []results.SummaryRow{one, two}); why != "100 of 2000 rounds, 1 of 3 seeds" ||
		strings.Contains(table.String(), "[1]") {
		t.Errorf("not compared: %q, table\n%s\nwant why, and no note that says it again", why, table.String())
	}
	if n := strings.Count(b.String(), "1 of 3 seeds"); n != 2 {
		t.Errorf("the reason stands %d times in\n%s\nwant it in the heading and the summary", n, b.String())
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
		{"compare", text.String(), "1 number compared: 1 within, 0 outside, 0 unknown; 2 not compared: " +
			"2 of 3 seeds; 100 of 2000 rounds;"},
		{"table", table.String(), "85.0 ± 1.0 (3)     | 85.6 ± 0.9\n"},
		{"table", table.String(), "85.0 ± 1.0 (3) [1]"},
		{"table", table.String(), "[1] not compared: 100 of 2000 rounds\n[2] not compared: 2 of 3 seeds\n"},
		{
			"latex", latex.String(),
			`\caption{Mine. Not compared with the printed numbers: [1] 2 of 3 seeds; [2] 100 of 2000 rounds.}`,
		},
		{"latex", latex.String(), `fedau & $\mathbf{85.0} \pm 1.0$ [1] & $82.5 \pm 1.3$ \\`},
		{"markdown", markdown.String(), "| fedawe | **85.0 ± 1.0** | 85.6 ± 0.9 |"},
		{"markdown", markdown.String(), "| mifa | **85.0 ± 1.0** [2] | 84.1 ± 0.4 |"},
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
				rows = append(rows, results.SummaryRow{
					Experiment: results.Experiment{Method: method, Data: data, Availability: "sine"}, Metric: e.Metric,
					Status: results.CellFailed, Error: "datasets: not found",
				})
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
