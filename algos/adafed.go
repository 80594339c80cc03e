package algos

import "context"

// adaFed normalises the unbiased weights among the clients that are there (Tan et al., IEEE TNSE 2022, with every
// active client sampled, as CA-Fed's papers run it): q_i = (α_i/π_i) / Σ_{j∈A} α_j/π_j.
type adaFed struct{ weighted }

var adaFedMethod = Definition{"adafed", weightedParams, newAdaFed}

func newAdaFed(s *server, w0 []float32, o Options) (Method, error) {
	base, err := newWeighted(s, w0, o)
	return &adaFed{base}, err
}

func (m *adaFed) Round(ctx context.Context, r Round) ([]float32, error) {
	m.availability.Observe(r.Active)
	q, err := m.unbiased(r.Active)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, i := range r.Active {
		sum += q[i]
	}
	if sum > 0 {
		for i := range q {
			q[i] /= sum
		}
	}
	return m.run(ctx, r, q)
}
