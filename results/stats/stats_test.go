package stats

import (
	"math"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
)

func TestMeanStd(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		name      string
		x         []float64
		mean, std files.Optional
	}{
		{"none", nil, files.Optional{}, files.Optional{}},
		{"one", []float64{7}, files.Some(7), files.Optional{}},
		{"two", []float64{1, 3}, files.Some(2), files.Some(math.Sqrt2)},
		{"equal", []float64{5, 5, 5}, files.Some(5), files.Some(0)},
		{"three: n−1, not n", []float64{2, 4, 9}, files.Some(5), files.Some(math.Sqrt(13))}, // (9+1+16)/2
		{"far from zero", []float64{1e9 + 1, 1e9 + 2, 1e9 + 3}, files.Some(1e9 + 2), files.Some(1)},
		{"diverged", []float64{1, math.NaN()}, files.Some(math.NaN()), files.Some(math.NaN())},
		{"infinite", []float64{1, inf}, files.Some(inf), files.Some(math.NaN())},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Mean(test.x); !filestest.SameOptional(got, test.mean) {
				t.Errorf("mean of %v: got %+v, want %+v", test.x, got, test.mean)
			}
			if got := SampleStd(test.x); !filestest.SameOptional(got, test.std) {
				t.Errorf("std of %v: got %+v, want %+v", test.x, got, test.std)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		name string
		x    []float64
		q    float64
		want files.Optional
	}{
		{"none", nil, 0.5, files.Optional{}},
		{"one", []float64{3}, 0.9, files.Some(3)},
		{"odd median", []float64{9, 1, 5}, 0.5, files.Some(5)},
		{"even median", []float64{4, 1, 3, 2}, 0.5, files.Some(2.5)},
		{"p10 of 11", []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, 0.1, files.Some(1)},
		{"p90 of 4", []float64{1, 2, 3, 4}, 0.9, files.Some(3.7)}, // at 2.7
		{"smallest", []float64{2, 1}, 0, files.Some(1)},
		{"largest", []float64{2, 1}, 1, files.Some(2)},
		{"below", []float64{2, 1}, -1, files.Some(1)},
		{"above", []float64{2, 1}, 2, files.Some(2)},
		{"diverged", []float64{2, math.NaN(), 1}, 0.5, files.Some(math.NaN())},
		{"between infinities", []float64{inf, inf, 1}, 0.75, files.Some(inf)},
		{"next to infinity", []float64{inf, 1}, 0.5, files.Some(inf)},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := append([]float64(nil), test.x...)
			if got := Quantile(test.x, test.q); !filestest.SameOptional(got, test.want) {
				t.Errorf("quantile %g of %v: got %+v, want %+v", test.q, test.x, got, test.want)
			}
			for i := range before {
				if !filestest.Near(before[i], test.x[i]) {
					t.Fatalf("quantile changed its input: %v, was %v", test.x, before)
				}
			}
		})
	}
}

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
