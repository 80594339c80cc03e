package algos

import "context"

// unbiased weighs a client by the inverse of its stationary availability, so that in the long run everybody has its
// target importance (CA-Fed, ToN, section V-A c): q_i = α_i/π_i.
type unbiased struct{ weighted }

var unbiasedMethod = Definition{"unbiased", weightedParams, newUnbiased}

func newUnbiased(s *server, w0 []float32, o Options) (Method, error) {
	base, err := newWeighted(s, w0, o)
	return &unbiased{base}, err
}

func (m *unbiased) Round(ctx context.Context, r Round) ([]float32, error) {
	m.availability.Observe(r.Active)
	q, err := m.unbiased(r.Active)
	if err != nil {
		return nil, err
	}
	return m.run(ctx, r, q)
}
