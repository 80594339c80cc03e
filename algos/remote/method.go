package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"rollcall/algos"
	"rollcall/nets"
)

// method is an [algos.Method] whose rounds a child computes.
type method struct {
	*algos.Base
	host    *Host
	script  *Script
	child   *child
	params  int // P, the running statistics among them
	timeout time.Duration

	rows   []row      // declared when the method starts; their numbers on the pipe are their indices here
	banks  []banked   // the names under which the rows are saved, in the order in which they were declared
	arrays []declared // numbers that the child keeps
	model  nets.Row   // what the child last named as its model
	lost   error      // the first error of a request without an answer: the next answer has it

	round roundState
	spare []nets.Row // rows for the ends of clients
	taken int        // how many of them this round uses
	ended int        // how many ends earlier rounds had, so that no number comes twice

	decisions *algos.Decisions
	hidden    hidden
	rehearsal *rehearsal // nil: this is no rehearsal
}

type row struct {
	nets.Row
	model   bool
	set     bool   // in this round
	include *[]int // the clients whose running statistics it gets; nil: all that have trained in this round
}

// banked is a named group of rows: rows[from:to].
type banked struct {
	name     string
	from, to int
}

// roundState is what the requests of a round need.
type roundState struct {
	algos.Round
	at   string           // start, round or model: what the child may ask for depends on it
	ends map[int]nets.Row // by number, of this round
	last map[int]nets.Row // by client, where it ended last in this round
	loss map[int]float32  // by client, of its first batch in this round
}

// firstEnd is the number of the first end row of a run: declared rows have smaller ones.
const firstEnd = 1 << 30

