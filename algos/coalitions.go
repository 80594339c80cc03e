package algos

import (
	"context"
	"fmt"

	"rollcall/nets"
)

// Coalitions are the models that the last round of a small federation could have led to, one for every set of clients
// whose updates the server might have taken: what FedAR's Figure 1 compares.
type Coalitions struct {
	Rows []nets.Row // [2^N]; client i is in coalition s where bit i of s is set
	s    *server
}

// maxCoalitions bounds N: there are 2^N rows.
const maxCoalitions = 10

// NewCoalitions trains so many rounds in which clients 1 … N−1 are always there and client 0 is away in the last
// `stale` of them. In each, every client there trains from w, and w becomes w + mean of the latest updates of all (the
// absent client's is its last one; the paper says so of the last round only, and nothing of those before [inferred]).
// In the last round, coalition S gives w + mean_{i∈S} Δ_i, and the empty one w itself. lr is η_t.
func NewCoalitions(
	ctx context.Context, f Federation, w0 []float32, rounds, stale int, lr func(t int) float64,
) (*Coalitions, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if f.N > maxCoalitions || rounds < 1 || stale < 0 || stale >= rounds {
		return nil, fmt.Errorf("algos: coalitions: %d clients, %d rounds, %d of them stale, "+
			"want at most %d clients and fewer stale rounds than rounds", f.N, rounds, stale, maxCoalitions)
	}
	s := &server{Federation: f, taken: make([]int, f.N)}
	c := &Coalitions{s: s}
	if err := c.train(ctx, w0, rounds, stale, lr); err != nil {
		s.Close()
		return nil, fmt.Errorf("algos: coalitions: %w", err)
	}
	return c, nil
}

func (c *Coalitions) train(ctx context.Context, w0 []float32, rounds, stale int, lr func(t int) float64) error {
	base, err := newMemory(c.s, w0, Options{})
	if err != nil {
		return err
	}
	m := mifa{base}
	for t := range rounds {
		r := Round{T: t, LR: lr(t), ServerLR: 1}
		for i := range c.s.N {
			if i > 0 || t < rounds-stale {
				r.Active = append(r.Active, i)
			}
		}
		if _, err := m.refresh(ctx, r); err != nil {
			return err
		}
		if t == rounds-1 {
			break
		}
		if err := m.step(r.ServerLR); err != nil {
			return err
		}
	}
	if c.Rows, err = c.s.rows(1 << c.s.N); err != nil {
		return err
	}
	for set, row := range c.Rows {
		var members []nets.Row
		for i, y := range m.y {
			if set>>i&1 == 1 {
				members = append(members, y)
			}
		}
		var w terms
		w.add(1, m.w)
		if len(members) > 0 {
			w.add(1/float64(len(members)), members...)
		}
		if err := m.set(row, w); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the rows.
func (c *Coalitions) Close() { c.s.Close() }
