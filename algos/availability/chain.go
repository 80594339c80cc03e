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
	key        rng.Key
	pi, lambda []float64 // [M]
	rounds     int       // rounds computed so far
	words      int       // words per round: ⌈M/64⌉
	bits       []uint64  // [rounds,words] the state of chain m in round t is bit m%64 of word t·words + m/64
}

// newChains returns the model of n clients that follow M chains with the given π and λ [M]. n/M clients with
// neighbouring numbers follow the same chain. newChains keeps pi and lambda. name is the word for a chain in errors.
func newChains(n int, seed uint32, pi, lambda []float64, name string) (Model, error) {
	for m := range pi {
		if err := feasible(pi[m], lambda[m]); err != nil {
			return nil, fmt.Errorf("%s %d: %w", name, m, err)
		}
	}
	key := rng.Key{Seed: seed, Purpose: rng.Availability}
	of := make([]int, n)
	for i := range of {
		of[i] = i / (n / len(pi))
	}
	return &chained{&chains{key: key, pi: pi, lambda: lambda, words: (len(pi) + 63) / 64}, of}, nil
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

func (c *chains) active(t, m int) bool {
	for c.rounds <= t {
		c.extend()
	}
	return c.bit(t, m)
}

// bit returns the state of chain m in round t, which must be computed already.
func (c *chains) bit(t, m int) bool { return c.bits[t*c.words+m/64]>>(m%64)&1 == 1 }

func (c *chains) extend() {
	t := c.rounds
	c.bits = append(c.bits, make([]uint64, c.words)...)
	for m, pi := range c.pi {
		p := pi
		if t > 0 {
			p = (1 - c.lambda[m]) * pi
			if c.bit(t-1, m) {
				p += c.lambda[m]
			}
		}
		if c.key.Stream(t+1, m, 0).Float64() < p {
			c.bits[t*c.words+m/64] |= 1 << (m % 64)
		}
	}
	c.rounds++
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
