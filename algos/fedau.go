package algos

import (
	"context"
	"math"
)

// fedAU is Algorithm 1, FedAvg, with the weights ω_i of Algorithm 2.
type fedAU struct {
	global
	cutoff    int        // K
	intervals []interval // [N]
}

// interval holds what the algorithm needs of one client's list of intervals: their sum and their number.
type interval struct {
	miss   int // rounds missed since the last interval ended
	sum, n int // the sum of the intervals, in rounds, and their number
}

var fedauCutoff = &Param{
	Name: "fedau-cutoff", Kind: Whole, Default: "50", Range: Between(1, math.MaxInt32),
	Help: "fedau: longest interval counted, in rounds",
}

var fedAUMethod = Definition{
	Name:  "fedau",
	Brief: "weights by the mean interval between a client's participations",
	Idea: "Weights a client by the mean length of its intervals between two participations, an estimate of 1/p_i " +
		"that needs no knowledge of the availability. Intervals are cut off after K rounds. K is --fedau-cutoff.",
	Formula: "w += η_g/N · Σ_{i∈A} ω_i Δ_i, ω_i the mean of client i's intervals so far, 1 before the first",
	Paper: "S. Wang, M. Ji: A Lightweight Method for Tackling Unknown Participation Statistics in Federated " +
		"Averaging, ICLR 2024, Algorithms 1 and 2",
	Revision: 1, Is: Linear | FedAvg, Params: []*Param{fedauCutoff}, Later: serverParams,
	start: startOn(newGlobal, func(g global, o Options) method {
		return &fedAU{g, fedauCutoff.Whole(o), make([]interval, g.N)}
	}),
}

func (m *fedAU) Round(ctx context.Context, r Round) ([]float32, error) {
	omega := make([]float64, len(r.Active))
	for k, i := range r.Active {
		omega[k] = m.intervals[i].weight() // before this round is on the list
	}
	for i, here := range present(r.Active, m.N) {
		m.intervals[i].count(here, m.cutoff)
	}
	return m.weight(ctx, r, func(k int, lr float64) float64 { return lr / float64(m.N) * omega[k] })
}

func (m *fedAU) state(p *parts) {
	m.global.state(p)
	p.ints("miss", fields(m.intervals, func(v *interval) *int { return &v.miss }), 0, m.cutoff-1)
	p.ints("sum", fields(m.intervals, func(v *interval) *int { return &v.sum }), 0, countMax)
	p.ints("n", fields(m.intervals, func(v *interval) *int { return &v.n }), 0, countMax)
}

// weight returns ω_i: the mean of the intervals, 1 as long as there is none.
func (v *interval) weight() float64 {
	if v.n == 0 {
		return 1
	}
	return float64(v.sum) / float64(v.n)
}

// count adds one round, in which the client was active (here) or not. An interval ends when the client is active, and
// is cut off after K rounds (Algorithm 2).
func (v *interval) count(here bool, cutoff int) {
	v.miss++ // the round of return is part of the interval
	if here || v.miss >= cutoff {
		v.sum, v.n, v.miss = v.sum+v.miss, v.n+1, 0
	}
}
