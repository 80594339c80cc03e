package availability

import (
	"fmt"

	"rollcall/datasets/rng"
)

// chains are M independent chains of two states, active and inactive, that start from their stationary distribution
// (ToN, (236)):
//
//	P(active in round 0) = π,  P(active | active) = λ + (1−λ)π,  P(active | inactive) = (1−λ)π
//
// The states of a round follow from the states of the round before. So chains computes one round after the other, up to
// the latest round asked for, and keeps all states, M bits per round. Chain m reads the uniform number of round t at
// counter (t+1, m, 0) of [rng.Availability], as [Draw] does.
type chains struct {
	history
	key        rng.Key
	step       int       // of the streams that are read: 0, or 1 for chains beside other draws of the same run
	pi, lambda []float64 // [M]
}

// newChains returns the model of n clients that follow M chains with the given π and λ [M]. n/M clients with
// neighbouring numbers follow the same chain. newChains keeps pi and lambda. name is the word for a chain in errors.
func newChains(n int, seed uint32, pi, lambda []float64, name string) (Model, error) {
	for m := range pi {
		if err := feasible(pi[m], lambda[m]); err != nil {
			return nil, fmt.Errorf("%s %d: %w", name, m, err)
		}
	}
	return follow(n, &chains{history: historyOf(len(pi)), key: drawsOf(seed), pi: pi, lambda: lambda}), nil
}

// follow returns the model of n clients that follow chains, of which n is a multiple, see [newChains].
func follow(n int, of *chains) Model {
	m := &chained{of, make([]int, n)}
	for i := range m.of {
		m.of[i] = i / (n / len(of.pi))
	}
	return m
}

// drawsOf returns the key of all draws of availability.
func drawsOf(seed uint32) rng.Key { return rng.Key{Seed: seed, Purpose: rng.Availability} }

// history keeps M states of two kinds, of all rounds computed so far, a bit for each.
type history struct {
	rounds int      // rounds computed so far
	words  int      // words per round: ⌈M/64⌉
	bits   []uint64 // [rounds,words] state m of round t is bit m%64 of word t·words + m/64
}

func historyOf(states int) history { return history{words: (states + 63) / 64} }

// bit returns state m of round t, which must be computed already.
func (h *history) bit(t, m int) bool { return h.bits[t*h.words+m/64]>>(m%64)&1 == 1 }

// add adds a round, of whose states those are 1 for which is returns true.
func (h *history) add(states int, is func(m int) bool) {
	h.bits = append(h.bits, make([]uint64, h.words)...)
	row := h.bits[h.rounds*h.words:]
	for m := range states {
		if is(m) {
			row[m/64] |= 1 << (m % 64)
		}
	}
	h.rounds++
}

// feasible returns an error if no irreducible chain of two states has (π, λ). The transition probabilities (1−λ)π and
// (1−λ)(1−π) are at most 1 only if λ ≥ 1 − 1/π and λ ≥ 1 − 1/(1−π). With λ = 1 no client would ever change its state.
func feasible(pi, lambda float64) error {
	if !(pi > 0 && pi < 1) {
		return fmt.Errorf("pi %g, want above 0 and below 1", pi)
	}
	if low := max(1-1/pi, 1-1/(1-pi)); !(lambda >= low && lambda < 1) {
		return fmt.Errorf("lambda %g at pi %g, which no chain of two states has, want at least %g and below 1",
			lambda, pi, low)
	}
	return nil
}

// active returns the state of chain m in round t.
func (c *chains) active(t, m int) bool {
	for c.rounds <= t {
		c.extend()
	}
	return c.bit(t, m)
}

func (c *chains) extend() {
	t := c.rounds
	c.add(len(c.pi), func(m int) bool {
		p := c.pi[m]
		if t > 0 {
			p = (1 - c.lambda[m]) * c.pi[m]
			if c.bit(t-1, m) {
				p += c.lambda[m]
			}
		}
		return c.key.Stream(t+1, m, c.step).Float64() < p
	})
}

// chained is a model whose clients follow chains. Several clients may follow the same chain.
type chained struct {
	*chains
	of []int // [N] the chain that client i follows
}

func (c *chained) Probabilities(_ int, p []float64) {
	for i, m := range c.of {
		p[i] = c.pi[m]
	}
}

func (c *chained) Active(t int) []int {
	return clientsWho(len(c.of), func(i int) bool { return c.active(t, c.of[i]) })
}

func (c *chained) Stationary() (pi, lambda []float64) {
	for _, m := range c.of {
		pi, lambda = append(pi, c.pi[m]), append(lambda, c.lambda[m])
	}
	return pi, lambda
}
