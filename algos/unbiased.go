package algos

import "context"

// unbiased is also the base of adafed and more-available, which change q.
type unbiased struct {
	weighted
	change func(m *weighted, active []int, q []float64)
}

var unbiasedMethod = Definition{
	Name:  "unbiased",
	Brief: "weights α_i/π_i, so that importance is right in the long run",
	Idea: "Weights a client by the inverse of its stationary availability, so that in the long run every client " +
		"has its target importance.",
	Formula:  "w += η_g · Σ_{i∈A} q_i Δ_i, q_i = α_i/π_i",
	Paper:    paperCAFed + ", section V-A",
	Revision: 1, Is: weightedTraits,
	Params: weightedParams, start: startUnbiased(func(*weighted, []int, []float64) {}),
}

// startUnbiased returns the start function of a method that changes the weights q [N] of unbiased in every round.
func startUnbiased(change func(*weighted, []int, []float64)) func(*server, []float32, Options) (method, error) {
	return startOn(newWeighted, func(base weighted, _ Options) method { return &unbiased{base, change} })
}

func (m *unbiased) Round(ctx context.Context, r Round) ([]float32, error) {
	m.availability.Observe(r.Active)
	q, err := m.unbiased(r.Active)
	if err != nil {
		return nil, err
	}
	m.change(&m.weighted, r.Active, q)
	return m.run(ctx, r, q)
}
