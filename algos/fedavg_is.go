package algos

import "context"

// fedAvgIS is FedAvg with importance sampling as FedAR's section 6.1 runs it: the active clients' updates are weighed
// by their availability, w += η_g/N · Σ_{i∈A} Δ_i / p_i. Unlike FedAvg-known it takes the clients' fixed p_i (π_i of a
// process with a memory), and not those of the round.
type fedAvgIS struct{ fedAvgKnown }

var fedAvgISMethod = Definition{"fedavg-is", 1, nil, startOn(newGlobal, func(g global, _ Options) method {
	return &fedAvgIS{fedAvgKnown{g}}
})}

func (m *fedAvgIS) Round(ctx context.Context, r Round) ([]float32, error) {
	r.P = m.P
	return m.fedAvgKnown.Round(ctx, r)
}
