package availability

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	recorded "rollcall/algos/availability/trace"
)

// replay is the trace model: who is active is what the file says, or is drawn with the probabilities that it has. After
// its last round nobody is active, unless the trace repeats.
type replay struct {
	of     *recorded.Trace
	n      int
	seed   uint32
	seen   int  // the rounds of the trace that the run sees, at most all
	repeat bool // whether round t is round t mod the trace's length

	block  int       // the 64 rounds that words has; −1: none
	words  []uint64  // [N] see [recorded.Trace.Block]
	pi     []float64 // [N]
	lambda []float64 // [N]
}

// trace: client i is active when the file says so (package trace), without chance. So the p_i^t that a method can
// divide by is the one of the file, if it has probabilities, and else the share of rounds in which the client is
// active, the same in all rounds: 1 in the rounds with the client and 0 in the others would weigh nobody. If the file
// has probabilities alone, who is active is drawn as in [Draw].
func trace(o Options) (Model, error) {
	n := len(o.Base)
	switch {
	case o.Rounds < 1:
		return nil, fmt.Errorf("%d rounds, want at least 1", o.Rounds)
	case o.Trace == nil:
		return nil, errors.New("no trace, want that of a file")
	case o.Draw && len(o.Trace.IDs) >= n:
		o.Trace = o.Trace.Take(sample(n, len(o.Trace.IDs), o.Seed))
	case len(o.Trace.IDs) != n:
		return nil, fmt.Errorf("a trace of %d clients, want %d", len(o.Trace.IDs), n)
	}
	if o.Trace.Rounds == 0 && o.Rounds > math.MaxInt32 {
		return nil, errors.New("a trace without end, want the rounds of the run")
	}
	r := &replay{of: o.Trace, n: n, seed: o.Seed, repeat: o.Repeat, seen: o.Rounds, block: -1, words: make([]uint64, n)}
	if o.Trace.Rounds > 0 {
		r.seen = min(r.seen, o.Trace.Rounds)
	}
	r.pi, r.lambda = r.observed()
	return r, nil
}

// sample returns n of so many devices, ascending: those that stream (0, 0, 11) of [rng.Availability] shuffles to the
// front.
func sample(n, of int, seed uint32) []int32 {
	order := inOrder(of)
	drawsOf(seed).Stream(0, 0, 11).Shuffle(order)
	slices.Sort(order[:n])
	return order[:n]
}

// inOrder returns 0 … n−1.
func inOrder(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

// at returns the round of the trace that is round t of the run; false if there is none.
func (r *replay) at(t int) (round int, ok bool) {
	switch {
	case r.of.Rounds == 0 || t < r.of.Rounds:
		return t, true
	case r.repeat:
		return t % r.of.Rounds, true
	}
	return 0, false
}

// Probabilities sets p to the file's, or to π, whatever the round, if it has none. A client with π_i = 0 is in no round
// that the run sees.
func (r *replay) Probabilities(t int, p []float64) {
	at, ok := r.at(t)
	if !ok && r.known() {
		clear(p)
	} else if !r.of.Probabilities(at, p) {
		copy(p, r.pi)
	}
}

// known reports whether the file has probabilities.
func (r *replay) known() bool { return r.of.Probabilities(0, make([]float64, r.n)) }

func (r *replay) Active(t int) []int {
	at, ok := r.at(t)
	if !ok {
		return []int{}
	}
	if r.of.Drawn {
		p := make([]float64, r.n)
		r.of.Probabilities(at, p)
		return Draw(p, r.seed, t)
	}
	r.load(at / 64)
	active := make([]int, 0, r.n)
	for i, word := range r.words {
		if word>>(at%64)&1 == 1 {
			active = append(active, i)
		}
	}
	return active
}

func (r *replay) load(block int) {
	if block != r.block {
		r.of.Block(block, r.words)
		r.block = block
	}
}

// Stationary returns the file's π and λ, if it has them, or the averages over the rounds of the trace that the run
// sees, from round 0: the mean of the probabilities or the share of active rounds, and λ = P(active | active) +
// P(inactive | inactive) − 1 from the counts of transitions. λ is 0 for a client that is in one state only before its
// last round, and of rounds that are drawn. If a trace repeats that the run sees whole, its first round follows its
// last. Rounds after the end of a trace that does not repeat do not count: nobody is active who could be weighed.
func (r *replay) Stationary() (pi, lambda []float64) {
	return slices.Clone(r.pi), slices.Clone(r.lambda)
}

func (r *replay) observed() (pi, lambda []float64) {
	pi, lambda = make([]float64, r.n), make([]float64, r.n)
	if !r.of.Drawn {
		pi, lambda = r.counted()
	}
	if r.known() {
		pi = mean(r, r.n, r.seen)
	}
	if r.of.Pi != nil {
		pi = r.of.Pi
	}
	if r.of.Lambda != nil {
		lambda = r.of.Lambda
	}
	return pi, lambda
}

// counted returns the share of active rounds, and λ from the counts of transitions.
func (r *replay) counted() (pi, lambda []float64) {
	type count struct {
		active, starts, ends int // active rounds, transitions to active, transitions to inactive
		first, last          uint64
	}
	of := make([]count, r.n)
	for from := 0; from < r.seen; from += 64 {
		rounds := min(64, r.seen-from)
		mask := ^uint64(0) >> (64 - rounds)
		r.load(from / 64)
		for i, word := range r.words {
			word &= mask
			c := &of[i]
			if from == 0 {
				c.first, c.last = word&1, word&1
			}
			before := word<<1 | c.last
			c.active += bits.OnesCount64(word)
			c.starts += bits.OnesCount64(word &^ before & mask)
			c.ends += bits.OnesCount64(before &^ word & mask)
			c.last = word >> (rounds - 1)
		}
	}
	repeats := r.repeat && r.seen == r.of.Rounds
	for _, c := range of {
		pi = append(pi, float64(c.active)/float64(r.seen))
		fromActive, fromInactive := c.active, r.seen-c.active // rounds of each state that a round follows
		switch {
		case repeats && c.last > c.first:
			c.ends++
		case repeats && c.last < c.first:
			c.starts++
		case repeats:
		case c.last == 1:
			fromActive--
		default:
			fromInactive--
		}
		l := 0.0
		if fromActive > 0 && fromInactive > 0 {
			l = 1 - float64(c.ends)/float64(fromActive) - float64(c.starts)/float64(fromInactive)
		}
		lambda = append(lambda, l)
	}
	return pi, lambda
}
