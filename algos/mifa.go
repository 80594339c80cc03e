package algos

import (
	"context"

	"rollcall/nets"
)

// mifa keeps the latest update of every client and steps along their mean, in every round, empty ones too
// (Gu et al., NeurIPS 2021, Algorithm 1): y_i ← Δ_i for i∈A, w += η_g · mean_N(y).
type mifa struct{ memory }

// memory holds the latest update y_i of every client, zero for those never seen, beside the model.
type memory struct {
	global
	y    []nets.Row // [N]
	seen []bool     // [N] whether y_i was ever set
}

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
	loss, err := m.refresh(ctx, r)
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

// refresh sets y_i ← Δ_i for the active clients. They end in y_i itself, so no other rows are needed.
func (m *memory) refresh(ctx context.Context, r Round) ([]float32, error) {
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

// step sets w += η_g · mean_N(y).
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
