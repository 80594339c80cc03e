package algos

import "context"

// moreAvailable takes only the clients that are there more often than not
// (CA-Fed, ToN, section V-A c): q_i = α_i/π_i where π_i > 1/2, else 0.
type moreAvailable struct{ weighted }

var moreAvailableMethod = Definition{"more-available", weightedParams, newMoreAvailable}

func newMoreAvailable(s *server, w0 []float32, o Options) (Method, error) {
	base, err := newWeighted(s, w0, o)
	return &moreAvailable{base}, err
}

func (m *moreAvailable) Round(ctx context.Context, r Round) ([]float32, error) {
	m.availability.Observe(r.Active)
	q, err := m.unbiased(r.Active)
	if err != nil {
		return nil, err
	}
	for i, pi := range m.availability.Pi() {
		if !(pi > 0.5) {
			q[i] = 0
		}
	}
	return m.run(ctx, r, q)
}
