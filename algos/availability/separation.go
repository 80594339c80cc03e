package availability

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// separated is an independent model in which a client that was active is away for the R rounds after that, such as a
// phone that may take part once a day. A client that may be active draws as in the model it is made of.
//
// Two active rounds of a client are more than R apart, so that the probability that it is away for this reason is the
// sum of its p over the last R rounds, and p_i^t = q_i^t(1 − p_i^{t−1} − … − p_i^{t−R}), where q is the model's. Before
// round 0 each p_i is q_i^0/(1 + q_i^0·R), the value at which it stays if q does not change.
type separated struct {
	history
	of    *independent
	r     int       // R
	start []float64 // [N] p_i before round 0
	free  []int     // [N] the first round after those computed in which the client may be active
	mean  int       // rounds over which π is a mean; 0: q does not change, and π is start

	// The probabilities are computed one round after the other.
	t    int         // the round of p; −1: none yet
	p    []float64   // [N] p_i^t
	sum  []float64   // [N] of p over R rounds, up to round t
	past [][]float64 // the p of up to R rounds, that of round s at s mod R
}

// separate returns a model with a separation of r rounds, in a run of so many rounds. The first number of stream (0, i,
// 9) of [rng.Availability] says how long ago client i was active before round 0.
func separate(m *independent, r, rounds int) (Model, error) {
	if r < 1 || r > math.MaxInt32 {
		return nil, fmt.Errorf("separation: %d rounds, want at least 1", r)
	}
	n := len(m.Base)
	s := &separated{history: historyOf(n), of: m, r: r, start: make([]float64, n), free: make([]int, n)}
	m.Probabilities(0, s.start)
	for i, q := range s.start {
		s.start[i] = q / (1 + q*float64(r))
		// It is still away for 1, 2 … R rounds with probability p each.
		if u := drawsOf(m.Seed).Stream(0, i, 9).Float64(); u < s.start[i]*float64(r) {
			s.free[i] = min(r, 1+int(u/s.start[i]))
		}
	}
	s.rewind()
	if m.Period > 1 {
		if s.mean = rounds; rounds < 1 || rounds > math.MaxInt32 {
			return nil, errors.New("separation: without the rounds of the run, want them")
		}
	}
	return s, nil
}

// mean returns the mean of p_i^t over the first rounds [n].
func mean(m Model, n, rounds int) []float64 {
	p, sum := make([]float64, n), make([]float64, n)
	for t := range rounds {
		m.Probabilities(t, p)
		for i := range p {
			sum[i] += p[i]
		}
	}
	for i := range sum {
		sum[i] /= float64(rounds)
	}
	return sum
}

func (s *separated) rewind() {
	s.t, s.p, s.past = -1, slices.Clone(s.start), nil
	s.sum = make([]float64, len(s.start))
	for i, p := range s.start {
		s.sum[i] = p * float64(s.r)
	}
}

// Probabilities goes on from the round that it computed last, and begins anew for an earlier one. If q does not change,
// neither does p.
func (s *separated) Probabilities(t int, p []float64) {
	if s.mean == 0 {
		copy(p, s.start)
		return
	}
	if t < s.t {
		s.rewind()
	}
	for s.t < t {
		s.next()
	}
	copy(p, s.p)
}

func (s *separated) next() {
	s.t++
	s.of.Probabilities(s.t, s.p)
	before := s.start // of round t − R
	if s.t >= s.r {
		before = s.past[s.t%s.r]
	} else {
		s.past = append(s.past, make([]float64, len(s.p)))
	}
	at := s.past[s.t%s.r]
	for i := range s.p {
		s.p[i] *= max(0, 1-s.sum[i])
		s.sum[i] += s.p[i] - before[i]
		at[i] = s.p[i]
	}
}

func (s *separated) Active(t int) []int {
	n := len(s.free)
	for s.rounds <= t {
		drawn := make([]bool, n)
		for _, i := range s.of.Active(s.rounds) {
			drawn[i] = s.rounds >= s.free[i]
		}
		for i, active := range drawn {
			if active {
				s.free[i] = s.rounds + s.r + 1
			}
		}
		s.add(n, func(i int) bool { return drawn[i] })
	}
	return clientsWho(n, func(i int) bool { return s.bit(t, i) })
}

// Stationary returns π = q/(1+qR), or the mean of p_i^t over the rounds of the run if q changes, and λ = −π/(1−π): no
// active round follows another.
func (s *separated) Stationary() (pi, lambda []float64) {
	if pi = slices.Clone(s.start); s.mean > 0 {
		pi = mean(s, len(pi), s.mean)
	}
	lambda = make([]float64, len(pi))
	for i, pi := range pi {
		if pi > 0 {
			lambda[i] = -pi / (1 - pi)
		}
	}
	return pi, lambda
}