// start starts the method in a process of its own.
func (h *Host) start(s *Script, f algos.Federation, w0 []float32, o algos.Options) (algos.Method, error) {
	m := &method{Base: algos.NewBase(f), host: h, script: s, params: len(w0), timeout: o.Process.Timeout}
	if o.Process.Rehearsal {
		m.rehearsal = &rehearsal{}
	}
	if err := m.begin(w0, o); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// begin starts the child, and serves it until it has declared all that it keeps.
func (m *method) begin(w0 []float32, o algos.Options) (err error) {
	var about *toParent
	if m.child, about, err = m.host.open(context.Background(), m.script.Path, o.Process, m.params); err != nil {
		return err
	}
	if about.Sum != m.script.Sum {
		return fmt.Errorf("%s, or a file that it imports, has changed since this command began", m.script.Path)
	}
	params := map[string]string{}
	for i, p := range m.script.Params {
		params[m.script.names[i]] = p.Text(o)
	}
	steps := make([]int, m.N)
	for i := range steps {
		steps[i] = m.Planner.Steps(i)
	}
	m.hidden.record(m.child)
	m.round = roundState{at: "start"}
	answer, err := m.ask(context.Background(), "started", func(head message) any {
		return startMessage{
			head, m.N, m.params, m.weights(), params, numbers(m.Importance), numbers(m.Pi), numbers(m.Lambda), steps,
			m.Seed,
		}
	}, w0)
	if err != nil {
		return err
	}
	m.child.record = nil
	if err := m.declare(answer.Arrays); err != nil {
		return err
	}
	i := slices.IndexFunc(m.rows, func(r row) bool { return r.model })
	if i < 0 {
		return errors.New("start declares no model, want one")
	}
	m.model = m.rows[i].Row
	return nil
}

func (m *method) declare(text json.RawMessage) error {
	if text != nil {
		if err := json.Unmarshal(text, &m.arrays); err != nil {
			return fmt.Errorf("started: arrays: %w", err)
		}
	}
	for i, a := range m.arrays {
		twice := slices.ContainsFunc(m.arrays[:i], func(o declared) bool { return o.Name == a.Name })
		if twice || a.Name == "" || a.N < 0 || a.Kind != "ints" && a.Kind != "floats" {
			return fmt.Errorf("started: array %d, %q of %d %s: want a name of its own, 0 or more, ints or floats",
				i, short(a.Name), a.N, short(a.Kind))
		}
	}
	return nil
}

// spans returns where the weights are among the parameters: between the running statistics.
func (m *method) spans() (spans []nets.Span) {
	from := 0
	for _, buffers := range m.Engine.Info().Buffers {
		spans = append(spans, nets.Span{From: from, To: buffers.From})
		from = buffers.To
	}
	return append(spans, nets.Span{From: from, To: m.params})
}

// weights returns the number of parameters that are no running statistics.
func (m *method) weights() (n int) {
	for _, s := range m.spans() {
		n += s.To - s.From
	}
	return n
}

// ask sends a message and serves the child's requests until its answer, whose op is want. w0 are the weights that a
// model has which the child declares.
func (m *method) ask(ctx context.Context, want string, of func(head message) any, w0 []float32) (*toParent, error) {
	c := m.child
	c.ids++
	msg := of(message{map[string]string{
		"started": "start", "done": "round", "model": "model", "saved": "save", "restored": "restore",
	}[want], c.ids})
	if err := c.send(msg); err != nil {
		return nil, err
	}
	for deadline := c.deadline(); ; {
		text, err := c.next(ctx, deadline)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		r, err := parse(text)
		if script, is := errors.AsType[*ScriptError](err); is {
			script.Cause = m.lost
		}
		if err != nil {
			return nil, err
		}
		if r.Op == want && r.ID == c.ids {
			return r, m.lost
		}
		answer, err := m.serve(ctx, r, w0)
		if err != nil {
			return nil, err
		}
		if answer == nil { // the time in which the engine works is not the child's
			if !deadline.IsZero() {
				deadline = deadline.Add(time.Since(began))
			}
			continue
		}
		deadline = c.deadline()
		if err := c.send(answer); err != nil {
			return nil, err
		}
	}
}

func (m *method) Round(ctx context.Context, r algos.Round) ([]float32, error) {
	if m.rehearsal.over() {
		return m.rehearse(ctx, r)
	}
	m.ended += m.taken
	m.taken, m.decisions = 0, nil
	m.round = roundState{
		Round: r, at: "round", ends: map[int]nets.Row{}, last: map[int]nets.Row{}, loss: map[int]float32{},
	}
	for i := range m.rows {
		m.rows[i].set, m.rows[i].include = false, nil
	}
	m.hidden.record(m.child)
	answer, err := m.ask(ctx, "done", func(head message) any {
		return roundMessage{head, r.T, ints(r.Active), Number(r.LR), Number(r.ServerLR)}
	}, nil)
	if err != nil {
		return nil, err
	}
	if err := m.average(); err != nil {
		return nil, err
	}
	if err := m.decided(answer.Decisions); err != nil {
		return nil, err
	}
	if err := m.hidden.check(ctx, m); err != nil {
		return nil, err
	}
	if m.rehearsal != nil && len(r.Active) > 0 {
		m.rehearsal.calls = (m.taken + len(r.Active) - 1) / len(r.Active)
	}
	var loss []float32
	for _, i := range r.Active {
		if l, trained := m.round.loss[i]; trained {
			loss = append(loss, l)
		}
	}
	return loss, nil
}

// average gives every model that was set in this round the running statistics of the clients that entered it.
func (m *method) average() error {
	for i := range m.rows {
		r := &m.rows[i]
		if !r.model || !r.set {
			continue
		}
		var clients []int
		var ends []nets.Row
		for _, client := range m.round.Active {
			end, trained := m.round.last[client]
			if trained && (r.include == nil || slices.Contains(*r.include, client)) {
				clients, ends = append(clients, client), append(ends, end)
			}
		}
		if err := m.AverageBuffers(r.Row, clients, ends); err != nil {
			return err
		}
	}
	return nil
}

func (m *method) decided(d *decisions) error {
	if d == nil {
		return nil
	}
	if len(d.Q) != m.N || len(d.Included) != m.N || len(d.Pi) != m.N || len(d.Lambda) != m.N {
		return fmt.Errorf("decisions of %d, %d, %d and %d clients, want %d each", len(d.Q), len(d.Included), len(d.Pi),
			len(d.Lambda), m.N)
	}
	m.decisions = &algos.Decisions{
		Q: floats(d.Q), Included: d.Included, Pi: floats(d.Pi), Lambda: floats(d.Lambda),
	}
	return nil
}

func (m *method) Inspect() *algos.Decisions { return m.decisions }

// Runtime returns the versions on which the numbers of the method depend beside this program's: python and numpy.
func (m *method) Runtime() map[string]string { return m.script.Runtime }

func (m *method) Model() (nets.Row, error) {
	if m.rehearsal.over() {
		return m.model, nil
	}
	m.round.at = "model"
	answer, err := m.ask(context.Background(), "model", func(head message) any { return head }, nil)
	if err != nil {
		return nets.Row{}, err
	}
	r, err := m.declaredRow(answer.Row)
	if err != nil {
		return nets.Row{}, err
	}
	m.model = r.Row
	return m.model, nil
}

func (m *method) rowsOf(b banked) (rows []nets.Row) {
	for _, r := range m.rows[b.from:b.to] {
		rows = append(rows, r.Row)
	}
	return rows
}

func (m *method) Save(ctx context.Context) ([]algos.Array, error) {
	saved, err := m.Base.Save()
	if err != nil {
		return nil, err
	}
	answer, err := m.ask(ctx, "saved", func(head message) any { return head }, nil)
	if err != nil {
		return nil, err
	}
	m.hidden.saved(answer.Arrays)
	for _, b := range m.banks {
		saved = append(saved, algos.Array{Name: "rows-" + b.name, Rows: m.rowsOf(b)})
	}
	var arrays map[string]json.RawMessage
	if err := json.Unmarshal(answer.Arrays, &arrays); err != nil {
		return nil, fmt.Errorf("saved: %w", err)
	}
	for _, d := range m.arrays {
		a := algos.Array{Name: d.Kind + "-" + d.Name}
		var n int
		if d.Kind == "ints" {
			err = json.Unmarshal(arrays[d.Name], &a.Int64s)
			n = len(a.Int64s)
		} else {
			var x []Number
			err = json.Unmarshal(arrays[d.Name], &x)
			a.Float64s, n = floats(x), len(x)
		}
		if err != nil || n != d.N {
			return nil, errors.Join(fmt.Errorf("saved: %s: %d %s, want %d", d.Name, n, d.Kind, d.N), err)
		}
		saved = append(saved, a)
	}
	return saved, nil
}

func (m *method) Restore(from algos.Source) error {
	if err := m.Base.Restore(from); err != nil {
		return err
	}
	for _, b := range m.banks {
		if err := from.Rows("rows-"+b.name, m.rowsOf(b)); err != nil {
			return fmt.Errorf("rows %s: %w", b.name, err)
		}
	}
	arrays := map[string]any{}
	for _, d := range m.arrays {
		if d.Kind == "ints" {
			x, err := from.Int64s("ints-" + d.Name)
			if err != nil || len(x) != d.N {
				return errors.Join(fmt.Errorf("array %s: %d ints, want %d", d.Name, len(x), d.N), err)
			}
			arrays[d.Name] = append([]int64{}, x...)
			continue
		}
		x, err := from.Float64s("floats-" + d.Name)
		if err != nil || len(x) != d.N {
			return errors.Join(fmt.Errorf("array %s: %d floats, want %d", d.Name, len(x), d.N), err)
		}
		arrays[d.Name] = numbers(x)
	}
	_, err := m.ask(context.Background(), "restored", func(head message) any {
		return restoreMessage{head, arrays}
	}, nil)
	return err
}

func (m *method) Close() {
	if m.child != nil {
		m.child.close()
	}
	m.Base.Close()
}

// rehearsal is what a run without training has to know of a method: how often it trains a client in a round.
type rehearsal struct{ calls int }

// over reports whether enough is known: the method has made a round with clients.
func (r *rehearsal) over() bool { return r != nil && r.calls > 0 }

// rehearse asks the engine for what a round trains, without the child.
func (m *method) rehearse(ctx context.Context, r algos.Round) (loss []float32, err error) {
	m.taken = 0
	for range m.rehearsal.calls {
		ends, err := m.endRows(len(r.Active))
		if err != nil {
			return nil, err
		}
		w := algos.Training{Clients: r.Active, Start: ends, End: ends, LR: r.LR}
		if loss, err = m.Train(ctx, r, w); err != nil {
			return nil, err
		}
	}
	return loss, nil
}

func (m *method) endRows(n int) ([]nets.Row, error) {
	if lack := m.taken + n - len(m.spare); lack > 0 {
		more, err := m.Rows(max(lack, min(len(m.spare), m.N)))
		if err != nil {
			return nil, err
		}
		m.spare = append(m.spare, more...)
	}
	m.taken += n
	return m.spare[m.taken-n : m.taken], nil
}
