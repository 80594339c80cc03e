package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/internal/must"
)

func TestShapley(t *testing.T) {
	for _, c := range []struct {
		name         string
		values, want []float64
	}{
		{"one player", []float64{2, 5}, []float64{3}},
		// Gloves: players 0 and 1 have a left one each, player 2 the right one; a pair is worth 1 (Shapley and Shubik).
		{"gloves", []float64{0, 0, 0, 0, 0, 1, 1, 1}, []float64{1. / 6, 1. / 6, 4. / 6}},
		// The airport: runways cost 8, 11, 13, 18; the largest of a coalition is paid (Littlechild and Owen).
		{"airport", airport(8, 11, 13, 18), []float64{2, 3, 4, 9}},
		{"a dummy", []float64{0, 3, 0, 3}, []float64{3, 0}},
		{"an empty coalition worth something", []float64{10, 12, 14, 20}, []float64{4, 6}},
	} {
		got := must.Get(Shapley(c.values))(t)
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%s: %v, want %v ± 1e-12", c.name, got, c.want)
			}
		}
	}
	for _, n := range []int{0, 1, 3, 31} {
		if _, err := Shapley(make([]float64, n)); err == nil {
			t.Errorf("%d coalitions: no error, want one", n)
		}
	}
}

func airport(cost ...float64) []float64 {
	values := make([]float64, 1<<len(cost))
	for s := range values {
		for i, c := range cost {
			if s>>i&1 == 1 {
				values[s] = max(values[s], c)
			}
		}
	}
	return values
}

// The axioms, on games of five players drawn at random: efficiency, and for players who add the same, the same. 1e-12:
// sums of 80 terms of size 1.
func TestShapleyAxioms(t *testing.T) {
	s := rand.New(rand.NewPCG(1, 2))
	for game := range 100 {
		values := make([]float64, 32)
		for c := range values {
			values[c] = s.Float64()
		}
		for c := range values { // players 0 and 1 are alike
			if c&3 == 2 {
				values[c] = values[c-1]
			}
		}
		phi := must.Get(Shapley(values))(t)
		sum := 0.0
		for _, v := range phi {
			sum += v
		}
		if want := values[31] - values[0]; math.Abs(sum-want) > 1e-12 || math.Abs(phi[0]-phi[1]) > 1e-12 {
			t.Errorf("game %d: %v sum to %g, want %g, the first two equal", game, phi, sum, want)
		}
	}
}
