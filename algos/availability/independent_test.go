package availability

import (
	"math"
	"slices"
	"testing"

	"rollcall/datasets/rng"
)

// independents are the processes whose rounds and clients are independent.
var independents = []string{"stationary", "staircase", "sine", "interleaved-sine", "uniform"}

// Over 4000 rounds a client's count is a sum of independent Bernoullis: five standard errors of it.
func TestActiveFrequencies(t *testing.T) {
	base := []float64{0, 0.05, 0.3, 0.5, 0.9, 1}
	for _, name := range independents {
		x := mustNew(t, name, Defaults(base, 3))
		count, want, variance := make([]int, len(base)), make([]float64, len(base)), make([]float64, len(base))
		p := make([]float64, len(base))
		pairs, wantPairs := 0, 0.0 // clients 3 and 4 together: independence of clients
		for r := range 4000 {
			x.Probabilities(r, p)
			active := x.Active(r)
			if !slices.IsSorted(active) {
				t.Fatalf("%s: round %d: %v, want ascending", name, r, active)
			}
			for _, i := range active {
				count[i]++
			}
			if slices.Contains(active, 3) && slices.Contains(active, 4) {
				pairs++
			}
			for i := range p {
				want[i] += p[i]
				variance[i] += p[i] * (1 - p[i])
			}
			wantPairs += p[3] * p[4]
		}
		for i := range base {
			if tol := 5 * math.Sqrt(variance[i]); math.Abs(float64(count[i])-want[i]) > tol+1e-9 {
				t.Errorf("%s: p=%g: active %d times, want %.1f ± %.1f", name, base[i], count[i], want[i], tol)
			}
		}
		if tol := 5 * math.Sqrt(wantPairs); math.Abs(float64(pairs)-wantPairs) > tol {
			t.Errorf("%s: clients 3 and 4 together %d times, want %.1f ± %.1f", name, pairs, wantPairs, tol)
		}
	}
}

// Draw reads word pair 0 of counter (t+1, i, 0), and Base that of (0, 0, 0).
func TestCounters(t *testing.T) {
	key := rng.Key{Seed: 5, Purpose: rng.Availability}
	u := key.Stream(12, 2, 0).Float64()
	above := math.Nextafter(u, 1)
	if got := Draw([]float64{0, 0, u, 0}, 5, 11); len(got) != 0 {
		t.Errorf("p = u = %g: active %v, want none", u, got)
	}
	if got := Draw([]float64{0, 0, above, 0}, 5, 11); !slices.Equal(got, []int{2}) {
		t.Errorf("p just above u = %g: active %v, want [2]", u, got)
	}
	s := key.Stream(0, 0, 0)
	phi := []float64{s.Float64(), s.Float64(), s.Float64() / 2, s.Float64() / 2}
	for c := range phi {
		one := make([]float64, 4)
		one[c] = 1
		if got := Base([][]float64{one}, 5)[0]; got != phi[c] {
			t.Errorf("client of class %d only: p = %g, want φ_%d = %g exactly", c, got, c, phi[c])
		}
	}
	got := Base([][]float64{{0.5, 0, 0, 0.5}, {0, 0, 0, 0}}, 5)
	want := []float64{0.5*phi[0] + 0.5*phi[3], 0}
	if !slices.Equal(got, want) {
		t.Errorf("mixed and empty client: %v, want %v exactly", got, want)
	}
}

