package algos

import (
	"context"
	"fmt"
	"slices"
)

// Decisions holds the weights that a method gave the clients in one round, and the estimates behind them. The methods
// unbiased, more-available, adafed, f3ast, ca-fed and fedavg-s report decisions.
type Decisions struct {
	Q        []float64 // [N] q_i, the weight of Δ_i in the update before η_g; 0 if the client was absent or excluded
	Included []bool    // [N] false: the method excluded the client, or would have done so had it been active
	Pi       []float64 // [N] π̂_i in this round; the true π_i if it is known
	Lambda   []float64 // [N] λ̂_i in this round; the true λ_i if it is known
}

var weightedPrior = &Param{
	Name: "prior", Kind: Whole, None: true, Default: none, Range: Between(1, 1e6),
	Help: "unbiased, more-available, adafed, ca-fed, f3ast: " +
		"estimate π and λ with a prior of so many rounds, or none: they are known",
}

// weightedTraits are what the methods with the base weighted are, but for ca-fed, whose weights follow from losses.
const weightedTraits = Linear | FedAvg | UsesPi | UsesImportance

// weightedParams are the parameters of all methods with the base weighted.
var weightedParams = slices.Concat([]*Param{weightedPrior}, serverParams)

// weighted is the base of the methods in CA-Fed's papers: w += η_g · Σ q_i Δ_i over the active clients that are not
// excluded. q_i follows from α_i and the estimates of π_i and λ_i. The papers' equation (3) also projects w on a
// bounded set W; that is left out, since neither paper says which set and the released code has none [inferred].
//
// CA-Fed's released code has momentum and weight decay at the server. A round without any q_i > 0 among the active
// clients changes nothing, not even v.
type weighted struct {
	global
	availability *Estimator
	decisions    Decisions
}

// newWeighted starts with the model w0 and the estimator that the options ask for.
func newWeighted(s *server, w0 []float32, o Options) (weighted, error) {
	g, err := newGlobal(s, w0, o)
	if err != nil {
		return weighted{}, err
	}
	m := weighted{global: g, availability: Oracle(s.Pi, s.Lambda)}
	if prior := weightedPrior.OptionalWhole(o); prior != nil {
		m.availability = NewEstimator(*prior, o.Preset, s.HistorySeed, s.Pi, s.Lambda)
	}
	m.decisions = Decisions{Q: make([]float64, s.N), Included: slices.Repeat([]bool{true}, s.N)}
	return m, nil
}

func (m *weighted) Inspect() *Decisions {
	m.decisions.Pi, m.decisions.Lambda = m.availability.Pi, m.availability.Lambda
	return &m.decisions
}

func (m *weighted) state(p *parts) {
	m.global.state(p)
	m.availability.state(p)
}

// unbiased returns α_i/π̂_i [N], 0 for a client with π̂_i = 0. An active client with π̂_i = 0 is an error.
func (m *weighted) unbiased(active []int) ([]float64, error) {
	q, pi := make([]float64, m.N), m.availability.Pi
	for i := range q {
		if pi[i] > 0 {
			q[i] = m.Importance[i] / pi[i]
		}
	}
	for _, i := range active {
		if !(pi[i] > 0) {
			return nil, fmt.Errorf("client %d is active with pi %g, want above 0 and at most 1", i, pi[i])
		}
	}
	return q, nil
}

// run trains the active clients with q_i > 0, and steps along their updates with the weights q [N]. It counts the other
// clients as excluded.
func (m *weighted) run(ctx context.Context, r Round, q []float64) ([]float32, error) {
	clear(m.decisions.Q)
	var included []int
	for i := range q {
		m.decisions.Included[i] = q[i] > 0
	}
	for _, i := range r.Active {
		if q[i] > 0 {
			m.decisions.Q[i] = q[i]
			included = append(included, i)
		}
	}
	r.Active = included
	return m.weight(ctx, r, func(k int, lr float64) float64 { return q[included[k]] * lr })
}
