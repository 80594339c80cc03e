package algos

import (
	"context"

	"rollcall/nets"
)

// fedAvgActive is FedAvg over the active clients (McMahan et al., AISTATS 2017, Algorithm 1, with the clients that are
// there in place of a sample): w += η_g · mean_{i∈A} Δ_i. It drifts to the clients that are there more often.
type fedAvgActive struct{ global }

var fedAvgActiveMethod = Definition{"fedavg-active", 1, nil, startOn(newGlobal, func(g global, _ Options) method {
	return &fedAvgActive{g}
})}

func (m *fedAvgActive) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.average(ctx, r)
}

// average trains the active clients, and steps by the mean of their updates.
func (g *global) average(ctx context.Context, r Round) ([]float32, error) {
	ends, loss, err := g.local(ctx, r)
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	return loss, g.set(g.w, meanStep(g.w, ends, r.ServerLR))
}

// meanStep is w + η_g·mean(ends − w), with w's coefficient 1 − η_g exact: at η_g = 1, w does not enter.
func meanStep(w nets.Row, ends []nets.Row, serverLR float64) terms {
	var x terms
	x.add(1-serverLR, w)
	x.add(serverLR/float64(len(ends)), ends...)
	return x
}
