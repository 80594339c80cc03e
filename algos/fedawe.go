package algos

import (
	"context"
	"fmt"
	"math"
	"slices"

	"rollcall/nets"
)

// fedAWE is, line by line:
//
//	active i:  E steps from x_i give Δ_i;  x_i† = x_i + η_g (t − τ_i) Δ_i;  τ_i ← t   (lines 5–9; G_i = −Δ_i)
//	server:    x̄ = mean_{i∈A} x_i†;  x_i ← x̄ for i∈A; the others keep their x_i     (lines 14–15)
//
// The released code clips the averaged echoed update: x̄ = mean_A x_i + η_g · clip(mean_A (t − τ_i) Δ_i).
//
// Running statistics are neither echoed nor clipped: x̄ has the mean over A of what the local steps ended with, and the
// evaluated model the mean over all N clients.
//
// Clients that were last active in the same round have the same model. They share a row, so that x_i ← x̄ copies
// nothing and N clients seldom need N rows.
type fedAWE struct {
	*server
	ofServer bool       // Model returns x̄ instead of the mean of all x_i
	clip     *float64   // the largest norm of the averaged echoed update; nil: no clipping
	models   []nets.Row // the distinct x_i; a row without clients is free
	rowOf    []int      // [N] x_i is models[rowOf[i]]
	last     int        // the row of x̄ of the last round with active clients
	tau      []int      // [N] last active round, −1 at the start
	update   nets.Row   // the averaged echoed update, if it is clipped
	mean     nets.Row   // the mean of x_i over all clients, when Model was last called
	stale    bool       // whether a round has run since
}

// The released code clips the averaged echoed update; the paper clips local gradients instead (appendix J).
var fedaweClip = &Param{
	Name: "fedawe-clip", Kind: Number, None: true, Default: "0.5", Paper: none, Range: Above(0),
	Help: "fedawe: largest norm of the averaged echoed update, or none (default: the preset's)",
}

// mean is the mean of x_i over all N clients, as in the released code; last is x̄ of the last round with active
// clients.
var fedaweModel = &Param{
	Name: "fedawe-model", Kind: Word, Default: "mean", Words: []string{"mean", "last"},
	Help: "fedawe: model evaluated, the mean of all clients' or the server's last: mean, last",
}

var fedAWEMethod = Definition{
	Name:  "fedawe",
	Brief: "echoes a returning client's update once for every round it was away",
	Idea: "Multiplies the update of a client by the number of rounds since it was last active (adaptive innovation " +
		"echoing), and gives the new mean to the active clients only (implicit gossiping). It needs to know " +
		"nothing of the availability. x_i is client i's own model, and τ_i the round in which it was last active.",
	Formula:  "x_i ← mean_{j∈A}(x_j + η_g (t − τ_j) Δ_j) for i∈A, the others keep x_i; the model is mean_N(x)",
	Paper:    paperFedAWE + ", Algorithm 1",
	Revision: 1, Is: FedAvg | OwnModels,
	Params: []*Param{fedaweClip, fedaweModel}, start: newFedAWE,
}

// newFedAWE starts with all clients at the model w0, in one row.
func newFedAWE(s *server, w0 []float32, o Options) (method, error) {
	m := &fedAWE{
		server: s, ofServer: fedaweModel.Text(o) == "last", clip: fedaweClip.Optional(o),
		rowOf: make([]int, s.N), tau: make([]int, s.N), stale: true,
	}
	for i := range m.tau {
		m.tau[i] = -1
	}
	rows, err := s.Rows(3)
	if err != nil {
		return nil, err
	}
	m.models, m.update, m.mean = rows[:1:1], rows[1], rows[2]
	return m, s.Engine.Load(m.models[0], w0)
}

func (m *fedAWE) Round(ctx context.Context, r Round) ([]float32, error) {
	if len(r.Active) == 0 {
		return nil, nil
	}
	ends, err := m.endRows(len(r.Active))
	if err != nil {
		return nil, err
	}
	local := Training{Clients: r.Active, End: ends, LR: r.LR}
	for _, i := range r.Active {
		local.Start = append(local.Start, m.x(i))
	}
	loss, err := m.Train(ctx, r, local)
	if err != nil {
		return nil, err
	}
	next, err := m.free()
	if err != nil {
		return nil, err
	}
	gossip := m.echo
	if m.clip != nil {
		gossip = m.clippedEcho
	}
	if err := gossip(m.models[next], r, ends); err != nil {
		return nil, err
	}
	if err := m.AverageBuffers(m.models[next], r.Active, ends); err != nil {
		return nil, err
	}
	for _, i := range r.Active {
		m.rowOf[i], m.tau[i] = next, r.T
	}
	m.last, m.stale = next, true
	return loss, nil
}

