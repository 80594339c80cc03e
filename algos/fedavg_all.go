package algos

import (
	"context"
	"slices"
)

// fedAvgAll is FedAvg over all clients, in which an absent client counts as Δ_i = 0 (FedAWE, appendix J):
// w += η_g/N · Σ_{i∈A} Δ_i.
type fedAvgAll struct{ global }

var fedAvgAllMethod = Definition{"fedavg-all", 1, nil, startOn(newGlobal, func(g global, _ Options) method {
	return &fedAvgAll{g}
})}

func (m *fedAvgAll) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.weigh(ctx, r, slices.Repeat([]float64{r.ServerLR / float64(m.N)}, len(r.Active)))
}
