package algos

import (
	"context"
	"fmt"
)

// fedAvgIS is FedAvg with importance sampling as FedAR's section 6.1 runs it: the active clients' updates are weighed
// by their availability, w += η_g/N · Σ_{i∈A} Δ_i / p_i. Unlike FedAvg-known it takes the clients' fixed p_i (π_i of a
// process with a memory), and not those of the round.
type fedAvgIS struct{ global }

var fedAvgISMethod = Definition{"fedavg-is", nil, newFedAvgIS}

func newFedAvgIS(s *server, w0 []float32, _ Options) (Method, error) {
	g, err := newGlobal(s, w0)
	return &fedAvgIS{g}, err
}

func (m *fedAvgIS) Round(ctx context.Context, r Round) ([]float32, error) {
	c := make([]float64, len(r.Active))
	for k, i := range r.Active {
		if !(m.P[i] > 0) {
			return nil, fmt.Errorf("client %d is active with probability %g, want above 0 and at most 1", i, m.P[i])
		}
		c[k] = r.ServerLR / (float64(m.N) * m.P[i])
	}
	ends, loss, err := m.local(ctx, r)
	if err != nil {
		return nil, err
	}
	return loss, m.apply(c, ends)
}
