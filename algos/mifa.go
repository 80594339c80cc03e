package algos

import "context"

// mifa remembers the latest update of every client, and steps along the mean of all of them in every round, also if
// nobody is active (Gu et al., NeurIPS 2021, Algorithm 1):
//
//	y_i ← Δ_i for i∈A        (updateMemory)
//	w += η_g · mean_N(y)     (step)
//
// With --memory rate, y_i ← Δ_i/η_t and w += η_t η_g · mean_N(y), as in the code of MIFA's authors.
type mifa struct{ memory }

var mifaMethod = Definition{
	"mifa", 2,
	[]*Param{memoryParam},
	startOn(newMemory, func(m memory, _ Options) method { return &mifa{m} }),
}

func (m *mifa) Round(ctx context.Context, r Round) ([]float32, error) {
	loss, err := m.updateMemory(ctx, r)
	if err != nil {
		return nil, err
	}
	return loss, m.step(r)
}

// step sets w += η_g · mean_N(y), or with --memory rate η_t η_g · mean_N(y). The mean is over all N clients: a client
// that was never active counts as 0.
func (m *mifa) step(r Round) error {
	var w terms
	w.add(1, m.w)
	for i, y := range m.y {
		if m.seen[i] {
			w.add(m.scale(i, r)/float64(m.N), y)
		}
	}
	return m.move(r, w)
}
