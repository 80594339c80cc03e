package algos

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// f3ast updates r of all clients, in empty rounds too. As in the order of the algorithm's lines, S is chosen with the
// old rates and weighted with the new ones. So r_i ≥ β wherever it divides, and a client with π_i = 0 needs no
// exception. FedAWE's tables use every active client [inferred].
//
// CA-Fed's released code does not keep r from round to round: it sets r = (1−β)π̂ + β·1_A in every round, and then
// samples and weights with it.
type f3ast struct {
	weighted
	beta       float64   // β
	limit      *int      // M; nil: every active client
	mean       bool      // divide the update by |S| once more
	memoryless bool      // as CA-Fed's released code
	rate       []float64 // [N] r_i; at the start π̂_i, which is π_i if it is known
}

var f3astBeta = &Param{
	Name: "f3ast-beta", Kind: Number, Default: "0.001", Range: AboveUpTo(0, 1),
	Help: "f3ast: weight of the newest round in a client's rate",
}

var f3astLimit = &Param{
	Name: "f3ast-limit", Kind: Whole, None: true, Default: none, Range: Between(1, math.MaxInt32),
	Help: "f3ast: at most so many clients per round, or none",
}

var f3astMean = &Param{
	Name: "f3ast-mean", Kind: Switch, Default: "false",
	Help: "f3ast: divide the update by the number of sampled clients once more, as its own code does",
}

var f3astMemoryless = &Param{
	Name: "f3ast-memoryless", Kind: Switch, Default: "false",
	Help: "f3ast: new rates in every round, as CA-Fed's code has them",
}

var f3astMethod = Definition{
	Name:  "f3ast",
	Brief: "samples rarely seen clients first, and weights by the inverse of their rate",
	Idea: "Keeps the rate r_i at which every client was sampled so far, prefers clients with small rates when it " +
		"samples, and weights them by the inverse. M is --f3ast-limit, β --f3ast-beta.",
	Formula: "S the M active clients with the largest α_i²/r_i², r ← (1−β)·r + β·1_S, then w += " +
		"η_g · Σ_{i∈S} (α_i/r_i) Δ_i",
	Paper: "M. Ribero, H. Vikalo, G. de Veciana: Federated Learning under Intermittent Client Availability and " +
		"Time-Varying Communication Constraints, IEEE JSTSP 2022, Algorithm 1",
	Revision: 1, Is: weightedTraits | Chooses,
	Params: slices.Concat([]*Param{f3astBeta, f3astLimit, f3astMean, f3astMemoryless}, weightedParams),
	start:  startOn(newWeighted, newF3AST),
}

func newF3AST(base weighted, o Options) method {
	return &f3ast{
		weighted: base, beta: f3astBeta.Number(o), limit: f3astLimit.OptionalWhole(o), mean: f3astMean.IsOn(o),
		memoryless: f3astMemoryless.IsOn(o), rate: slices.Clone(base.availability.Pi),
	}
}

func (m *f3ast) Round(ctx context.Context, r Round) ([]float32, error) {
	m.availability.Observe(r.Active)
	var sampled []int
	if m.memoryless {
		copy(m.rate, m.availability.Pi)
		m.smooth(r.Active)
		sampled = m.sample(r.Active)
	} else {
		sampled = m.sample(r.Active)
		m.smooth(sampled)
	}
	q := make([]float64, m.N)
	for i := range q {
		if q[i] = m.Importance[i] / m.rate[i]; m.mean {
			q[i] /= float64(max(1, len(sampled)))
		}
	}
	for _, i := range r.Active {
		if _, found := slices.BinarySearch(sampled, i); !found {
			q[i] = 0
		}
	}
	return m.run(ctx, r, q)
}

func (m *f3ast) state(p *parts) {
	m.weighted.state(p)
	p.floats("rate", each(m.rate), 0, math.MaxFloat64)
}

// smooth sets r ← (1−β) r + β·1_set: the rates of the clients in set grow, all others shrink.
func (m *f3ast) smooth(set []int) {
	for i := range m.rate {
		m.rate[i] *= 1 - m.beta
	}
	for _, i := range set {
		m.rate[i] += m.beta
	}
}

// sample returns S, the M active clients with the largest scores, ascending. Of equal scores, the smaller number wins.
func (m *f3ast) sample(active []int) []int {
	if m.limit == nil || len(active) <= *m.limit {
		return active
	}
	best := slices.Clone(active)
	slices.SortStableFunc(best, func(i, j int) int { return cmp.Compare(m.score(j), m.score(i)) })
	best = best[:*m.limit]
	slices.Sort(best)
	return best
}

// score returns α_i/r_i, which orders the clients in the same way as its square.
func (m *f3ast) score(i int) float64 {
	if m.rate[i] == 0 {
		return math.Inf(1) // never sampled
	}
	return m.Importance[i] / m.rate[i]
}
