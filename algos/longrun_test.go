package algos

import (
	"math"
	"testing"

	"rollcall/algos/availability"
	"rollcall/internal/must"
)

// Clients at u_i = 0 … 7 (times (3, 4)) that are there with p_i = 0.9 … 0.2: the objective's minimum is mean(u) = 3.5,
// while those near 0 are seen most. What is compared is the mean of the model over the rounds after the first tenth.
//
// With Δ_i = η(u_i − w) and little noise in w:
//   - fedavg-active converges to Σ q_i u_i / Σ q_i, q_i = E[1_{i∈A}/K] (FedAWE, figure 2, for two clients): 2.44, a
//     bias of −1.06; the mean over a round's A deviates by less than 1, so five standard errors over T rounds are below
//     0.07;
//   - fedavg-known has independent, unbiased steps; their mean over T rounds has the standard error
//     sqrt(Σ (u_i − 3.5)²(1/p_i − 1)/T)/N = 0.014 at T = 5400, of which five are allowed, 0.07;
//   - mifa's fixed point is mean(u), without noise: once every client was seen, w changes no more. 1e-4 for float32;
//   - fedawe's echoes are unbiased to first order in η, its stale x_i are not: the bias is of order
//     η·max(1/p_i)·|u_i − 3.5| = 0.01·5·3.5 = 0.18,
//     a sixth of FedAvg's.
func TestLongRun(t *testing.T) {
	u := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	p := []float64{0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2}
	mean := 3.5
	biased := fedAvgLimit(u, p)
	if biased > mean-0.5 {
		t.Fatalf("fedavg-active converges to %g, want a clear bias from %g: the test is of no use", biased, mean)
	}
	for _, c := range []struct {
		method          string
		lr, want, limit float64
	}{
		{"fedavg-active", 0.02, biased, 0.07},
		{"fedavg-known", 0.02, mean, 0.07},
		{"mifa", 0.05, mean, 1e-4},
		{"fedawe", 0.01, mean, 0.18},
	} {
		t.Run(c.method, func(t *testing.T) {
			f, _ := toyFederation(u...)
			f.P = p
			m := start(t, c.method, f, Options{Preset: Paper})
			const rounds = 6000
			sum, n := 0.0, 0.0
			for r := range rounds {
				round := Round{T: r, Active: availability.Draw(p, 3, r), P: p, LR: c.lr, ServerLR: 1}
				must.Get(m.Round(t.Context(), round))(t)
				if r >= rounds/10 {
					sum += float64(model(t, m, f)[0]) / 3
					n++
				}
			}
			if got := sum / n; !(math.Abs(got-c.want) <= c.limit) {
				t.Errorf("converges to %.4f, want %.4f ± %g (mean of u %g, FedAvg's limit %.4f)",
					got, c.want, c.limit, mean, biased)
			}
		})
	}
}

// fedAvgLimit returns Σ q_i u_i / Σ q_i with q_i = E[1_{i∈A}/K], over all 2^N active sets.
func fedAvgLimit(u, p []float64) float64 {
	var top, bottom float64
	for set := 1; set < 1<<len(u); set++ {
		prob, sum, k := 1.0, 0.0, 0.0
		for i := range u {
			if set>>i&1 == 1 {
				prob, sum, k = prob*p[i], sum+u[i], k+1
			} else {
				prob *= 1 - p[i]
			}
		}
		top, bottom = top+prob*sum/k, bottom+prob
	}
	return top / bottom
}
