package algos

import (
	"context"
	"fmt"
	"math/bits"

	"rollcall/nets"
)

// Coalitions returns the models that the last round of a small federation could have led to, one for every set of
// clients whose updates the server might have taken: what FedAR's Figure 1 compares. Client i is in the set of row s
// [2^N] where bit i of s is set. The rows are there until free.
//
// It trains so many rounds in which clients 1 … N−1 are always there and client 0 is away in the last `stale` of them,
// fewer than all. In each, every client there trains from w, and w becomes w + mean of the latest updates of all (the
// absent client's is its last one; the paper says so of the last round only, and nothing of those before [inferred]).
// In the last round, coalition S gives w + mean_{i∈S} Δ_i, and the empty one w itself. lr is η_t.
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

func (s *server) coalitions(
	ctx context.Context, w0 []float32, rounds, stale int, lr func(t int) float64,
) ([]nets.Row, error) {
	base, err := newMemory(s, w0, Options{})
	if err != nil {
		return nil, err
	}
	m := mifa{base}
	for t := range rounds {
		if t > 0 {
			if err := m.step(1); err != nil {
				return nil, err
			}
		}
		r := Round{T: t, LR: lr(t)}
		for i := range s.N {
			if i > 0 || t < rounds-stale {
				r.Active = append(r.Active, i)
			}
		}
		if _, err := m.refresh(ctx, r); err != nil {
			return nil, err
		}
	}
	rows, err := s.rows(1 << s.N)
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
	}
	return rows, nil
}
