package algos

import (
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/internal/must"
)

// The sum that MIFA and FedVARP keep stays the sum of the updates to 1e-5 over 1000 rounds, some of them empty, and is
// as good as the sum of float64 after each round whose number is a multiple of 100.
func TestSum(t *testing.T) {
	for _, method := range []string{"mifa", "mifa-wait", "fedvarp"} {
		for _, words := range []string{memoryRaw, memoryRate} {
			t.Run(method+"/"+words, func(t *testing.T) {
				draw := rand.New(rand.NewPCG(1, 2))
				f, e := toyFederation(make([]float64, 300)...)
				for i := range e.u {
					e.u[i] = make([]float64, 20)
					for j := range e.u[i] {
						e.u[i][j] = draw.NormFloat64()
					}
				}
				m := start(t, method, f, withValues(Code, "memory", words))
				worst, worstAnew := 0.0, 0.0
				for round := range 1000 {
					r := Round{T: round, P: f.Pi, LR: DecayedLR(0.5, round), ServerLR: 1e-3}
					for i := range f.N {
						if round%10 != 9 && draw.Float64() < float64(i+1)/float64(f.N) {
							r.Active = append(r.Active, i)
						}
					}
					must.Get(m.Round(t.Context(), r))(t)
					off := sumOff(t, m, e)
					worst = max(worst, off)
					if (round+1)%100 == 0 {
						worstAnew = max(worstAnew, off)
					}
				}
				t.Logf("%.2g of its norm off at most, %.2g in the rounds that add all", worst, worstAnew)
				if !(worst <= 1e-5) || !(worstAnew <= 5e-7) {
					t.Errorf("the sum is %g of its norm off, and %g when all were added, want at most 1e-5 and 5e-7",
						worst, worstAnew)
				}
			})
		}
	}
}

// sumOff returns how far the sum in a method's state is from the sum of its updates, as a share of the norm of that.
func sumOff(t *testing.T, m Method, e *toy) float64 {
	state := keep(t, m, e)
	rates, byRate := state.floats["rate"]
	norm, off := 0.0, 0.0
	for j, got := range state.rows["sum"][0] {
		want := 0.0
		for k, y := range state.rows["y"] {
			if byRate {
				want += float64(y[j]) / rates[k]
			} else {
				want += float64(y[j])
			}
		}
		norm, off = norm+want*want, off+(float64(got)-want)*(float64(got)-want)
	}
	return math.Sqrt(off / norm)
}
