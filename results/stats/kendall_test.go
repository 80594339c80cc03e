package stats

import (
	"math"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
)

func TestKendall(t *testing.T) {
	inf, none := math.Inf(1), files.Optional{}
	for _, c := range []struct {
		name                string
		x, y                []float64
		concordant, ordered int // pairs; ordered in y
		tauB                files.Optional
	}{
		{"same order", []float64{1, 2, 3, 4}, []float64{10, 20, 30, 40}, 6, 6, files.Some(1)},
		{"opposite", []float64{1, 2, 3}, []float64{3, 2, 1}, 0, 3, files.Some(-1)},
		{"one swap", []float64{1, 2, 3, 4}, []float64{1, 3, 2, 4}, 5, 6, files.Some(4.0 / 6)},
		{"one tie in y", []float64{1, 2, 3}, []float64{1, 2, 2}, 2, 2, files.Some(2 / math.Sqrt(3*2))},
		// 5 pairs untied in each, 4 of them in both
		{"ties in both", []float64{1, 1, 2, 3}, []float64{1, 2, 2, 3}, 4, 5, files.Some(4.0 / 5)},
		{"the same tie in both", []float64{1, 1, 2}, []float64{5, 5, 6}, 2, 2, files.Some(1)},
		{"all tied in x", []float64{1, 1, 1}, []float64{1, 2, 3}, 0, 3, none},
		{"never is last", []float64{1, inf, 2}, []float64{10, inf, 20}, 3, 3, files.Some(1)},
		{"two nevers tie", []float64{inf, inf, 1}, []float64{5, 6, 1}, 2, 3, files.Some(2 / math.Sqrt(2*3))},
		{"one", []float64{1}, []float64{2}, 0, 0, none},
		{"none", nil, nil, 0, 0, none},
	} {
		ordered, concordant, tau := Kendall(c.x, c.y)
		// a quotient of two square roots
		if ordered != c.ordered || concordant != c.concordant || !filestest.SameOptional(tau, c.tauB) {
			t.Errorf("%s: %v against %v: got %d, %d, %+v, want %d, %d, %+v",
				c.name, c.x, c.y, ordered, concordant, tau, c.ordered, c.concordant, c.tauB)
		}
	}
}
