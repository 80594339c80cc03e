package algos

import (
	"context"
	"fmt"
)

// fedAvgKnown is FedAvg with known probabilities (Perazzone et al., INFOCOM 2022, as FedAWE's appendix J runs it):
// w += η_g/N · Σ_{i∈A} Δ_i / p_i^t, in expectation the step of full participation.
type fedAvgKnown struct{ global }

var fedAvgKnownMethod = Definition{"fedavg-known", nil, startOn(newGlobal, func(g global, _ Options) Method {
	return &fedAvgKnown{g}
})}

func (m *fedAvgKnown) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.weighByInverse(ctx, r, r.P)
}

// weighByInverse runs a round w += η_g/N · Σ_{i∈A} Δ_i / p_i.
func (g *global) weighByInverse(ctx context.Context, r Round, p []float64) ([]float32, error) {
	c := make([]float64, len(r.Active))
	for k, i := range r.Active {
		if !(p[i] > 0 && p[i] <= 1) {
			return nil, fmt.Errorf("client %d is active with probability %g, want above 0 and at most 1", i, p[i])
		}
		c[k] = r.ServerLR / (float64(g.N) * p[i])
	}
	return g.weigh(ctx, r, c)
}
