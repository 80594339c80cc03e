package algos

import (
	"context"

	"rollcall/nets"
)

// scaffold corrects every local gradient by the difference between the mean gradient of all clients, c, and the mean
// gradient of the client, c_i; the active clients take the place of the sampled ones. The new c_i are those of the
// active clients, and c += Σ_{i∈A} (c_i′ − c_i)/N keeps it their mean.
//
// c and all c_i start at zero. E is the number of local steps of the client in this round. A round without active
// clients changes nothing.
type scaffold struct {
	global
	c    nets.Row
	own  []nets.Row // [N] c_i; during a round, c − c_i for the active clients
	next nets.Row   // receives the new w, since the control variates still need the old one
}

var scaffoldMethod = Definition{
	Name:  "scaffold",
	Brief: "corrects every local gradient by control variates",
	Idea: "Corrects every local gradient by the difference between the mean gradient of all clients, c, and the " +
		"mean gradient of the client, c_i, against the drift of clients with unlike data. g is a gradient, and E " +
		"the number of local steps.",
	Formula: "w += η_g · mean_{i∈A} Δ_i, local steps along g − c_i + c, c_i ← c_i − c − Δ_i/(E η_t) for " +
		"i∈A, c ← mean_N(c_i)",
	Paper: "S. P. Karimireddy, S. Kale, M. Mohri, S. Reddi, S. Stich, A. T. Suresh: SCAFFOLD: Stochastic " +
		"Controlled Averaging for Federated Learning, ICML 2020, Algorithm 1 with option II",
	Revision: 1, Is: Linear | FedAvg | Remembers | Corrects, Later: serverParams, start: newScaffold,
}

func newScaffold(s *server, w0 []float32, o Options) (method, error) {
	g, err := newGlobal(s, w0, o)
	if err != nil {
		return nil, err
	}
	rows, err := s.Rows(2 + s.N)
	if err != nil {
		return nil, err
	}
	return &scaffold{global: g, c: rows[0], own: rows[2:], next: rows[1]}, nil
}

func (m *scaffold) Round(ctx context.Context, r Round) ([]float32, error) {
	if len(r.Active) == 0 {
		return nil, nil
	}
	if err := m.drift(r.Active); err != nil {
		return nil, err
	}
	ends, loss, err := m.local(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := m.step(m.next, r, update{clients: r.Active, ends: ends}); err != nil {
		return nil, err
	}
	if err := m.learn(r, ends); err != nil {
		return nil, err
	}
	m.w, m.next = m.next, m.w
	return loss, nil
}

// state leaves out the c_i of clients that never trained, which are zero.
func (m *scaffold) state(p *parts) {
	m.global.state(p)
	p.rows("c", m.c)
	p.rows("own", chosen(m.own, m.trained())...)
}

// drift sets the rows of the active clients to c − c_i, which [global.trainTo] adds to their gradients.
func (m *scaffold) drift(active []int) error {
	m.corrections = m.corrections[:0]
	for _, i := range active {
		if err := m.subtract(m.own[i], m.c, m.own[i]); err != nil {
			return err
		}
		m.corrections = append(m.corrections, m.own[i])
	}
	return nil
}

// learn sets c_i of the active clients, whose local steps went from w to ends, and then c. It overwrites ends with Δ.
func (m *scaffold) learn(r Round, ends []nets.Row) error {
	// c + Σ (c_i′ − c_i)/N = (1 − K/N) c − Σ Δ_i/(E η N)
	var c terms
	c.add(1-float64(len(ends))/float64(m.N), m.c)
	for k, i := range r.Active {
		if err := m.subtract(ends[k], ends[k], m.w); err != nil {
			return err
		}
		slope := -1 / (float64(m.Planner.Steps(i)) * r.LR)
		c.add(slope/float64(m.N), ends[k])
		var own terms
		own.add(-1, m.own[i])
		own.add(slope, ends[k])
		if err := m.set(m.own[i], own); err != nil {
			return err
		}
	}
	return m.set(m.c, c)
}
