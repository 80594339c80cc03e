package algos

import (
	"context"
	"fmt"
	"slices"

	"rollcall/nets"
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

var serverMomentum = &Param{
	Name: "server-momentum", Kind: Number, Default: "0", Range: AtLeastBelow(0, 1),
	Help: "unbiased, more-available, adafed, ca-fed, f3ast: momentum at the server",
}

var serverDecay = &Param{
	Name: "server-weight-decay", Kind: Number, Default: "0", Range: AtLeast(0),
	Help: "the same: weight decay at the server",
}

// weightedParams are the parameters of all methods with the base weighted.
var weightedParams = []*Param{weightedPrior, serverMomentum, serverDecay}

// weighted is the base of the methods in CA-Fed's papers: w += η_g · Σ q_i Δ_i over the active clients that are not
// excluded. q_i follows from α_i and the estimates of π_i and λ_i. The papers' equation (3) also projects w on a
// bounded set W; that is left out, since neither paper says which set and the released code has none [inferred].
//
// With momentum or weight decay, the server makes a step of SGD as in CA-Fed's released code (PyTorch's SGD, without
// dampening):
//
//	g = −Σ q_i Δ_i + decay·w,  v ← momentum·v + g,  w ← w − η_g v
//
// A round without any q_i > 0 among the active clients changes nothing, not even v.
type weighted struct {
	global
	availability          *Estimator
	sgdMomentum, sgdDecay float64   // of the server
	velocity              *nets.Row // v; nil if momentum and weight decay are 0, since v = g then needs no row
	decisions             Decisions
}

// newWeighted starts with the model w0 and the estimator that the options ask for.
func newWeighted(s *server, w0 []float32, o Options) (weighted, error) {
	g, err := newGlobal(s, w0, o)
	if err != nil {
		return weighted{}, err
	}
	m := weighted{
		global: g, availability: Oracle(s.P, s.Lambda),
		sgdMomentum: serverMomentum.number(o), sgdDecay: serverDecay.number(o),
	}
	if prior := weightedPrior.optionalWhole(o); prior != nil {
		m.availability = NewEstimator(*prior, o.Preset, s.HistorySeed, s.P, s.Lambda)
	}
	m.decisions = Decisions{Q: make([]float64, s.N), Included: slices.Repeat([]bool{true}, s.N)}
	if m.sgdMomentum != 0 || m.sgdDecay != 0 {
		rows, err := s.rows(1)
		if err != nil {
			return weighted{}, err
		}
		m.velocity = &rows[0]
	}
	return m, nil
}

func (m *weighted) Inspect() *Decisions {
	m.decisions.Pi, m.decisions.Lambda = m.availability.Pi, m.availability.Lambda
	return &m.decisions
}

func (m *weighted) state(x *parts) {
	m.global.state(x)
	m.availability.state(x)
	if m.velocity != nil {
		x.rows("velocity", *m.velocity)
	}
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
	if r.Active = included; len(included) == 0 {
		return nil, nil
	}
	ends, loss, err := m.local(ctx, r)
	if err != nil {
		return nil, err
	}
	c := make([]float64, len(ends))
	for k, i := range included {
		c[k] = q[i]
	}
	return loss, m.step(r.ServerLR, included, c, ends)
}

// step moves w along Σ_k c_k Δ_k with the learning rate of the server, where Δ_k = ends_k − w. It may change c.
func (m *weighted) step(serverLR float64, clients []int, c []float64, ends []nets.Row) error {
	if m.velocity == nil {
		for k := range c {
			c[k] *= serverLR
		}
		return m.apply(clients, c, ends)
	}
	var v, w terms
	v.add(m.sgdMomentum, *m.velocity)
	rest := m.sgdDecay
	for k, end := range ends {
		v.add(-c[k], end)
		rest += c[k]
	}
	v.add(rest, m.w)
	if err := m.set(*m.velocity, v); err != nil {
		return err
	}
	w.add(1, m.w)
	w.add(-serverLR, *m.velocity)
	if err := m.set(m.w, w); err != nil {
		return err
	}
	return m.averageBuffers(m.w, clients, ends)
}
