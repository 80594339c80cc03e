package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// Two factors of two levels, by hand: mean 4; level means 1.5, 6.5 and 2.5, 5.5; SS 25 and 9 of 38, so 4 are left.
func TestCrossedComponentsByHand(t *testing.T) {
	c := must.Get(CrossedComponents([]float64{1, 2, 4, 9}, [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}}, 0.95))(t)
	// Quantiles of χ²(1): 0.0009821 and 5.0239; of F(1, 1): 0.001544 and 647.789 (any table of them). Satterthwaite's
	// degrees of freedom: 17²/(12.5² + 4.5²).
	for _, w := range []struct {
		what      string
		got, want float64
	}{
		{"first factor", c.Factors[0].Variance, 10.5},
		{"second factor", c.Factors[1].Variance, 2.5},
		{"rest", c.Rest.Variance, 4},
		{"sum", c.Sum.Variance, 17},
		{"sum's degrees of freedom", c.Sum.DF, 289 / 176.5},
		{"rest, low", c.Rest.Low, 4 / 5.0239},
		{"rest, high", c.Rest.High, 4 / 0.0009821},
		{"first factor, low", c.Factors[0].Low, 0},
		{"first factor, high", c.Factors[0].High, (25 - 0.001544*4) / (2 * 0.0009821)},
	} {
		if math.Abs(w.got-w.want) > 1e-4*(1+w.want) { // the tables' digits
			t.Errorf("%s: %g, want %g", w.what, w.got, w.want)
		}
	}
}

// array returns the levels of an orthogonal array: q² experiments, of 2 … q + 1 factors with q levels, a prime.
func array(q, factors int) [][]int {
	level := make([][]int, factors)
	for i := range q {
		for j := range q {
			level[0] = append(level[0], j)
			for f := 1; f < factors; f++ {
				level[f] = append(level[f], (i+(f-1)*j)%q)
			}
		}
	}
	return level
}

// The estimates of many designs drawn with known components, an interaction among them, are right on average, and their
// intervals hold the truth as often as they say. Tolerances: five standard errors of 4000 designs.
func TestCrossedComponentsRecoverTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of simulation are not for -short")
	}
	const (
		q, designs        = 7, 4000
		interaction, loud = 1.5, 0.8 // standard deviations of the interaction of the first two factors, and of noise
	)
	truth := []float64{2, 0.5, 0, 1} // standard deviations of the factors
	level := array(q, len(truth))
	r := rand.New(rand.NewPCG(1, 2))
	want := []float64{4, 0.25, 0, 1, interaction*interaction + loud*loud, 0} // variances: factors, rest, sum
	for _, v := range want[:5] {
		want[5] += v
	}
	mean, square, covered := make([]float64, 6), make([]float64, 6), make([]float64, 6)
	for range designs {
		effects := make([][]float64, len(truth))
		for f, std := range truth {
			for range q {
				effects[f] = append(effects[f], std*r.NormFloat64())
			}
		}
		var both [q][q]float64
		for i := range q {
			for j := range q {
				both[i][j] = interaction * r.NormFloat64()
			}
		}
		y := make([]float64, q*q)
		for i := range y {
			y[i] = 50 + both[level[0][i]][level[1][i]] + loud*r.NormFloat64()
			for f := range truth {
				y[i] += effects[f][level[f][i]]
			}
		}
		c := must.Get(CrossedComponents(y, level, 0.9))(t)
		for k, part := range append(append([]Component{}, c.Factors...), c.Rest, c.Sum) {
			mean[k] += part.Variance / designs
			square[k] += part.Variance * part.Variance / designs
			if part.Low <= want[k] && want[k] <= part.High {
				covered[k] += 1. / designs
			}
		}
	}
	for k, part := range []string{"factor 0", "factor 1", "factor 2", "factor 3", "rest", "sum"} {
		if error := 5 * math.Sqrt((square[k]-mean[k]*mean[k])/designs); math.Abs(mean[k]-want[k]) > error {
			t.Errorf("%s: %.4f on average, want %.4f ± %.4f", part, mean[k], want[k], error)
		}
		// Williams's interval covers 80 to 100 %, and of an effect of 0 at least 95 %, because its low end is cut at 0.
		// Satterthwaite's is approximate. The rest's is exact.
		low, high := 0.88, 0.97
		switch k {
		case 2:
			low, high = 0.93, 1
		case 4:
			low, high = 0.9-5*math.Sqrt(0.09/designs), 0.9+5*math.Sqrt(0.09/designs)
		}
		if covered[k] < low || covered[k] > high {
			t.Errorf("%s: covered %.3f, want %.3f … %.3f", part, covered[k], low, high)
		}
		t.Logf("%s: %.4f on average of %.4f, covered %.3f", part, mean[k], want[k], covered[k])
	}
}

// Two factors may have different numbers of levels. Without any spread all is 0.
func TestCrossedComponentsEdges(t *testing.T) {
	c, err := CrossedComponents([]float64{1, 1, 1, 3, 3, 3}, [][]int{{0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}}, 0.95)
	if err != nil || math.Abs(c.Factors[0].Variance-2) > 1e-12 || c.Factors[1].Variance > 1e-12 ||
		c.Rest.Variance > 1e-12 || math.Abs(c.Sum.Variance-2) > 1e-12 {
		t.Errorf("one factor alone: %+v, %v, want a variance of 2 of it and nothing else", c, err)
	}
	c, err = CrossedComponents([]float64{5, 5, 5, 5}, [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}}, 0.95)
	if err != nil || c.Sum.Variance > 0 || c.Sum.High > 0 || c.Factors[0].High > 0 {
		t.Errorf("no spread: %+v, %v, want 0 everywhere", c, err)
	}
	for _, w := range []struct {
		y     []float64
		level [][]int
		want  string
	}{
		{[]float64{1, 2, 3, math.NaN()}, [][]int{{0, 0, 1, 1}, {0, 1, 0, 1}}, "finite"},
		{
			[]float64{1, 2, 3, 4},
			[][]int{{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}},
			"3 factors in 4 experiments, want fewer factors",
		},
	} {
		if _, err := CrossedComponents(w.y, w.level, 0.95); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("%v: %v, want %q", w.level, err, w.want)
		}
	}
}
