package availability

import (
	"slices"
	"testing"

	"rollcall/internal/must"
)

// A client that never comes is in no round and has no probability; the others are as without it.
func TestWithout(t *testing.T) {
	const n, rounds = 7, 40
	never := []bool{false, true, false, false, true, false, false}
	for _, name := range []string{"stationary", "sine", "markov", "uniform", "trace"} {
		o := Defaults(slices.Repeat([]float64{0.7}, n), 3)
		o.Rounds = rounds
		var spans []span
		for i := range n {
			spans = append(spans, span{i, i, rounds})
		}
		o.Trace = traceOf(n, spans...)
		of, whole := Without(must.Get(New(name, o))(t), never), must.Get(New(name, o))(t)
		pi, lambda := of.Stationary()
		wantPi, wantLambda := whole.Stationary()
		p, wantP := make([]float64, n), make([]float64, n)
		for round := range rounds {
			of.Probabilities(round, p)
			whole.Probabilities(round, wantP)
			want := slices.DeleteFunc(slices.Clone(whole.Active(round)), func(i int) bool { return never[i] })
			if got := of.Active(round); !slices.Equal(got, want) {
				t.Errorf("%s: round %d: %v active, want %v", name, round, got, want)
			}
			for i := range n {
				if never[i] {
					wantP[i], wantPi[i], wantLambda[i] = 0, 0, 0
				}
			}
			if !slices.Equal(p, wantP) {
				t.Errorf("%s: round %d: probabilities %g, want %g", name, round, p, wantP)
			}
		}
		if !slices.Equal(pi, wantPi) || !slices.Equal(lambda, wantLambda) {
			t.Errorf("%s: π %g, λ %g, want %g, %g", name, pi, lambda, wantPi, wantLambda)
		}
	}
}
