package algos

import "context"

// fedAvgIS is fedAvgKnown with the fixed p_i of every client, not the probability of the round.
type fedAvgIS struct{ fedAvgKnown }

var fedAvgISMethod = Definition{
	Name:  "fedavg-is",
	Brief: "weights 1/p_i by each client's true long-run availability",
	Idea: "FedAvg with importance sampling: weights an active client by the inverse of its fixed availability. " +
		"Unlike fedavg-known it does not know the probability of the round.",
	Formula:  "w += η_g/N · Σ_{i∈A} Δ_i / p_i, p_i fixed: π_i for a model with memory",
	Paper:    paperFedAR + ", section 6.1",
	Revision: 1, Is: Linear | FedAvg | UsesPi, Later: serverParams,
	start: startOn(newGlobal, func(g global, _ Options) method { return &fedAvgIS{fedAvgKnown{g}} }),
}

func (m *fedAvgIS) Round(ctx context.Context, r Round) ([]float32, error) {
	r.P = m.Pi
	return m.fedAvgKnown.Round(ctx, r)
}
