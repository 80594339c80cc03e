package algos

import (
	"context"

	"rollcall/nets"
)

// mifa remembers the latest update y_i of every client, and steps along the mean of all of them in every round, also if
// nobody is active (Gu et al., NeurIPS 2021, Algorithm 1):
//
//	y_i ← Δ_i for i∈A        (updateMemory)
//	w += η_g · mean_N(y)     (step)
type mifa struct{ memory }

// memory is the base of the methods that remember the latest update of every client: MIFA, FedVARP and FedAR. y_i is
// zero for a client that was never active.
type memory struct {
	global
	y    []nets.Row // [N] y_i
	seen []bool     // [N] whether y_i was ever set
}

// newMemory starts with the model w0 and an empty memory.
func newMemory(s *server, w0 []float32, o Options) (memory, error) {
	g, err := newGlobal(s, w0, o)
	if err != nil {
		return memory{}, err
	}
	y, err := s.rows(s.N)
	return memory{g, y, make([]bool, s.N)}, err
}

var mifaMethod = Definition{"mifa", 1, nil, startOn(newMemory, func(m memory, _ Options) method { return &mifa{m} })}

func (m *mifa) Round(ctx context.Context, r Round) ([]float32, error) {
	loss, err := m.updateMemory(ctx, r)
	if err != nil {
		return nil, err
	}
	return loss, m.step(r.ServerLR)
}

func (m *memory) state(x *parts) {
	m.global.state(x)
	x.flags("seen", each(m.seen)...)
	x.rows("y", chosen(m.y, m.seen)...)
}

// updateMemory trains the active clients from w, and sets y_i ← Δ_i for each of them. The local steps end in the row of
// y_i, from which w is then subtracted, so that no other rows are needed.
func (m *memory) updateMemory(ctx context.Context, r Round) ([]float32, error) {
	loss, err := m.train(ctx, r, func(int, int) nets.Row { return m.w }, func(_, i int) nets.Row { return m.y[i] })
	if err != nil {
		return nil, err
	}
	for _, i := range r.Active {
		if err := m.subtract(m.y[i], m.y[i], m.w); err != nil {
			return nil, err
		}
		m.seen[i] = true
	}
	return loss, nil
}

// step sets w += η_g · mean_N(y). The mean is over all N clients: a client that was never active counts as 0.
func (m *mifa) step(serverLR float64) error {
	var w terms
	w.add(1, m.w)
	for i, y := range m.y {
		if m.seen[i] {
			w.add(serverLR/float64(m.N), y)
		}
	}
	return m.set(m.w, w)
}
