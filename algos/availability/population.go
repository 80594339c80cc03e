package availability

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// population is a model whose clients join the federation, leave it, or take turns in it: outside of their time they
// have p_i^t = 0. Within it they are as in the model that it is made of.
//
// [Options].Population is one of:
//
//	arrival:a:b    in an order drawn by the seed, client k of 0 … N−1 joins in round ⌊T(a+(b−a)k/N)⌋, and stays
//	departure:a:b  in that order, client k is in the federation from the start, and leaves in that round for ever
//	window:c:o:I   the federation is c clients with neighbouring numbers, client 0 the first; every I rounds they move
//	               by c − o, and client 0 follows client N−1
//
// T is the number of rounds of the run, so that a run with other rounds has other rounds of joining.
type population struct {
	Model
	belongs func(t, i int) bool
	clients int // N
	rounds  int // T
}

// changing returns a model with the population of o.
func changing(m Model, o *Options) (Model, error) {
	n := len(o.Base)
	p := &population{Model: m, clients: n, rounds: o.Rounds}
	if o.Rounds < 1 || o.Rounds > math.MaxInt32 {
		return nil, errors.New("population: without the rounds of the run, want them")
	}
	kind, text, _ := strings.Cut(o.Population, ":")
	var err error
	switch kind {
	case "arrival", "departure":
		p.belongs, err = o.moves(kind, text)
	case "window":
		p.belongs, err = window(text, n)
	default:
		err = errors.New("want arrival:a:b, departure:a:b or window:c:o:I")
	}
	if err != nil {
		return nil, fmt.Errorf("population %q: %w", o.Population, err)
	}
	return p, nil
}

// moves returns who belongs to a federation of which the clients join, or which they leave, one after the other.
// Stream (0, 0, 8) of [rng.Availability] shuffles them.
func (o *Options) moves(kind, text string) (belongs func(t, i int) bool, err error) {
	a, b, ok := strings.Cut(text, ":")
	from, errFrom := strconv.ParseFloat(a, 64)
	to, errTo := strconv.ParseFloat(b, 64)
	if !ok || errors.Join(errFrom, errTo) != nil || !(0 <= from && from <= to && to <= 1) {
		return nil, fmt.Errorf("want %s:a:b, shares of the run with 0 ≤ a ≤ b ≤ 1", kind)
	}
	n := len(o.Base)
	order := inOrder(n)
	drawsOf(o.Seed).Stream(0, 0, 8).Shuffle(order)
	round := make([]int, n) // [N] in which the client moves
	for k, i := range order {
		// What is a whole number but for float64's rounding is that number: 0.1·30 is 3.
		round[i] = int(math.Floor(float64(o.Rounds)*(from+(to-from)*float64(k)/float64(n)) + 1e-9))
	}
	if kind == "departure" {
		return func(t, i int) bool { return t < round[i] }, nil
	}
	return func(t, i int) bool { return t >= round[i] }, nil
}

// window returns who of n clients belongs to a window that moves.
func window(text string, n int) (belongs func(t, i int) bool, err error) {
	var of [3]int // size, overlap, rounds between moves
	parts := strings.Split(text, ":")
	for k := range of {
		if len(parts) == len(of) && err == nil {
			of[k], err = strconv.Atoi(parts[k])
		}
	}
	size, overlap, every := of[0], of[1], of[2]
	if err != nil || size < 1 || size > n || overlap < 0 || overlap >= size || every < 1 || every > math.MaxInt32 {
		return nil, fmt.Errorf(
			"want window:c:o:I, c of the %d clients, of which o < c stay, moved every I ≥ 1 rounds", n)
	}
	return func(t, i int) bool {
		first := t / every % n * ((size - overlap) % n) % n
		return (i+n-first)%n < size
	}, nil
}

func (p *population) Probabilities(t int, to []float64) {
	p.Model.Probabilities(t, to)
	for i := range to {
		if !p.belongs(t, i) {
			to[i] = 0
		}
	}
}

func (p *population) Active(t int) []int {
	return slices.DeleteFunc(slices.Clone(p.Model.Active(t)), func(i int) bool { return !p.belongs(t, i) })
}

// Stationary returns the mean of p_i^t over the rounds of the run, and the model's λ_i, of the time in which a client
// belongs to the federation; 0 for a client that never does.
func (p *population) Stationary() (pi, lambda []float64) {
	pi = mean(p, p.clients, p.rounds)
	_, lambda = p.Model.Stationary()
	for i := range pi {
		if pi[i] == 0 {
			lambda[i] = 0
		}
	}
	return pi, lambda
}
