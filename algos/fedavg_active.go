package algos

import (
	"context"

	"rollcall/nets"
)

// fedAvgActive is FedAvg over the active clients (McMahan et al., AISTATS 2017, Algorithm 1; the active clients take
// the place of the sampled ones): w += η_g · mean_{i∈A} Δ_i. Its model is biased towards clients that are active more
// often.
type fedAvgActive struct{ global }

var fedAvgActiveMethod = Definition{"fedavg-active", 1, nil, startOn(newGlobal, func(g global, _ Options) method {
	return &fedAvgActive{g}
})}

func (m *fedAvgActive) Round(ctx context.Context, r Round) ([]float32, error) {
	return m.average(ctx, r)
}

// average trains the active clients, and sets w += η_g · mean_{i∈A} Δ_i. If nobody is active, w stays.
func (g *global) average(ctx context.Context, r Round) ([]float32, error) {
	ends, loss, err := g.local(ctx, r)
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	if err := g.set(g.w, meanStep(g.w, ends, r.ServerLR)); err != nil {
		return nil, err
	}
	return loss, g.averageBuffers(g.w, r.Active, ends)
}

// meanStep returns w + η_g·mean(ends − w) as a sum of rows. The coefficient of w is exactly 1 − η_g, so that at η_g = 1
// the sum does not contain w.
func meanStep(w nets.Row, ends []nets.Row, serverLR float64) terms {
	var x terms
	x.add(1-serverLR, w)
	x.add(serverLR/float64(len(ends)), ends...)
	return x
}
