package algos

import "context"

// fedAvgAll is FedAvg over all clients, in which an absent client counts as Δ_i = 0 (FedAWE, appendix J):
// w += η_g/N · Σ_{i∈A} Δ_i.
type fedAvgAll struct{ global }

var fedAvgAllMethod = Definition{
	Name: "fedavg-all", Revision: 1, Is: Linear | FedAvg, Later: serverParams,
	start: startOn(newGlobal, func(g global, _ Options) method { return &fedAvgAll{g} }),
}

func (m *fedAvgAll) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.weight(ctx, r, func(_ int, lr float64) float64 { return lr / float64(m.N) })
}
