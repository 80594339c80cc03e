package algos

import "context"

// fedAvgActive is FedAvg over the active clients (McMahan et al., AISTATS 2017, Algorithm 1; the active clients take
// the place of the sampled ones): w += η_g · mean_{i∈A} Δ_i. Its model is biased towards clients that are active more
// often.
type fedAvgActive struct{ global }

var fedAvgActiveMethod = Definition{
	Name: "fedavg-active", Revision: 1, Is: Linear | FedAvg, Later: serverParams,
	start: startOn(newGlobal, func(g global, _ Options) method { return &fedAvgActive{g} }),
}

func (m *fedAvgActive) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.average(ctx, r)
}
