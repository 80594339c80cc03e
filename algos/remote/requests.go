package remote

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"rollcall/algos"
	"rollcall/nets"
)

// serve does what the child asks for. A request without an answer returns nil; if it fails, the next answer says so.
// err ends the run: what the child has said makes no sense, or the engine has failed where an answer was due.
func (m *method) serve(ctx context.Context, r *toParent, w0 []float32) (answer any, err error) {
	silent := r.Op == "combine" || r.Op == "load"
	if m.lost != nil { // nothing more is done until the child knows
		if silent {
			return nil, nil
		}
		return oneAnswer{"error": m.lost.Error()}, nil
	}
	switch r.Op {
	case "combine":
		err = m.combine(r)
	case "load":
		err = m.load(r)
	case "new":
		answer, err = m.declareRows(r, w0)
	case "train":
		answer, err = m.train(ctx, r)
	case "store":
		answer, err = m.store(r)
	case "dot", "norm":
		answer, err = m.product(r)
	case "probabilities":
		answer = oneAnswer{"p": numbers(m.round.P)}
	case "evaluate":
		answer, err = m.evaluate(ctx, r)
	default:
		return nil, fmt.Errorf("%q with id %d, want a request or the answer to message %d", short(r.Op), r.ID,
			m.child.ids)
	}
	switch _, diverged := errors.AsType[*nets.DivergedError](err); {
	case err == nil:
		return answer, nil
	case diverged, ctx.Err() != nil: // no fault of the method's
		return nil, err
	}
	m.lost = fmt.Errorf("%s: %w", r.Op, err)
	if silent {
		return nil, nil
	}
	return oneAnswer{"error": m.lost.Error()}, nil
}

// declareRows makes named rows: of zeros, or models, which begin at the initial weights.
func (m *method) declareRows(r *toParent, w0 []float32) (any, error) {
	switch {
	case m.round.at != "start":
		return nil, errors.New("rows are declared in start alone")
	case r.Name == "" || slices.ContainsFunc(m.banks, func(b banked) bool { return b.name == r.Name }):
		return nil, fmt.Errorf("name %q, want one that no other rows have", short(r.Name))
	case r.N < 1 || r.N >= firstEnd:
		return nil, fmt.Errorf("%s: %d rows, want at least 1", r.Name, r.N)
	}
	rows, err := m.Rows(r.N)
	if err != nil {
		return nil, err
	}
	b := banked{r.Name, len(m.rows), len(m.rows) + r.N}
	var numbers []int
	for i, made := range rows {
		if r.Model {
			if err := m.Engine.Load(made, w0); err != nil {
				return nil, err
			}
		}
		m.rows, numbers = append(m.rows, row{Row: made, model: r.Model}), append(numbers, b.from+i)
	}
	m.banks = append(m.banks, b)
	return oneAnswer{"rows": numbers}, nil
}

// row returns a row by its number: a declared one, or where a client ended in this round.
func (m *method) row(n int) (nets.Row, error) {
	if n >= 0 && n < len(m.rows) {
		return m.rows[n].Row, nil
	}
	if end, found := m.round.ends[n]; found {
		return end, nil
	}
	if n >= firstEnd && n < firstEnd+m.ended {
		return nets.Row{}, fmt.Errorf("row %d: of an earlier round, want one of this", n)
	}
	return nets.Row{}, fmt.Errorf("row %d: no such row", n)
}

// named is row for a field that may be missing.
func (m *method) named(n *int) (nets.Row, error) {
	if n == nil {
		return nets.Row{}, errors.New("no row named, want one")
	}
	return m.row(*n)
}

func (m *method) declaredRow(n *int) (*row, error) {
	if n == nil || *n < 0 || *n >= len(m.rows) {
		return nil, errors.New("want a row that start has declared")
	}
	return &m.rows[*n], nil
}

// written notes that a row was written to.
func (m *method) written(n int, include *[]int) {
	if n < len(m.rows) {
		m.rows[n].set, m.rows[n].include = true, include
	}
}

func (m *method) combine(r *toParent) error {
	dst, err := m.named(r.Dst)
	if err != nil {
		return err
	}
	if len(r.C) != len(r.Src) {
		return fmt.Errorf("%d coefficients and %d rows, want as many", len(r.C), len(r.Src))
	}
	src := make([]nets.Row, len(r.Src))
	for i, n := range r.Src {
		if src[i], err = m.row(n); err != nil {
			return err
		}
	}
	if r.Include != nil {
		if err := m.known(*r.Include); err != nil {
			return err
		}
	}
	m.written(*r.Dst, r.Include)
	return m.Combine(dst, floats(r.C), src)
}

// load sets the weights of a row to numbers of the child. The running statistics stay.
func (m *method) load(r *toParent) error {
	dst, err := m.named(r.Row)
	if err != nil {
		return err
	}
	w, err := decode(r.Data, m.weights())
	if err != nil {
		return err
	}
	all := make([]float32, m.params)
	if err := m.Engine.Store(dst, all); err != nil {
		return err
	}
	at := 0
	for _, s := range m.spans() {
		at += copy(all[s.From:s.To], w[at:])
	}
	m.written(*r.Row, r.Include)
	return m.Engine.Load(dst, all)
}

func (m *method) store(r *toParent) (any, error) {
	src, err := m.named(r.Row)
	if err != nil {
		return nil, err
	}
	all := make([]float32, m.params)
	if err := m.Engine.Store(src, all); err != nil {
		return nil, err
	}
	var w []float32
	for _, s := range m.spans() {
		w = append(w, all[s.From:s.To]...)
	}
	return oneAnswer{"data": encode(w)}, nil
}

