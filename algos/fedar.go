package algos

import (
	"context"
	"math"

	"rollcall/nets"
)

// The paper prints ρ = 0.1 (section 6.1).
var fedarRho = &Param{
	Name: "fedar-rho", Kind: Number, Default: "0.1", Range: Between(0, 1),
	Help: "fedar: ρ, how fast the weight of a stale update grows",
}

// The paper does not print t_0 = 50 and b = 4 [inferred].
var fedarT0 = &Param{
	Name: "fedar-t0", Kind: Number, None: true, Default: "50", Range: Above(0),
	Help: "fedar: t_0 of g(t), the rounds after which an update is too stale, t_0 + t/b or that of --fedar-g, " +
		"or none: it never is",
}

var fedarB = &Param{
	Name: "fedar-b", Kind: Number, Default: "4", Range: Above(2),
	Help: "fedar: b of g(t), above 2",
	Only: []Condition{
		{Other: fedarT0, Text: "with --fedar-t0"}, {Other: fedarG, None: true, Text: "without --fedar-g"},
	},
}

// The paper has a g(t) for each of its theorems: t_0 + t/b for convex losses, and c·max(√t, √t_0) for others. The
// constant c is not legible in the text that we have, so that no value of it is the paper's.
var fedarG = &Param{
	Name: "fedar-g", Kind: Number, None: true, Default: none, AsBefore: none, Range: Above(0),
	Help: "fedar: c of g(t) = c·max(√t, √t_0), the paper's for losses that are not convex; none: t_0 + t/b",
	Only: []Condition{{Other: fedarT0, Text: "with --fedar-t0"}},
}

// psiMax bounds ψ (section 4: "we also set the maximum value to 2").
const psiMax = 2

// fedAR steps along the latest updates of all clients seen so far, where τ_i counts the rounds since client i was
// active, and N_t the clients seen so far with ψ_i > 0; there is no update while N_t = 0. The paper writes y_i as −G_i.
//
// η_g is 1 in the paper. Taken literally, line 12 would subtract clients from N_t that were never seen, once their τ_i
// exceeds g(t), although N_t does not contain them. Here they change nothing, as the text after eq. (7) says.
//
// The memory is by rate: the row y_i holds Δ_i = −η G_i.
type fedAR struct {
	memory
	rho float64  // ρ
	t0  *float64 // t_0 of g(t) = t_0 + t/b, in rounds; nil: g = ∞, no update is ever too stale
	b   float64  // b
	c   *float64 // c of Theorem 2's g(t); nil: Theorem 1's, with b
	tau []int    // [N] rounds since the client was active
}

var fedARMethod = Definition{
	Name:  "fedar",
	Brief: "the latest updates of all clients, absent ones weighted up until they are too old",
	Idea: "Steps along the latest updates of all clients seen so far. It enlarges the updates of absent clients a " +
		"little, and leaves out updates that are too old. y_i is the latest update, τ_i its age in rounds, and N_t " +
		"the number of clients seen so far whose ψ_i is above 0.",
	Formula:  "w += η_g η_t/N_t · Σ_i ψ_i y_i, y_i ← Δ_i/η_t for i∈A, ψ_i = min((τ_i+1)^ρ, 2), 0 where τ_i > g(t)",
	Paper:    paperFedAR + ", Algorithm 1",
	Revision: 1, Is: Linear | FedAvg | Remembers | MovesWhenEmpty,
	Params: []*Param{fedarRho, fedarT0, fedarB}, Later: append([]*Param{fedarG}, serverParams...),
	start: newFedAR,
}

func newFedAR(s *server, w0 []float32, o Options) (method, error) {
	m, err := newMemory(s, w0, o, true)
	return &fedAR{
		m, fedarRho.Number(o), fedarT0.Optional(o), fedarB.Number(o), fedarG.Optional(o), make([]int, s.N),
	}, err
}

func (m *fedAR) Round(ctx context.Context, r Round) ([]float32, error) {
	// The local steps end in the row of y_i, from which w is then subtracted, so that no other rows are needed. The
	// running statistics that they end with stay in that row until the client trains again, for the step of this round.
	active := make([]nets.Row, len(r.Active))
	for k, i := range r.Active {
		active[k] = m.y[i]
	}
	loss, err := m.trainTo(ctx, r, active)
	if err != nil {
		return nil, err
	}
	for _, i := range r.Active {
		if err := m.subtract(m.y[i], m.y[i], m.w); err != nil {
			return nil, err
		}
		m.seen[i], m.rate[i] = true, r.LR
	}
	for i := range m.tau {
		m.tau[i]++
	}
	for _, i := range r.Active {
		m.tau[i] = 0
	}
	psi, n := m.weights(r.T + 1)
	if n == 0 {
		return loss, nil
	}
	return loss, m.step(m.w, r, update{clients: r.Active, buffers: active, memory: func(lr float64) (sum terms) {
		for i, y := range m.y {
			if m.seen[i] {
				sum.add(lr*r.LR/m.rate[i]*psi[i]/float64(n), y)
			}
		}
		return sum
	}})
}

func (m *fedAR) state(p *parts) {
	m.memory.state(p)
	p.ints("tau", chosen(each(m.tau), m.seen), 0, countMax)
}

// weights returns ψ_i [N] in round t, counted from 1, and N_t. ψ_i is 0 for a client that was never seen.
func (m *fedAR) weights(t int) (psi []float64, n int) {
	psi = make([]float64, m.N)
	for i, tau := range m.tau {
		if !m.seen[i] {
			continue
		}
		if psi[i] = m.psi(tau, t); psi[i] > 0 {
			n++
		}
	}
	return psi, n
}

// stale returns g(t), where t_0 is a number: the rounds after which an update is too old in round t (Theorems 1 and 2).
func (m *fedAR) stale(t int) float64 {
	if m.c != nil {
		return *m.c * math.Sqrt(max(float64(t), *m.t0))
	}
	return *m.t0 + float64(t)/m.b
}

// psi returns ψ in round t, counted from 1, of a client that has been inactive for tau rounds: 0 if tau > g(t),
// otherwise min((tau+1)^ρ, 2) (eq. 6).
func (m *fedAR) psi(tau, t int) float64 {
	if m.t0 != nil && float64(tau) > m.stale(t) {
		return 0
	}
	return min(math.Pow(float64(tau)+1, m.rho), psiMax)
}
