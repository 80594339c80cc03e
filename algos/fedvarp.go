package algos

import "context"

// fedVARP corrects the mean of the active clients' updates by the remembered updates of all clients, y. A round without
// active clients changes nothing. With --memory rate, y_i ← Δ_i/η_t and
// w += η_t η_g · (mean_A(Δ_i/η_t − y_i) + mean_N(y)).
type fedVARP struct{ summed }

var fedVARPMethod = Definition{
	Name:  "fedvarp",
	Brief: "the active clients' mean, corrected by the latest updates of all",
	Idea: "Corrects the mean of the active clients' updates by the remembered updates of all clients, so that who " +
		"is active changes the step less. y_i is the remembered update.",
	Formula: "w += η_g · (mean_{i∈A}(Δ_i − y_i) + mean_N(y)), then y_i ← Δ_i for i∈A",
	Paper: "D. Jhunjhunwala, P. Sharma, A. Nagarkatti, G. Joshi: FedVARP: Tackling the Variance Due to Partial " +
		"Client Participation in Federated Learning, UAI 2022, Algorithm 1",
	Revision: 3, Is: Linear | FedAvg | Remembers,
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
