package compare

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// standingGrid is a grid of one column with a method for each list of numbers, of seeds 1, 2, …, NaN-free.
func standingGrid(metric metrics.Metric, numbers ...[]float64) Grid {
	var rows []results.SummaryRow
	for i, x := range numbers {
		r := resultstest.Row("sweep", fmt.Sprintf("m%d", i), "leaf", "sine", metric, 0, 0)
		var seeds []uint32
		for k := range x {
			seeds = append(seeds, uint32(k+1))
		}
		if len(x) > 0 {
			r.Estimate(stats.EstimateOf(x))
		} else {
			r.Mean, r.Status = files.Optional{}, results.CellFailed
		}
		r.Rounds, r.BySeed = 100, results.NewBySeed(seeds, x)
		rows = append(rows, r)
	}
	of := papers.Sweep("sweep", "", nil, nil)
	return Table(&of, rows).Grid()
}

func TestStandings(t *testing.T) {
	const tests = "by paired t-tests over the seeds (Holm, p "
	best, near, far := []float64{0.80, 0.82, 0.84}, []float64{0.79, 0.83, 0.80}, []float64{0.30, 0.321, 0.341}
	lacking := func(g Grid) Grid {
		g.Groups[0].Lines[0].Cells[0].Status = string(results.CellFailed)
		g.Groups[0].Lines[0].Cells[0].ours.Status = results.CellFailed
		return g
	}
	rounds := func(g Grid, line, n int) Grid {
		g.Groups[0].Lines[line].Cells[0].Rounds = n
		return g
	}
	for _, c := range []struct {
		name  string
		grid  Grid
		want  []Standing
		about string
	}{
		{
			"near and far", standingGrid(metrics.TestAcc, near, best, far),
			[]Standing{NotTold, Best, Told},
			"Bold: best mean; †: not told from it " + tests + "≥ 0.05).",
		},
		{
			"all far", standingGrid(metrics.TestAcc, best, far),
			[]Standing{Best, Told},
			"Bold: best mean, told from the others " + tests + "< 0.05).",
		},
		{
			"less is better", standingGrid(metrics.TestLoss, best, near, far),
			[]Standing{Told, Told, Best},
			"Bold: best mean, told from the others " + tests + "< 0.05).",
		},
		{
			"one seed", standingGrid(metrics.TestAcc, best[:1], near[:1]),
			[]Standing{Best, Untested},
			"Bold: best mean; one seed: differences cannot be tested.",
		},
		{
			"one with one seed", standingGrid(metrics.TestAcc, best, near, far[:1]),
			[]Standing{Best, NotTold, Untested},
			"Bold: best mean; †: not told from it " + tests +
				"≥ 0.05); not tested, with other rounds or no two seeds in common with it: 1 number.",
		},
		{
			"fewer seeds", standingGrid(metrics.TestAcc, best, far[:2]),
			[]Standing{Best, Told},
			"Bold: best mean, told from the others " + tests + "< 0.05).",
		},
		{
			"the best lacks seeds", lacking(standingGrid(metrics.TestAcc, best, near)),
			[]Standing{NotTold, Best},
			"Bold: best mean; †: not told from it " + tests + "≥ 0.05).",
		},
		{
			"other rounds", rounds(standingGrid(metrics.TestAcc, near, best, far), 0, 40),
			[]Standing{Untested, Best, Told},
			"Bold: best mean, told from the others " + tests +
				"< 0.05); not tested, with other rounds or no two seeds in common with it: 1 number.",
		},
		{"equal in print", standingGrid(metrics.TestAcc, best, best), []Standing{Best, Best}, "Bold: best mean."},
		{
			"a failed one", standingGrid(metrics.TestAcc, best, nil),
			[]Standing{Best, NoStanding},
			"Bold: best mean.",
		},
		{"alone", standingGrid(metrics.TestAcc, best), []Standing{NoStanding}, ""},
		{"p-values", standingGrid(metrics.PHolm, best, near), []Standing{NoStanding, NoStanding}, ""},
	} {
		if got := c.grid.Groups[0].Standings(0); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := c.grid.AboutStandings(); got != c.about {
			t.Errorf("%s: %q, want %q", c.name, got, c.about)
		}
	}
}

// The standings take time in proportion to the lines: 30,000 compared with each other would take minutes.
func TestStandingsOfManyLines(t *testing.T) {
	group := GridGroup{}
	for i := range 30_000 {
		r := resultstest.Row("sweep", fmt.Sprintf("m%d", i), "leaf", "sine", metrics.TestAcc, 0, 0)
		x := []float64{float64(i) / 3e4, float64(i%7) / 7, float64(i) / 4e4}
		r.Estimate(stats.EstimateOf(x))
		r.BySeed = results.NewBySeed([]uint32{1, 2, 3}, x)
		group.Lines = append(group.Lines, GridLine{Cells: []*ComparisonRow{
			{TableColumn: columnOf(&r), Mean: r.Mean, Std: r.Std, N: 3, Status: string(r.Status), ours: &r},
		}})
	}
	began := time.Now()
	standings := group.Standings(0)
	if took := time.Since(began); took > 5*time.Second || !slices.Contains(standings, Best) {
		t.Errorf("%s for %d lines, want less than 5 s, and a best one", took, len(standings))
	}
}
