package availability

import (
	"math"
	"slices"
	"testing"

	"rollcall/datasets/rng"
	"rollcall/datasets/rng/numpy"
	"rollcall/internal/must"
)

// Draw reads word pair 0 of counter (t+1, i, 0), and Base word pair 0 of (0, 0, 0).
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
		model := mustNew(t, "uniform", o)
		pi, lambda := model.Stationary()
		p := make([]float64, c.n)
		model.Probabilities(9, p)
		for i, want := range c.want {
			if math.Abs(pi[i]-want) > 1e-15 || p[i] != pi[i] || lambda[i] != 0 { // two roundings of numbers below 1
				t.Errorf("N=%d client %d: π %.17g, p %.17g, λ %g, want %g ± 1e-15 twice and 0",
					c.n, i, pi[i], p[i], lambda[i], want)
			}
		}
	}
}

// π of models that are clipped or cut, over cycles of four rounds, where the sine is 0, 1, 0, −1.
func TestStationaryIsOfWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		model              string
		gamma, cutoff, low float64
		base, want         []float64
	}{
		{"sine", 1, 0, 0, []float64{0.8, 0}, []float64{0.2, 0}},       // 0, p, 0 and −p, which is clipped to 0
		{"sine", 0.25, 0, 0, []float64{0.8, 1}, []float64{0.6, 0.75}}, // p times 3/4, 1, 3/4, 1/2
		// p times 1/2, 1, 1/2, 0, but 0 below 0.25: 0.6 keeps three rounds, 0.5 too, which is 0.25 twice, 0.4 one, 0.2
		// none.
		{"interleaved-sine", 0.5, 0.25, 0, []float64{0.6, 0.5, 0.4, 0.2}, []float64{0.3, 0.25, 0.1, 0}},
		{"staircase", 0, 0, 0.5, []float64{0.8, 0.4}, []float64{0.6, 0.3}},
		{"staircase", 0, 0, 0, []float64{0.8}, []float64{0.4}},
		{"stationary", 0, 0, 0, []float64{0.3, 0}, []float64{0.3, 0}},
	} {
		o := Defaults(c.base, 1)
		o.Period, o.Gamma, o.Cutoff, o.Low = 4, c.gamma, c.cutoff, c.low
		pi, lambda := mustNew(t, c.model, o).Stationary()
		for i, want := range c.want {
			// A few roundings, and the float64 sine of π is 1e-16. A client that is never active has 0 exactly.
			if math.Abs(pi[i]-want) > 1e-15 || want == 0 && pi[i] != 0 || lambda[i] != 0 {
				t.Errorf("%s: p %g: π %.17g and λ %g, want %g ± 1e-15 and 0",
					c.model, c.base[i], pi[i], lambda[i], want)
			}
		}
	}
}

// Expected values are NumPy 1.24.2's: numpy.random.seed(11); φ = uniform(0, 1, 2), uniform(0, .5, 2); then for rounds 0
// … 5 binomial(1, p) for each of three clients, with p = shares·φ.
func TestNumPy(t *testing.T) {
	shares := [][]float64{{1, 0, 0, 0}, {0, 0.5, 0.5, 0}, {0, 0, 0.25, 0.75}}
	r := numpy.New(11)
	p := BaseNumPy(shares, r)
	for i, want := range wantNumPyBase {
		if d := p[i] - want; d > 1e-15 || d < -1e-15 { // one rounding of a sum below 1
			t.Errorf("client %d: p %v, want %v", i, p[i], want)
		}
	}
	model := must.Get(New("stationary", Defaults(p, 0)))(t)
	drawn := NumPy(model, len(p), r)
	for _, round := range []int{5, 0, 3, 1, 2, 4} { // the order of asking changes nothing
		if got := drawn.Active(round); !slices.Equal(got, wantNumPyActive[round]) {
			t.Errorf("round %d: active %v, want %v", round, got, wantNumPyActive[round])
		}
	}
}

var (
	wantNumPyBase   = []float64{0.1802696888767692, 0.12554225236839844, 0.32975253925934855}
	wantNumPyActive = [][]int{{}, {1, 2}, {2}, {0}, {}, {2}}
)
