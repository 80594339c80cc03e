package algos

import (
	"cmp"
	"math"
	"slices"
)

// exclusion is the function get of Algorithm 1 with its ε(q) (CA-Fed, ToN, (20)). For every client it tries, the
// algorithm adds over all N clients; here one addition per client is enough.
//
//	ε(q) = ⟨F̂−F̂*, π̂⊙̃q⟩ + bias · d_TV²(α, π̂⊙̃q),  bias = 4κ̄²·Γ̂′ or bias_const·Γ̂′
//
// q is α/π̂ for the clients that are in, and 0 for the others. So π̂⊙̃q is α restricted to the clients that are in,
// divided by S = Σ_in α. Hence
//
//	⟨F̂−F̂*, π̂⊙̃q⟩ = G/S with G = Σ_in α_i (F̂_i − F̂*_i)
//	d_TV = ½ (Σ_out α + Σ_in |α − α/S|) = ½ (Σα − S + |1 − S|)
//
// Without client i, which has importance α_i and gap f_i, ε is smaller by
//
//	α_i (f_i S − G)/(S (S − α_i)) + bias · (d_TV² − d_TV⁺²)
//
// where d_TV⁺ is the distance without client i. The sign of this expression is right even for clients of very small
// weight, for which the difference of two rounded ε would be lost in rounding errors.
type exclusion struct {
	alpha, gap []float64 // [N] α_i and F̂_i − F̂*_i
	bias, tau  float64
	in         []bool  // [N] the clients that are in: at the start, those with q_i > 0
	left       int     // how many clients are in
	costly     int     // how many of them have a gap other than 0; if none has, G is exactly 0
	total      float64 // Σα
	s, g       exactSum
}

// newExclusion starts with the clients in [N]. It keeps the slice, and pass changes it.
func newExclusion(alpha, gap []float64, in []bool, bias, tau float64) *exclusion {
	e := &exclusion{alpha: alpha, gap: gap, bias: bias, tau: tau, in: in}
	for i, here := range in {
		e.total += alpha[i]
		if here {
			e.move(i, 1)
		}
	}
	return e
}

// move takes client i in (1) or out (−1).
func (e *exclusion) move(i, sign int) {
	e.left += sign
	e.s.add(float64(sign) * e.alpha[i])
	if e.gap[i] != 0 {
		e.costly += sign
		e.g.add(float64(sign) * (e.alpha[i] * e.gap[i]))
	}
}

// gain returns ε(q) − ε(q⁺), the amount by which ε is smaller without client i.
func (e *exclusion) gain(i int) float64 {
	rest := e.s
	rest.add(-e.alpha[i])
	s, next, g := e.s.value(), rest.value(), 0.0
	if e.costly > 0 {
		g = e.g.value()
	}
	d, dNext := e.distance(s), e.distance(next)
	return e.alpha[i]*(e.gap[i]*s-g)/(s*next) + e.bias*(d-dNext)*(d+dNext)
}

// distance returns d_TV for Σ_in α = s.
func (e *exclusion) distance(s float64) float64 { return (e.total - s + math.Abs(1-s)) / 2 }

// pass tries the clients in the given order, and excludes a client if ε is then smaller by at least τ (lines 14–21). It
// keeps the last client, since ε of no clients is undefined.
func (e *exclusion) pass(order []int) {
	for _, i := range order {
		if e.left == 1 {
			return
		}
		if e.in[i] && e.gain(i) >= e.tau {
			e.in[i] = false
			e.move(i, -1)
		}
	}
}

// exactSum adds with twice the precision of float64 (Knuth's two-sum), so that subtracting thousands of terms again
// gives the same as a fresh sum over the others.
type exactSum struct{ high, low float64 }

// add adds v: high becomes the rounded sum, low collects the rounding errors.
func (s *exactSum) add(v float64) {
	sum := s.high + v
	part := sum - s.high
	s.low += (s.high - (sum - part)) + (v - part)
	s.high = sum
}

func (s *exactSum) value() float64 { return s.high + s.low }

// byCorrelation returns the clients by |λ̂|, descending; of equals, the client with the smaller number comes first.
func byCorrelation(lambda []float64) []int {
	return ordered(lambda, func(l float64) float64 { return -math.Abs(l) })
}

// byAvailability returns the clients by π̂, ascending; of equals, the client with the smaller number comes first.
func byAvailability(pi []float64) []int {
	return ordered(pi, func(p float64) float64 { return p })
}

// ordered returns the indices of x, sorted by the key of their elements, ascending and stable.
func ordered(x []float64, key func(float64) float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(key(x[i]), key(x[j])) })
	return order
}
