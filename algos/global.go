package algos

import (
	"context"
	"slices"

	"rollcall/nets"
)

var serverMomentum = &Param{
	Name: "server-momentum", Kind: Number, Default: "0", AsBefore: "0", Range: AtLeastBelow(0, 1),
	Help: "all methods with one model: momentum at the server",
}

var serverDecay = &Param{
	Name: "server-weight-decay", Kind: Number, Default: "0", AsBefore: "0", Range: AtLeast(0),
	Help: "the same: weight decay at the server",
}

// serverParams are the parameters of all methods with the base global.
var serverParams = []*Param{serverMomentum, serverDecay}

// global is the base of the methods that keep one model w and start every client from it.
//
// A round moves w by an update U, see [global.step]: w ← w + η_g U. With momentum or weight decay, the server makes a
// step of SGD in its place, as PyTorch's without dampening:
//
//	v ← momentum·v − U + decay·w,  w ← w − η_g v
//
// With momentum, fedavg-active is FedAvgM (Hsu et al., 2019). A round without an update changes nothing, not even v:
// for most methods that is a round in which nobody is active; MIFA and FedAR also step along what they remember.
type global struct {
	*server
	w               nets.Row
	momentum, decay float64   // of the server
	velocity        *nets.Row // v; nil if momentum and decay are 0, since v = −U then needs no row

	corrections []nets.Row // for the next round: added to every gradient of the k-th active client; nil: nothing
}

// startOn returns the start function of a method: it starts the base, and then makes the method from it.
func startOn[Base any](
	newBase func(*server, []float32, Options) (Base, error), then func(Base, Options) method,
) func(*server, []float32, Options) (method, error) {
	return func(s *server, w0 []float32, o Options) (method, error) {
		base, err := newBase(s, w0, o)
		if err != nil {
			return nil, err
		}
		return then(base, o), nil
	}
}

func newGlobal(s *server, w0 []float32, o Options) (global, error) {
	rows, err := s.Rows(1)
	if err != nil {
		return global{}, err
	}
	g := global{server: s, w: rows[0], momentum: serverMomentum.Number(o), decay: serverDecay.Number(o)}
	if g.momentum != 0 || g.decay != 0 {
		v, err := s.Rows(1)
		if err != nil {
			return global{}, err
		}
		g.velocity = &v[0]
	}
	return g, s.Engine.Load(g.w, w0)
}

func (g *global) state(p *parts) {
	g.server.state(p)
	p.rows("w", g.w)
	if g.velocity != nil {
		p.rows("velocity", *g.velocity)
	}
}

// local runs the local steps of every client in r.Active from w. The k-th client ends in ends[k], so Δ_i = ends[k] − w.
func (g *global) local(ctx context.Context, r Round) (ends []nets.Row, loss []float32, err error) {
	if ends, err = g.endRows(len(r.Active)); err != nil {
		return nil, nil, err
	}
	loss, err = g.trainTo(ctx, r, ends)
	return ends, loss, err
}

// trainTo runs the local steps of every client in r.Active from w, and ends in the k-th of the rows.
func (g *global) trainTo(ctx context.Context, r Round, ends []nets.Row) ([]float32, error) {
	start := slices.Repeat([]nets.Row{g.w}, len(ends))
	return g.Train(ctx, r, Training{Clients: r.Active, Start: start, End: ends, LR: r.LR, Drift: g.corrections})
}

// weight runs the round of a method that trains all active clients with weights known before: U = Σ_k c_k Δ_k, where
// weight(k, η) is η·c_k. A round without active clients has no update.
func (g *global) weight(ctx context.Context, r Round, weight func(k int, lr float64) float64) ([]float32, error) {
	ends, loss, err := g.local(ctx, r)
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	return loss, g.step(g.w, r, update{clients: r.Active, ends: ends, weight: weight})
}

// average is weight with U = mean_{i∈A} Δ_i.
func (g *global) average(ctx context.Context, r Round) ([]float32, error) {
	return g.weight(ctx, r, nil)
}

// update is the update of a round before the server's learning rate: U = Σ_k c_k (ends_k − w) + Σ_j d_j y_j.
//
// Its coefficients are functions of the rate η by which they are multiplied, so that each method fixes the order in
// which η enters: rounding in another order would make other models.
type update struct {
	clients []int                           // who have just trained, ascending
	ends    []nets.Row                      // where their local steps ended; none in an update from memory alone
	weight  func(k int, lr float64) float64 // η·c_k; nil: η/K, the mean, in which w has exactly η
	memory  func(lr float64) terms          // Σ η·d_j y_j; nil: none
	buffers []nets.Row                      // rows with the clients' running statistics; nil: ends
}

// at returns η·c_k, their sum added to rest (their difference, with sign −1), and the terms of the memory.
func (u *update) at(lr, rest, sign float64) (c []float64, sum float64, memory terms) {
	mean := u.weight == nil
	for k := range u.ends {
		if mean {
			c = append(c, lr/float64(len(u.ends)))
			continue
		}
		c = append(c, u.weight(k, lr))
		rest += sign * c[k]
	}
	if mean && len(c) > 0 {
		rest += sign * lr
	}
	if u.memory != nil {
		memory = u.memory(lr)
	}
	return c, rest, memory
}

// step sets the weights of dst to the weights of w after an update, in one sum of rows that needs no row for Δ, and its
// running statistics to the clients' mean. dst may be w.
func (g *global) step(dst nets.Row, r Round, u update) error {
	var w terms
	if g.velocity == nil {
		c, rest, memory := u.at(r.ServerLR, 1, -1)
		w.add(rest, g.w)
		w.addEach(1, c, u.ends)
		w.addEach(1, memory.c, memory.rows)
	} else {
		var v terms
		c, rest, memory := u.at(1, g.decay, 1)
		v.add(g.momentum, *g.velocity)
		v.addEach(-1, c, u.ends)
		v.addEach(-1, memory.c, memory.rows)
		v.add(rest, g.w)
		if err := g.set(*g.velocity, v); err != nil {
			return err
		}
		w.add(1, g.w)
		w.add(-r.ServerLR, *g.velocity)
	}
	if err := g.set(dst, w); err != nil {
		return err
	}
	if u.buffers == nil {
		u.buffers = u.ends
	}
	return g.AverageBuffers(dst, u.clients, u.buffers)
}

func (g *global) Model() (nets.Row, error) { return g.w, nil }