// φ of 2000 seeds: means 1/2 and 1/4, variances 1/12 and 1/48; five standard errors of the mean, and the bounds.
func TestBaseDistribution(t *testing.T) {
	const seeds, classes = 2000, 10
	shares := make([][]float64, classes)
	for c := range shares {
		shares[c] = make([]float64, classes)
		shares[c][c] = 1
	}
	sum, top := make([]float64, classes), make([]float64, classes)
	for seed := range uint32(seeds) {
		for c, p := range Base(shares, seed) {
			sum[c] += p
			top[c] = max(top[c], p)
		}
	}
	for c := range classes {
		width := 1.0
		if c >= 5 {
			width = 0.5
		}
		tol := 5 * width / math.Sqrt(12*seeds)
		if mean := sum[c] / seeds; math.Abs(mean-width/2) > tol {
			t.Errorf("φ_%d: mean %g, want %g ± %g", c, mean, width/2, tol)
		}
		if top[c] >= width || top[c] < 0.98*width { // (0.98)^2000 = 3e-18
			t.Errorf("φ_%d: largest %g, want %g … %g", c, top[c], 0.98*width, width)
		}
	}
}

// p_min to 1, evenly.
func TestUniform(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []float64
	}{
		{5, []float64{0.2, 0.4, 0.6, 0.8, 1}},
		{2, []float64{0.2, 1}},
		{1, []float64{0.2}},
	} {
		o := Defaults(make([]float64, c.n), 1)
		o.PMin = 0.2
		x := mustNew(t, "uniform", o)
		pi, lambda := x.Stationary()
		p := make([]float64, c.n)
		x.Probabilities(9, p)
		for i, want := range c.want {
			if math.Abs(pi[i]-want) > 1e-15 || p[i] != pi[i] || lambda[i] != 0 { // two roundings of numbers below 1
				t.Errorf("N=%d client %d: π %.17g, p %.17g, λ %g, want %g ± 1e-15 twice and 0",
					c.n, i, pi[i], p[i], lambda[i], want)
			}
		}
	}
}

// π of processes that are clipped or cut, over cycles of four rounds, where the sine is 0, 1, 0, −1.
func TestStationaryIsOfWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		process            string
		gamma, cutoff, low float64
		base, want         []float64
	}{
		{"sine", 1, 0, 0, []float64{0.8, 0}, []float64{0.2, 0}},       // 0, p, 0 and −p, which is clipped to 0
		{"sine", 0.25, 0, 0, []float64{0.8, 1}, []float64{0.6, 0.75}}, // p times 3/4, 1, 3/4, 1/2
		// p times 1/2, 1, 1/2, 0, but 0 below 0.25: 0.6 keeps three rounds, 0.4 one, 0.2 none.
		{"interleaved-sine", 0.5, 0.25, 0, []float64{0.6, 0.4, 0.2}, []float64{0.3, 0.1, 0}},
		{"staircase", 0, 0, 0.5, []float64{0.8, 0.4}, []float64{0.6, 0.3}},
		{"staircase", 0, 0, 0, []float64{0.8}, []float64{0.4}},
	} {
		o := Defaults(c.base, 1)
		o.Period, o.Gamma, o.Cutoff, o.Low = 4, c.gamma, c.cutoff, c.low
		pi, _ := mustNew(t, c.process, o).Stationary()
		for i, want := range c.want {
			// A few roundings, and the float64 sine of π is 1e-16. A client who is never there has 0 exactly.
			if math.Abs(pi[i]-want) > 1e-15 || want == 0 && pi[i] != 0 {
				t.Errorf("%s: p %g: π %.17g, want %g ± 1e-15", c.process, c.base[i], pi[i], want)
			}
		}
	}
}

// Of the periodic processes π is the mean over a cycle: p for
// stationary, 0.7·p for staircase (1 and 0.4) and for sine (1 − γ).
func TestStationaryOfIndependent(t *testing.T) {
	for name, factor := range map[string]float64{"stationary": 1, "staircase": 0.7, "sine": 0.7} {
		pi, lambda := mustNew(t, name, Defaults([]float64{0.3, 0.9, 0}, 1)).Stationary()
		for i, p := range []float64{0.3, 0.9, 0} {
			if math.Abs(pi[i]-factor*p) > 1e-14 || lambda[i] != 0 { // 20 roundings
				t.Errorf("%s: client %d: π %.17g and λ %g, want %g ± 1e-14 and 0", name, i, pi[i], lambda[i], factor*p)
			}
		}
	}
}