func (m *method) product(r *toParent) (any, error) {
	if r.Op == "norm" {
		row, err := m.named(r.Row)
		if err != nil {
			return nil, err
		}
		x, err := nets.Norm(m.Engine, row)
		return oneAnswer{"value": Number(m.rehearsed(x))}, err
	}
	a, err := m.named(r.A)
	if err != nil {
		return nil, err
	}
	b, err := m.named(r.B)
	if err != nil {
		return nil, err
	}
	x, err := m.Engine.Dot(a, b)
	return oneAnswer{"value": Number(m.rehearsed(x))}, err
}

// rehearsed returns what the child is told for a number of the engine. In a rehearsal the engine's numbers are all 0,
// by which a method might divide.
func (m *method) rehearsed(x float64) float64 {
	if m.rehearsal != nil {
		return 1
	}
	return x
}

// known checks a list of clients: ascending, and in the federation.
func (m *method) known(clients []int) error {
	last := -1
	for _, i := range clients {
		if i <= last || i >= m.N {
			return fmt.Errorf("client %d after %d, want ascending in 0 … %d", i, last, m.N-1)
		}
		last = i
	}
	return nil
}

// each returns a row for every client of a request. It is nil if none is named.
func (m *method) each(o oneEach, clients int, what string) ([]nets.Row, error) {
	if o.rows == nil {
		return nil, nil
	}
	if o.each && len(o.rows) != clients {
		return nil, fmt.Errorf("%s: %d rows, want one, or %d for the clients", what, len(o.rows), clients)
	}
	rows := make([]nets.Row, clients)
	for k := range rows {
		n := o.rows[0]
		if o.each {
			n = o.rows[k]
		}
		row, err := m.row(n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		rows[k] = row
	}
	return rows, nil
}

func (m *method) train(ctx context.Context, r *toParent) (any, error) {
	if m.round.at != "round" {
		return nil, fmt.Errorf("in %s, want it in a round", m.round.at)
	}
	clients := m.round.Active
	if r.Clients != nil {
		clients = *r.Clients
	}
	if err := m.known(clients); err != nil {
		return nil, err
	}
	for _, i := range clients {
		if !slices.Contains(m.round.Active, i) {
			return nil, fmt.Errorf("client %d: not active in this round", i)
		}
	}
	if len(clients) == 0 {
		return trainAnswer{[]int{}, []Number{}}, nil
	}
	w := algos.Training{Clients: clients, LR: m.round.LR, Decay: float64(r.Decay), Steps: r.Steps}
	if r.LR != nil {
		w.LR = float64(*r.LR)
	}
	switch {
	case !algos.Above(0).Contains(w.LR):
		return nil, fmt.Errorf("learning rate %g, want a positive number", w.LR)
	case !algos.AtLeast(0).Contains(w.Decay):
		return nil, fmt.Errorf("decay %g, want 0 or more", w.Decay)
	case r.Steps != nil && len(r.Steps) != len(clients):
		return nil, fmt.Errorf("steps of %d clients, want %d", len(r.Steps), len(clients))
	}
	for k, n := range r.Steps {
		if n < 1 || n > math.MaxInt32/m.Planner.B {
			return nil, fmt.Errorf("client %d: %d steps, want 1 … %d", clients[k], n, math.MaxInt32/m.Planner.B)
		}
	}
	var err error
	if w.Start, err = m.each(r.Start, len(clients), "start"); err != nil {
		return nil, err
	}
	if w.Start == nil {
		return nil, errors.New("start: no row named, want one, or one for each client")
	}
	if w.Drift, err = m.each(r.Drift, len(clients), "drift"); err != nil {
		return nil, err
	}
	first := m.taken
	if w.End, err = m.endRows(len(clients)); err != nil {
		return nil, err
	}
	loss, err := m.Train(ctx, m.round.Round, w)
	if err != nil {
		return nil, err
	}
	answer := trainAnswer{}
	for k, i := range clients {
		number := firstEnd + m.ended + first + k
		m.round.ends[number], m.round.last[i] = w.End[k], w.End[k]
		if _, trained := m.round.loss[i]; !trained {
			m.round.loss[i] = loss[k]
		}
		answer.Ends = append(answer.Ends, number)
		answer.Loss = append(answer.Loss, Number(m.rehearsed(float64(loss[k]))))
	}
	return answer, nil
}

// evaluate answers with loss and accuracy of rows on the training samples of clients. No method sees the test set.
func (m *method) evaluate(ctx context.Context, r *toParent) (any, error) {
	var clients []int
	if r.Clients == nil {
		for i := range m.N {
			clients = append(clients, i)
		}
	} else if clients = *r.Clients; len(clients) > 0 {
		if err := m.known(clients); err != nil {
			return nil, err
		}
	}
	answer := evaluateAnswer{[][]Number{}, [][]Number{}, []int{}}
	for _, i := range clients {
		answer.N = append(answer.N, len(m.Planner.Parts[i]))
	}
	for _, n := range r.Rows {
		row, err := m.row(n)
		if err != nil {
			return nil, err
		}
		var jobs []nets.EvalJob
		for _, i := range clients {
			own := append([]int32{}, m.Planner.Parts[i]...) // not nil, which would stand for all samples
			jobs = append(jobs, nets.EvalJob{Row: row, Part: nets.Train, Index: own})
		}
		results, err := m.Engine.Evaluate(ctx, jobs)
		if err != nil {
			return nil, err
		}
		loss, accuracy := []Number{}, []Number{}
		for _, e := range results {
			loss = append(loss, Number(m.rehearsed(e.Loss)))
			accuracy = append(accuracy, Number(m.rehearsed(e.Accuracy())))
		}
		answer.Loss, answer.Accuracy = append(answer.Loss, loss), append(answer.Accuracy, accuracy)
	}
	return answer, nil
}
