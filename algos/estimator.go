package algos

import (
	"slices"

	"rollcall/datasets/rng"
)

// Estimator estimates the availability of the clients, π̂_i and λ̂_i, from the rounds in which they were active
// (CA-Fed, ToN, section IV-B). n_A and n_I count the rounds in which the client was active and inactive, n_AI the
// transitions from active to inactive:
//
//	paper: π̂ = (n_A + n_k)/(n_A + n_I + n_k + m_k)
//	       λ̂ = (n_AA + a)/(n_AA + n_AI + a + b) + (n_II + c)/(n_II + n_IA + c + d) − 1  (ToN, (238))
//	code:  π̂ = (n_A + t'π)/(t + t')
//	       λ̂ = (n_AA + t'(λ + (1−λ)π) + n_II + t'(1 − (1−λ)π))/(t + t') − 1 after t rounds
//
// The paper's prior is a history of t' rounds drawn from the client's own chain (section V-B, d). Its counts are n_k
// (active), m_k (inactive), a (n_AA), b (n_AI), c (n_II) and d (n_IA). Each is increased by 1, a Beta(1, 1), so that a
// state that never occurred has a probability too [inferred]. The state between the history and round 0 is not known,
// so n_AA … n_II count from round 1 on [inferred].
//
// The code's prior is the expected counts in place of a history. The code divides joint counts by t, not by the rounds
// in the state before, so that λ̂ moves from λ at t = 0 towards −2π(1−π)(1−λ). Before round 0 every client counts as
// inactive.
type Estimator struct {
	Pi, Lambda []float64 // [N] π̂, λ̂ after the last round observed; not to be written to
	prior      int       // t'
	form       Preset    // Code or Paper
	counts     []counts  // [N]; nil if π and λ are known
	rounds     int       // t
}

// counts holds the counts of one client. State 1 is active, state 0 inactive.
type counts struct {
	rounds     [2]float64    // n_I, n_A
	moves      [2][2]float64 // transitions, by the state before and the state after
	last       int           // the state in the last round
	unknown    bool          // whether there was no last round
	prior, pjt float64       // in the code's form: t'π of π̂, and the sum of the terms with t' of λ̂
}

// Oracle returns an estimator that knows the true π and λ [N]. It copies both.
func Oracle(pi, lambda []float64) *Estimator {
	return &Estimator{Pi: slices.Clone(pi), Lambda: slices.Clone(lambda)}
}

// NewEstimator returns an estimator that has observed no round yet. pi and lambda [N] are the true values of the
// clients, from which the prior is made. prior is the number of its rounds, at least 1, and form says whose formulas to
// use, by its [Preset.Reading]. In the paper's form, the history of client i is drawn from stream (0, i, 3) of
// [rng.Availability].
func NewEstimator(prior int, form Preset, seed uint32, pi, lambda []float64) *Estimator {
	e := Oracle(pi, lambda)
	e.prior, e.form, e.counts = prior, form.Reading(), make([]counts, len(pi))
	for i := range e.counts {
		c := &e.counts[i]
		if e.form == Code {
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

// Observe adds the next round, with its active clients in ascending order, and updates the estimates.
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

// state leaves out π̂ and λ̂: the next Observe computes them from the counts before anybody uses them.
func (e *Estimator) state(p *parts) {
	if e.counts == nil {
		return
	}
	low := 0.0
	if e.form != Code {
		low = 1 // no count is below that of Beta(1, 1), and a smaller one in a file would divide by 0
	}
	var rounds, moves []*float64
	for i := range e.counts {
		c := &e.counts[i]
		rounds = append(rounds, each(c.rounds[:])...)
		moves = append(append(moves, each(c.moves[0][:])...), each(c.moves[1][:])...)
	}
	p.ints("observed", []*int{&e.rounds}, 0, countMax)
	p.floats("observed-rounds", rounds, low, countMax)
	p.floats("observed-moves", moves, low, countMax)
	p.ints("observed-last", fields(e.counts, func(c *counts) *int { return &c.last }), 0, 1)
	p.flags("observed-unknown", fields(e.counts, func(c *counts) *bool { return &c.unknown })...)
}

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
