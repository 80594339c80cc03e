package compare

import (
	"math"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

func TestKendall(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		name   string
		x, y   []float64
		c      int // concordant
		pairs  int // ordered in y
		tauB   files.Optional
		reason string
	}{
		{"same order", []float64{1, 2, 3, 4}, []float64{10, 20, 30, 40}, 6, 6, files.Some(1), ""},
		{"opposite", []float64{1, 2, 3}, []float64{3, 2, 1}, 0, 3, files.Some(-1), ""},
		{"one swap", []float64{1, 2, 3, 4}, []float64{1, 3, 2, 4}, 5, 6, files.Some(4.0 / 6), ""},
		{"one tie in y", []float64{1, 2, 3}, []float64{1, 2, 2}, 2, 2, files.Some(2 / math.Sqrt(6)), "2/√(3·2)"},
		{
			"ties in both",
			[]float64{1, 1, 2, 3},
			[]float64{1, 2, 2, 3},
			4, 5, files.Some(4.0 / 5),
			"5 pairs untied in each, 4 of them in both",
		},
		{"the same tie in both", []float64{1, 1, 2}, []float64{5, 5, 6}, 2, 2, files.Some(1), ""},
		{"all tied in x", []float64{1, 1, 1}, []float64{1, 2, 3}, 0, 3, files.Optional{}, ""},
		{"never is last", []float64{1, inf, 2}, []float64{10, inf, 20}, 3, 3, files.Some(1), ""},
		{"two nevers tie", []float64{inf, inf, 1}, []float64{5, 6, 1}, 2, 3, files.Some(2 / math.Sqrt(6)), "2/√(2·3)"},
		{"one", []float64{1}, []float64{2}, 0, 0, files.Optional{}, ""},
		{"none", nil, nil, 0, 0, files.Optional{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			pairs, c, tau := stats.Kendall(test.x, test.y)
			// The tolerance is that of near: a quotient of two square roots.
			if pairs != test.pairs || c != test.c || !filestest.SameOptional(tau, test.tauB) {
				t.Errorf("%v against %v: got %d, %d, %+v, want %d, %d, %+v %s",
					test.x, test.y, pairs, c, tau, test.pairs, test.c, test.tauB, test.reason)
			}
		})
	}
}

// Counted by hand.
func TestRankColumn(t *testing.T) {
	row := func(method string, ours, paper float64) ComparisonRow {
		return ComparisonRow{
			TableColumn: TableColumn{Metric: metrics.TestAcc}, Method: method, Mean: files.Some(ours), N: 3,
			PaperMean: files.Some(paper), PaperN: 3, Status: "ok",
		}
	}
	rows := []ComparisonRow{row("a", 0.7, 0.8), row("b", 0.9, 0.7), row("c", 0.5, 0.7), row("d", 0.5, 0.6)}
	got := rankColumn(rows, "")
	// Ours: b a cd, paper: a bc d. Pairs of the paper: ab ac ad bd cd. Concordant: ac, ad, bd; discordant: ab; cd tied
	// with us. Tau-b: (3 − 1)/√(5·5) = 0.4.
	if got.Pairs != 5 || got.Concordant != 3 || !filestest.SameOptional(got.TauB, files.Some(0.4)) || got.Holds() {
		t.Errorf("got %+v, want 5 pairs, 3 concordant, tau-b 0.4", got)
	}
}