// state has the distinct models of the clients, and their rows: the order of rows is the order of sums, so it is part
// of the result.
func (m *fedAWE) state(p *parts) {
	m.server.state(p)
	p.ints("tau", each(m.tau), -1, countMax)
	p.ints("row-of", each(m.rowOf), 0, m.N)
	p.ints("last", []*int{&m.last}, 0, m.N)
	p.then(m.fit)
	if p.err != nil {
		return // after an error there may be fewer rows than rowOf refers to
	}
	var models []nets.Row
	for row, clients := range m.clients() {
		if clients > 0 {
			models = append(models, m.models[row])
		}
	}
	p.rows("models", models...)
}

// fit makes the rows that the restored rowOf and last refer to.
func (m *fedAWE) fit() (err error) {
	if !slices.Contains(m.rowOf, m.last) {
		return fmt.Errorf("last: %d, want the row of a client's model, one of %v", m.last, m.rowOf)
	}
	m.stale = true
	m.models, err = m.grow(m.models, 1+slices.Max(m.rowOf), m.N+1)
	return err
}

func (m *fedAWE) x(i int) nets.Row { return m.models[m.rowOf[i]] }

// echo sets dst = mean_A (x_i + η_g (t − τ_i)(ends_i − x_i)).
func (m *fedAWE) echo(dst nets.Row, r Round, ends []nets.Row) error {
	var mean terms
	for k, i := range r.Active {
		echo := r.ServerLR * float64(r.T-m.tau[i])
		mean.add((1-echo)/float64(len(ends)), m.x(i))
		mean.add(echo/float64(len(ends)), ends[k])
	}
	return m.set(dst, mean)
}

// clippedEcho sets dst = mean_A x_i + η_g · U·min(1, clip/‖U‖) with U = mean_A (t − τ_i)(ends_i − x_i).
func (m *fedAWE) clippedEcho(dst nets.Row, r Round, ends []nets.Row) error {
	var update, mean terms
	for k, i := range r.Active {
		share := float64(r.T-m.tau[i]) / float64(len(ends))
		update.add(share, ends[k])
		update.add(-share, m.x(i))
		mean.add(1/float64(len(ends)), m.x(i))
	}
	if err := m.set(m.update, update); err != nil {
		return err
	}
	norm, err := nets.Norm(m.Engine, m.update)
	if err != nil {
		return err
	}
	if math.IsNaN(norm) || math.IsInf(norm, 0) { // an infinite norm would make the step 0 and go unnoticed
		return fmt.Errorf("norm of the update is %g, want a finite number", norm)
	}
	scale := 1.0
	if norm > *m.clip {
		scale = *m.clip / norm
	}
	mean.add(r.ServerLR*scale, m.update)
	return m.set(dst, mean)
}

// free returns the index of a model row that no client has.
func (m *fedAWE) free() (int, error) {
	for row, clients := range m.clients() {
		if clients == 0 {
			return row, nil
		}
	}
	next := len(m.models) // N+1 rows always leave one free
	var err error
	m.models, err = m.grow(m.models, next+1, m.N+1)
	return next, err
}

// clients returns, for each model row, how many clients have it.
func (m *fedAWE) clients() []int {
	n := make([]int, len(m.models))
	for _, row := range m.rowOf {
		n[row]++
	}
	return n
}

// localModels returns the distinct x_i, and the clients that have each. The model of client 0 comes first.
func (m *fedAWE) localModels() (rows []nets.Row, of [][]int) {
	at := make([]int, len(m.models)) // index in rows, from 1; 0: not in rows yet
	for i, model := range m.rowOf {
		if at[model] == 0 {
			rows, of = append(rows, m.models[model]), append(of, nil)
			at[model] = len(rows)
		}
		of[at[model]-1] = append(of[at[model]-1], i)
	}
	return rows, of
}

// Model returns the mean of x_i over all N clients, or x̄ of the last round with active clients.
func (m *fedAWE) Model() (nets.Row, error) {
	if m.ofServer {
		return m.models[m.last], nil
	}
	if m.stale {
		var mean terms
		for row, clients := range m.clients() {
			mean.add(float64(clients)/float64(m.N), m.models[row])
		}
		if err := m.set(m.mean, mean); err != nil {
			return nets.Row{}, err
		}
		if err := m.Engine.CombineBuffers(m.mean, mean.c, mean.rows); err != nil {
			return nets.Row{}, err
		}
		m.stale = false
	}
	return m.mean, nil
}
