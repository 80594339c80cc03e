package algos

import (
	"context"
	"fmt"
)

// fedAvgKnown is FedAvg with known probabilities.
type fedAvgKnown struct{ global }

var fedAvgKnownMethod = Definition{
	Name:  "fedavg-known",
	Brief: "weights 1/p_i^t by the true availability of the round",
	Idea: "FedAvg that knows how available every client is in every round, and weights updates by the inverse: the " +
		"expected step is the step with all clients active. A yardstick, since nobody knows that in practice.",
	Formula: "w += η_g/N · Σ_{i∈A} Δ_i / p_i^t",
	Paper: "J. Perazzone, S. Wang, M. Ji, K. Chan: Communication-Efficient Device Scheduling for Federated " +
		"Learning Using Stochastic Optimization, IEEE INFOCOM 2022; as in FedAWE's appendix J",
	Revision: 1, Is: Linear | FedAvg, Later: serverParams,
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
