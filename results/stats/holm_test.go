package stats

import (
	"math"
	"slices"
	"testing"
)

// By hand. The second line is the example of Holm's own procedure at 0.05 with p = 0.01, 0.04, 0.03, 0.005: 4·0.005,
// 3·0.01, 2·0.03, and then 0.04, which may not be below 0.06.
func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.2}, []float64{0.2}},
		{[]float64{0.5, 0.9, 0.001}, []float64{1, 1, 0.003}},
		{[]float64{0.02, 0.02, 0.02}, []float64{0.06, 0.06, 0.06}},
		{[]float64{0, 1}, []float64{0, 1}},
	} {
		before := slices.Clone(c.p)
		got := Holm(c.p)
		for i := range c.want {
			if len(got) != len(c.want) || math.Abs(got[i]-c.want[i]) > 1e-15 {
				t.Errorf("%v: %v, want %v", c.p, got, c.want)
				break
			}
		}
		if !slices.Equal(before, c.p) {
			t.Errorf("Holm changed its input to %v", c.p)
		}
	}
}
