package algos

import (
	"context"
	"slices"
)

// mifa remembers the latest update of every client, and steps along the mean of all of them in every round, also if
// nobody is active (Gu et al., NeurIPS 2021, Algorithm 1):
//
//	y_i ← Δ_i for i∈A        (updateMemory)
//	w += η_g · mean_N(y)     (advance)
//
// With --memory rate, y_i ← Δ_i/η_t and w += η_t η_g · mean_N(y), as in the code of MIFA's authors.
type mifa struct{ memory }

var mifaMethod = Definition{
	Name: "mifa", Revision: 2, Is: Linear | FedAvg | Remembers | MovesWhenEmpty,
	Params: []*Param{memoryParam}, Later: serverParams,
	start: startOn(newMemory, func(m memory, _ Options) method { return &mifa{m} }),
}

func (m *mifa) Round(ctx context.Context, r Round) ([]float32, error) {
	loss, err := m.updateMemory(ctx, r)
	if err != nil {
		return nil, err
	}
	return loss, m.advance(r)
}

// advance sets w += η_g · mean_N(y), or with --memory rate η_t η_g · mean_N(y). The mean is over all N clients: a
// client that was never active counts as 0. While no client was, there is no update.
func (m *mifa) advance(r Round) error {
	if !slices.Contains(m.seen, true) {
		return nil
	}
	return m.move(r, func(_ int, scale float64) float64 { return scale / float64(m.N) })
}
