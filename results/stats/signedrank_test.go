package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// enumerated is the p-value of the signed-rank test over all choices of signs, with ranks from counting.
func enumerated(d []float64) float64 {
	ranks := make([]float64, len(d))
	for i, x := range d {
		for _, y := range d {
			switch a, b := math.Abs(y), math.Abs(x); {
			case a < b:
				ranks[i]++
			case a == b:
				ranks[i] += 0.5
			}
		}
		ranks[i] += 0.5
	}
	sum := func(sign func(i int) float64) (total float64) {
		for i, x := range d {
			if x != 0 {
				total += sign(i) * ranks[i]
			}
		}
		return math.Abs(total)
	}
	seen := sum(func(i int) float64 { return math.Copysign(1, d[i]) })
	far := 0
	for choice := range 1 << len(d) {
		if sum(func(i int) float64 { return float64(choice>>i&1)*2 - 1 }) >= seen {
			far++
		}
	}
	return float64(far) / float64(int(1)<<len(d))
}

func TestSignedRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d := make([]float64, 1+r.IntN(9))
		for i := range d {
			d[i] = float64(r.IntN(9)-3) / 2 // with ties and zeros
		}
		// Sums of at most nine ranks, whose probabilities are exact in binary.
		if got, want := SignedRank(d), enumerated(d); got != want {
			t.Errorf("%v: p = %g, want %g", d, got, want)
		}
	}
	if got := SignedRank(nil); got != 1 {
		t.Errorf("no difference: p = %g, want 1", got)
	}
	// n = 10 with rank sums 8 and 47, and 9 and 46: 0.049 and 0.064 in every table of the test.
	d := []float64{-1, 2, 3, 4, 5, 6, -7, 8, 9, 10}
	if got := SignedRank(d); math.Round(1e3*got) != 49 {
		t.Errorf("%v: p = %g, want 0.049", d, got)
	}
	d[0], d[1] = 1, -2
	if got := SignedRank(d); math.Round(1e3*got) != 64 {
		t.Errorf("%v: p = %g, want 0.064", d, got)
	}
}

// The interval holds the centers that the test does not reject.
func TestSignedRankInterval(t *testing.T) {
	const level = 0.05
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		x := make([]float64, 6+r.IntN(20))
		for i := range x {
			x[i] = r.NormFloat64()
		}
		center, low, high := SignedRankInterval(x, level)
		p := func(center float64) float64 {
			d := make([]float64, len(x))
			for i := range x {
				d[i] = x[i] - center
			}
			return SignedRank(d)
		}
		const away = 1e-9 // less than any two means differ by
		if !(low < center && center < high) || p(low+away) <= level || p(high-away) <= level ||
			p(low-away) > level || p(high+away) > level {
			t.Errorf("%v: %g in %g … %g, with p %g, %g inside and %g, %g outside, want above and below %g", x,
				center, low, high, p(low+away), p(high-away), p(low-away), p(high+away), level)
		}
	}
	if c, low, high := SignedRankInterval([]float64{1, 2, 3, 4, 5}, level); c != 3 || !math.IsInf(low, -1) ||
		!math.IsInf(high, 1) {
		t.Errorf("five values: %g in %g … %g, want 3 in an infinite interval", c, low, high)
	}
	// One value far off moves the mean by 14 %.
	if c, _, _ := SignedRankInterval([]float64{1, 1.01, 0.99, 1.02, 0.98, 1, 2}, level); math.Abs(c-1) > 0.02 {
		t.Errorf("center %g, want 1 within 0.02", c)
	}
}
