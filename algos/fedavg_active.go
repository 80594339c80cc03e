package algos

import "context"

// fedAvgActive is FedAvg over the active clients.
type fedAvgActive struct{ global }

var fedAvgActiveMethod = Definition{
	Name:  "fedavg-active",
	Brief: "the mean over the active clients",
	Idea: "FedAvg over the active clients, which take the place of the sampled ones. Its model is biased towards " +
		"clients that are active more often.",
	Formula:  "w += η_g · mean_{i∈A} Δ_i",
	Paper:    paperFedAvg + "",
	Revision: 1, Is: Linear | FedAvg, Later: serverParams,
	start: startOn(newGlobal, func(g global, _ Options) method { return &fedAvgActive{g} }),
}

func (m *fedAvgActive) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.average(ctx, r)
}
