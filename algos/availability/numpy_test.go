package availability

import (
	"slices"
	"testing"

	"rollcall/datasets/rng/numpy"
	"rollcall/internal/must"
)

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
