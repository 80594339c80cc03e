package algos

import "context"

// fedVARP corrects the mean of the active clients' updates by the remembered updates of all clients (Jhunjhunwala et
// al., UAI 2022, Algorithm 1):
//
//	d = mean_A(Δ_i − y_i) + mean_N(y), y_i ← Δ_i for i∈A, w += η_g · d; A empty: d = 0
//
// With --memory rate, y_i ← Δ_i/η_t and w += η_t η_g · (mean_A(Δ_i/η_t − y_i) + mean_N(y)).
type fedVARP struct{ summed }

var fedVARPMethod = Definition{
	Name: "fedvarp", Revision: 3, Is: Linear | FedAvg | Remembers,
	Params: []*Param{memoryParam}, Later: serverParams,
	start: startOn(newSummed, func(m summed, _ Options) method { return &fedVARP{m} }),
}

func (m *fedVARP) Round(ctx context.Context, r Round) ([]float32, error) {
	updates, loss, err := m.train(ctx, r)
	if err != nil {
		return nil, err
	}
	if k := len(updates); k > 0 { // change is Σ_A(Δ_i − y_i), and the sum still that of the old y
		if err := m.move(r, 1/float64(k), updates); err != nil {
			return nil, err
		}
	}
	return loss, m.remember(r, updates)
}
