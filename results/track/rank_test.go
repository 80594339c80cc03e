package track

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bruteP goes through all ways to choose which k of the values come after, and counts those at least as far from the
// middle.
func bruteP(before, after []float64) float64 {
	all := append(append([]float64(nil), before...), after...)
	n, k := len(all), len(after)
	u := func(mask int) (u float64) {
		for i := range n {
			for j := range n {
				if mask>>i&1 == 1 && mask>>j&1 == 0 && all[i] > all[j] {
					u++
				}
			}
		}
		return u
	}
	bits := func(m int) (c int) {
		for ; m > 0; m &= m - 1 {
			c++
		}
		return c
	}
	middle := float64(k*(n-k)) / 2
	own := math.Abs(u((1<<n)-(1<<len(before))) - middle)
	hits, total := 0, 0
	for mask := range 1 << n {
		if bits(mask) != k {
			continue
		}
		total++
		if math.Abs(u(mask)-middle) >= own {
			hits++
		}
	}
	return float64(hits) / float64(total)
}

func TestRankP(t *testing.T) {
	const tolerance = 1e-12 // both are a quotient of counts below 2^53
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		before, after := make([]float64, 7), make([]float64, 3)
		for i := range before {
			before[i] = r.Float64()
		}
		for i := range after {
			after[i] = r.Float64() + 0.5
		}
		if got, want := rankP(before, after), bruteP(before, after); math.Abs(got-want) > tolerance {
			t.Errorf("%v and %v: got %v, want %v ± %g", before, after, got, want, tolerance)
		}
	}
	// Completely apart: 2 / (53 choose 3).
	var before []float64
	for i := range 50 {
		before = append(before, float64(i))
	}
	if got, want := rankP(before, []float64{60, 61, 62}), 2.0/23426; math.Abs(got-want) > 1e-12 {
		t.Errorf("50 and 3 nights apart: got %v, want %v", got, want)
	}
	if got, want := leastP(50, 3), 2.0/23426; math.Abs(got/want-1) > 1e-9 { // by logarithms
		t.Errorf("leastP(50, 3): got %v, want %v", got, want)
	}
}

// With ties the probability is that of the least favourable order.
func TestRankPTies(t *testing.T) {
	const tolerance = 1e-12
	before := []float64{1, 2, 3, 3, 4, 4, 5}
	for _, test := range []struct {
		name      string
		after, as []float64
	}{
		{"slower", []float64{4, 6, 6}, []float64{3.5, 6, 7}}, {"faster", []float64{0, 1, 1}, []float64{0, 1.1, 1.2}},
	} {
		got, want := rankP(before, test.after), bruteP([]float64{1, 2, 3, 3.1, 4, 4.1, 5}, test.as)
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s: got %v, want %v", test.name, got, want)
		}
	}
	if got := rankP([]float64{2, 2, 2, 2}, []float64{2, 2, 2}); got < 0.05 {
		t.Errorf("all equal: got %v, want nothing below 0.05", got)
	}
}
