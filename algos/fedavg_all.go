package algos

import "context"

// fedAvgAll is FedAvg over all clients, in which an absent client counts as Δ_i = 0.
type fedAvgAll struct{ global }

var fedAvgAllMethod = Definition{
	Name:  "fedavg-all",
	Brief: "the mean over all clients, absent ones counting as 0",
	Idea: "FedAvg over all clients, in which an absent client counts as an update of zero: the fewer clients are " +
		"active, the shorter the step.",
	Formula:  "w += η_g/N · Σ_{i∈A} Δ_i",
	Paper:    paperFedAWE + ", appendix J",
	Revision: 1, Is: Linear | FedAvg, Later: serverParams,
	start: startOn(newGlobal, func(g global, _ Options) method { return &fedAvgAll{g} }),
}

func (m *fedAvgAll) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.weight(ctx, r, func(_ int, lr float64) float64 { return lr / float64(m.N) })
}
