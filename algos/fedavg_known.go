package algos

import (
	"context"
	"fmt"
)

// fedAvgKnown is FedAvg with known probabilities (Perazzone et al., INFOCOM 2022, as in FedAWE's appendix J):
// w += η_g/N · Σ_{i∈A} Δ_i / p_i^t. The expected step is the step with all clients active.
type fedAvgKnown struct{ global }

var fedAvgKnownMethod = Definition{
	Name: "fedavg-known", Revision: 1, Is: Linear | FedAvg, Later: serverParams,
	start: startOn(newGlobal, func(g global, _ Options) method { return &fedAvgKnown{g} }),
}

func (m *fedAvgKnown) Round(ctx context.Context, r Round) ([]float32, error) {
	for _, i := range r.Active {
		if p := r.P[i]; !(p > 0 && p <= 1) {
			return nil, fmt.Errorf("client %d is active with probability %g, want above 0 and at most 1", i, p)
		}
	}
	return m.weight(ctx, r, func(k int, lr float64) float64 { return lr / (float64(m.N) * r.P[r.Active[k]]) })
}
