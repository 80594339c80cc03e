package availability

import (
	"math"
	"testing"
)

// A run that is shorter than its trace sees the first rounds only; one that is longer sees it whole, and λ of a trace
// that repeats has the step from its end to its start only if the run gets there. Client 0 is there in rounds 0–2 and
// 5, client 1 in 3–5, client 2 in round 5 alone.
func TestTraceSeenInPart(t *testing.T) {
	o := Defaults(make([]float64, 3), 1)
	o.Trace = []Interval{{0, 0, 3}, {0, 5, 6}, {1, 3, 6}, {2, 5, 6}}
	for _, c := range []struct {
		rounds     int
		repeat     bool
		pi, lambda []float64
	}{
		// Rounds 0–3. Client 0: aa 2, ai 1: nothing follows the only round without it. Client 1: ii 2, ia 1: likewise.
		{4, false, []float64{0.75, 0.25, 0}, []float64{0, 0, 0}},
		{4, true, []float64{0.75, 0.25, 0}, []float64{0, 0, 0}},
		// Rounds 0–4. Client 0: aa 2, ai 1, ii 1: 2/3 + 1 − 1. Client 1: ii 2, ia 1, aa 1: 1 + 2/3 − 1.
		{5, false, []float64{0.6, 0.4, 0}, []float64{2. / 3, 2. / 3, 0}},
		// All, and six rounds of nobody behind them. Client 0: aa 2, ai 1, ii 1, ia 1. Client 1: ii 2, ia 1, aa 2.
		{12, false, []float64{4. / 6, 0.5, 1. / 6}, []float64{1. / 6, 2. / 3, 0}},
		// Twice. Client 0 has aa once more, client 1 ai and ia, client 2, there in round 5 alone, ai: 0 + 4/5 − 1.
		{12, true, []float64{4. / 6, 0.5, 1. / 6}, []float64{0.25, 1. / 3, -0.2}},
	} {
		o.Rounds, o.Repeat = c.rounds, c.repeat
		x := mustNew(t, "trace", o)
		pi, lambda := x.Stationary()
		p := make([]float64, 3)
		x.Probabilities(1, p)
		for i := range pi {
			if math.Abs(pi[i]-c.pi[i]) > 1e-15 || math.Abs(lambda[i]-c.lambda[i]) > 1e-15 || p[i] != pi[i] {
				t.Errorf("%d rounds, repeat %t: client %d: π %g, λ %g, p %g, want %g, %g and π",
					c.rounds, c.repeat, i, pi[i], lambda[i], p[i], c.pi[i], c.lambda[i])
			}
		}
	}
	o.Rounds = 0
	if _, err := New("trace", o); err == nil || err.Error() != "availability: trace: 0 rounds, want at least 1" {
		t.Errorf("0 rounds: got %v, want an error", err)
	}
}
