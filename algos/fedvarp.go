package algos

import (
	"context"

	"rollcall/nets"
)

// fedVARP corrects the mean of the active clients' updates by the remembered updates of all clients (Jhunjhunwala et
// al., UAI 2022, Algorithm 1):
//
//	d = mean_A(Δ_i − y_i) + mean_N(y), y_i ← Δ_i for i∈A, w += η_g · d; A empty: d = 0
//
// With --memory rate, y_i ← Δ_i/η_t and w += η_t η_g · (mean_A(Δ_i/η_t − y_i) + mean_N(y)).
type fedVARP struct {
	memory
	next nets.Row // where the new w is written, since y_i ← Δ_i still needs the old one
}

var fedVARPMethod = Definition{
	Name: "fedvarp", Revision: 2, Is: Linear | FedAvg | Remembers,
	Params: []*Param{memoryParam}, Later: serverParams, start: newFedVARP,
}

func newFedVARP(s *server, w0 []float32, o Options) (method, error) {
	spare, err := s.Rows(1)
	if err != nil {
		return nil, err
	}
	base, err := newMemory(s, w0, o)
	return &fedVARP{base, spare[0]}, err
}

func (m *fedVARP) Round(ctx context.Context, r Round) ([]float32, error) {
	ends, loss, err := m.local(ctx, r)
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	// U = mean_A(Δ) + Σ_i (1/N − [i∈A]/K) y_i, with y_i times η_t by rate
	share := make([]float64, m.N) // 1/N − [i∈A]/K, the coefficient of y_i
	for i := range share {
		share[i] = 1 / float64(m.N)
	}
	for _, i := range r.Active {
		share[i] -= 1 / float64(len(ends))
	}
	u := update{clients: r.Active, ends: ends, memory: m.share(r, func(i int, scale float64) float64 {
		return scale * share[i]
	})}
	if err := m.step(m.next, r, u); err != nil {
		return nil, err
	}
	for k, i := range r.Active {
		if err := m.subtract(m.y[i], ends[k], m.w); err != nil {
			return nil, err
		}
		m.remember(i, r)
	}
	m.w, m.next = m.next, m.w
	return loss, nil
}
