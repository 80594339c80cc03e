package availability

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// cycles is a model whose clients come and go in cycles of the same number of rounds, without chance but for where in
// the cycle they are in round 0.
type cycles struct {
	rounds int   // rounds per cycle
	there  []int // [N] how many rounds of a cycle the client is active, which follow each other
	offset []int // [N] the place in the cycle in round 0; it is active at the places 0 … there−1
}

// Probabilities sets p to π, whatever the round: p_i^t is the probability before the offsets are drawn.
func (c *cycles) Probabilities(_ int, p []float64) {
	for i, there := range c.there {
		p[i] = float64(there) / float64(c.rounds)
	}
}

func (c *cycles) Active(t int) []int {
	t %= c.rounds
	return clientsWho(len(c.there), func(i int) bool {
		place := t + c.offset[i]
		if place >= c.rounds {
			place -= c.rounds
		}
		return place < c.there[i]
	})
}

// Stationary returns λ = 1 − 1/a − 1/(C−a) of a client that is active in a of C rounds, since it goes once in a rounds
// and comes once in C − a; 0 for a client that does neither.
func (c *cycles) Stationary() (pi, lambda []float64) {
	pi, lambda = make([]float64, len(c.there)), make([]float64, len(c.there))
	c.Probabilities(0, pi)
	for i, there := range c.there {
		if there > 0 && there < c.rounds {
			lambda[i] = 1 - 1/float64(there) - 1/float64(c.rounds-there)
		}
	}
	return pi, lambda
}

// cyclic: client i is active in a_i = max(1, round(C·p_i)) rounds in a row of every C rounds (IBM's released code of
// FedAU). Its offset is uniform in 0 … C−1, from stream (0, i, 6) of [rng.Availability]. Halves are rounded up.
func cyclic(o Options) (Model, error) {
	n := len(o.Base)
	c := &cycles{rounds: o.Period, there: make([]int, n), offset: make([]int, n)}
	for i, p := range o.Base {
		c.there[i] = max(1, int(math.Round(float64(o.Period)*p)))
		c.offset[i] = drawsOf(o.Seed).Stream(0, i, 6).IntN(o.Period)
	}
	return c, nil
}

// periodic: G groups of clients with neighbouring numbers are active one after the other, each in on rounds in a row
// (Wang and Ji 2022). The offset is the same for all clients and uniform in 0 … G·on−1, from stream (0, 0, 7) of
// [rng.Availability], so that 1/G is the probability of every round, the first one too. An offset within the first
// group's turn alone, as in some code, would make that group's clients certain in round 0.
func periodic(o Options) (Model, error) {
	n := len(o.Base)
	switch {
	case o.Turns < 1 || o.Turns > n:
		return nil, fmt.Errorf("%d groups of %d clients, want 1 … %d", o.Turns, n, n)
	case o.On < 1:
		return nil, fmt.Errorf("turns of %d rounds, want at least 1", o.On)
	case o.On > math.MaxInt32/o.Turns:
		return nil, errors.New("a cycle of 2^31 rounds or more, want fewer groups or shorter turns")
	}
	rounds := o.Turns * o.On
	c := &cycles{rounds: rounds, there: slices.Repeat([]int{o.On}, n), offset: make([]int, n)}
	first := drawsOf(o.Seed).Stream(0, 0, 7).IntN(rounds)
	for i := range c.offset {
		group := groupOf(i, o.Turns, n)
		c.offset[i] = (first + rounds - group*o.On) % rounds
	}
	return c, nil
}

// groupOf returns the group of client i, if n clients are in groups of neighbouring numbers, as equal as possible.
func groupOf(i, groups, n int) int { return i * groups / n }
