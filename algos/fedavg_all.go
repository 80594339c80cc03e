package algos

import "context"

// fedAvgAll is FedAvg over all clients: whoever is absent counts as Δ_i = 0 (FedAWE, appendix J), so
// w += η_g/N · Σ_{i∈A} Δ_i.
type fedAvgAll struct{ global }

var fedAvgAllMethod = Definition{"fedavg-all", nil, newFedAvgAll}

func newFedAvgAll(s *server, w0 []float32, _ Options) (Method, error) {
	g, err := newGlobal(s, w0)
	return &fedAvgAll{g}, err
}

func (m *fedAvgAll) Round(ctx context.Context, r Round) ([]float32, error) {
	ends, loss, err := m.local(ctx, r)
	if err != nil {
		return nil, err
	}
	c := make([]float64, len(ends))
	for k := range c {
		c[k] = r.ServerLR / float64(m.N)
	}
	return loss, m.apply(c, ends)
}
