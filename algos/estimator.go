package algos

import (
	"slices"

	"rollcall/datasets/rng"
)

// Estimator is what a server holds of its clients' availability: π̂_i and λ̂_i (CA-Fed, ToN, section IV-B). It counts,
// n_AI being the transitions from active to inactive:
//
//	paper: π̂ = (n_A + n_k)/(n_A + n_I + n_k + m_k)
//	       λ̂ = (n_AA + a)/(n_AA + n_AI + a + b) + (n_II + c)/(n_II + n_IA + c + d) − 1  (ToN, (238))
//	code:  π̂ = (n_A + t'π)/(t + t')
//	       λ̂ = (n_AA + t'(λ + (1−λ)π) + n_II + t'(1 − (1−λ)π))/(t + t') − 1 after t rounds
//
// The paper's prior is a history of t' rounds of the client's own chain (section V-B, d): n_k, m_k, a … d are its
// counts, with 1 added to each, Beta(1, 1), so that a state never seen has a probability too [inferred]; what came
// between the history and round 0 is not known, so n_AA … n_II begin with round 1 [inferred]. The code's prior is the
// expected value in place of a history. Its joint counts have no conditional in them: they make λ̂ go from λ at t = 0
// towards −2π(1−π)(1−λ), and before round 0 everybody counts as inactive.
type Estimator struct {
	Pi, Lambda []float64 // [N] π̂, λ̂ as of the last round observed, not to be written to
	prior      int       // t'
	form       Preset
	counts     []counts // [N]; none of the oracle
	rounds     int      // t
}

// counts are of one client's rounds and transitions; the first index is the state before, 1 is active.
type counts struct {
	rounds     [2]float64
	moves      [2][2]float64
	last       int
	unknown    bool    // what last was
	prior, pjt float64 // the code's t'π, and t' times its joint probabilities' sum
}

// Oracle returns an estimator that knows π and λ [N], of which it keeps copies.
func Oracle(pi, lambda []float64) *Estimator {
	return &Estimator{Pi: slices.Clone(pi), Lambda: slices.Clone(lambda)}
}

// NewEstimator returns an estimator before round 0 for clients with the true pi and lambda [N], with a prior of so many
// rounds, at least 1, in one of the two forms. The histories of the paper's form are drawn from seed: client i's from
// stream (0, i, 3) of [rng.Availability].
func NewEstimator(prior int, form Preset, seed uint32, pi, lambda []float64) *Estimator {
	e := Oracle(pi, lambda)
	e.prior, e.form, e.counts = prior, form, make([]counts, len(pi))
	for i := range e.counts {
		c := &e.counts[i]
		if form == Code {
			stay := lambda[i] + (1-lambda[i])*pi[i] + 1 - (1-lambda[i])*pi[i]
			c.prior, c.pjt = float64(prior)*pi[i], float64(prior)*stay
			continue
		}
		*c = counts{rounds: [2]float64{1, 1}, moves: [2][2]float64{{1, 1}, {1, 1}}, unknown: true}
		history := rng.Key{Seed: seed, Purpose: rng.Availability}.Stream(0, i, 3)
		for t := range prior {
			p := pi[i]
			if t > 0 {
				p = (1-lambda[i])*pi[i] + lambda[i]*float64(c.last)
			}
			c.see(history.Float64() < p)
		}
		c.unknown = true
		e.estimate(i)
	}
	return e
}

// Observe enters the active clients of the next round, ascending.
func (e *Estimator) Observe(active []int) {
	if e.counts == nil {
		return
	}
	e.rounds++
	for i, here := range present(active, len(e.counts)) {
		e.counts[i].see(here)
		e.estimate(i)
	}
}

// state leaves out π̂ and λ̂, which are computed from the counts before anybody uses them, in the next Observe.
func (e *Estimator) state(x *parts) {
	if e.counts == nil {
		return
	}
	low := 0.0
	if e.form != Code {
		low = 1 // Beta(1, 1): what π̂ and λ̂ divide by
	}
	var rounds, moves []*float64
	for i := range e.counts {
		c := &e.counts[i]
		rounds = append(rounds, each(c.rounds[:])...)
		moves = append(append(moves, each(c.moves[0][:])...), each(c.moves[1][:])...)
	}
	x.ints("observed", []*int{&e.rounds}, 0, countMax)
	x.floats("observed-rounds", rounds, low, countMax)
	x.floats("observed-moves", moves, low, countMax)
	x.ints("observed-last", fields(e.counts, func(c *counts) *int { return &c.last }), 0, 1)
	x.flags("observed-unknown", fields(e.counts, func(c *counts) *bool { return &c.unknown })...)
}

// see enters one round.
func (c *counts) see(active bool) {
	state := 0
	if active {
		state = 1
	}
	c.rounds[state]++
	if !c.unknown {
		c.moves[c.last][state]++
	}
	c.last, c.unknown = state, false
}

// estimate computes π̂_i and λ̂_i from the counts.
func (e *Estimator) estimate(i int) {
	c := &e.counts[i]
	if e.form == Code {
		t := float64(e.rounds + e.prior)
		e.Pi[i] = (c.rounds[1] + c.prior) / t
		e.Lambda[i] = (c.moves[1][1]+c.moves[0][0]+c.pjt)/t - 1
		return
	}
	e.Pi[i] = c.rounds[1] / (c.rounds[0] + c.rounds[1])
	e.Lambda[i] = c.moves[1][1]/(c.moves[1][0]+c.moves[1][1]) + c.moves[0][0]/(c.moves[0][0]+c.moves[0][1]) - 1
}
