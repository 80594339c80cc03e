package algos

import (
	"context"
	"fmt"
	"math/bits"

	"rollcall/nets"
)

// Coalitions trains a small federation, and returns one model for every set of clients whose updates the server might
// have used in the last round: FedAR's Figure 1 compares these models. rows[s] is the model of the set of clients i
// whose bit i of s is set, [2^N]. The rows are valid until the caller calls free.
//
// Clients 1 … N−1 are active in all rounds, and client 0 is absent in the last stale rounds, fewer than all. In each
// round the active clients train from w with the learning rate lr(t), and w moves by the mean of the latest updates of
// all clients. For the absent client this is an old update; the paper says so for the last round only, and nothing
// about the rounds before [inferred]. In the last round, the set S gives w + mean_{i∈S} Δ_i, and the empty set w
// itself.
func Coalitions(
	ctx context.Context, f Federation, w0 []float32, rounds, stale int, lr func(t int) float64,
) (rows []nets.Row, free func(), err error) {
	if err := f.validate(); err != nil {
		return nil, nil, err
	}
	s := newServer(f)
	if rows, err = s.coalitions(ctx, w0, rounds, stale, lr); err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("algos: coalitions: %w", err)
	}
	return rows, s.Close, nil
}

// coalitions is [Coalitions] on a server, whose rows it uses.
func (s *server) coalitions(
	ctx context.Context, w0 []float32, rounds, stale int, lr func(t int) float64,
) ([]nets.Row, error) {
	base, err := newSummed(s, w0, Options{})
	if err != nil {
		return nil, err
	}
	m := mifa{base}
	var r Round
	var updates []nets.Row
	for t := range rounds {
		if t > 0 {
			if err := m.advance(r, updates); err != nil {
				return nil, err
			}
		}
		r = Round{T: t, LR: lr(t), ServerLR: 1}
		for i := range s.N {
			if i > 0 || t < rounds-stale {
				r.Active = append(r.Active, i)
			}
		}
		if updates, _, err = m.train(ctx, r); err != nil {
			return nil, err
		}
		if err := m.remember(r, updates); err != nil {
			return nil, err
		}
	}
	rows, err := s.Rows(1 << s.N)
	if err != nil {
		return nil, err
	}
	for set, row := range rows {
		var w terms
		w.add(1, m.w)
		for i, y := range m.y {
			if set>>i&1 == 1 {
				w.add(1/float64(bits.OnesCount(uint(set))), y)
			}
		}
		if err := m.set(row, w); err != nil {
			return nil, err
		}
		// The running statistics are the ones of w, or the mean over the clients of the set that have just trained.
		if err := s.Engine.CombineBuffers(row, []float64{1}, []nets.Row{m.w}); err != nil {
			return nil, err
		}
		var fresh []int
		var trained []nets.Row
		for k, i := range r.Active {
			if set>>i&1 == 1 {
				fresh, trained = append(fresh, i), append(trained, updates[k])
			}
		}
		if err := s.AverageBuffers(row, fresh, trained); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
