package algos

import "context"

// fedAvgIS is FedAvg with importance sampling as in FedAR's section 6.1. It weights the update of an active client by
// the inverse of its availability: w += η_g/N · Σ_{i∈A} Δ_i / p_i. Unlike fedavg-known, it uses the fixed p_i of the
// client (π_i for an availability model with memory), not the probability of the round.
type fedAvgIS struct{ fedAvgKnown }

var fedAvgISMethod = Definition{
	Name: "fedavg-is", Revision: 1, Is: Linear | FedAvg | UsesPi, Later: serverParams,
	start: startOn(newGlobal, func(g global, _ Options) method { return &fedAvgIS{fedAvgKnown{g}} }),
}

func (m *fedAvgIS) Round(ctx context.Context, r Round) ([]float32, error) {
	r.P = m.Pi
	return m.fedAvgKnown.Round(ctx, r)
}
