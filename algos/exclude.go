package algos

import (
	"cmp"
	"math"
	"slices"
)

// exclusion is Algorithm 1's function get with its ε(q) (CA-Fed, ToN, (20)), in one addition per client in place of N.
//
//	ε(q) = ⟨F̂−F̂*, π̂⊙̃q⟩ + bias · d_TV²(α, π̂⊙̃q),  bias = 4κ̄²·Γ̂′ or bias_const·Γ̂′
//
// q is α/π̂ for the clients that are in and 0 for the others, so
// π̂⊙̃q is α restricted to them and divided by S = Σ_in α. Hence
//
//	⟨F̂−F̂*, π̂⊙̃q⟩ = G/S with G = Σ_in α_i (F̂_i − F̂*_i)
//	d_TV = ½ (Σ_out α + Σ_in |α − α/S|) = ½ (Σα − S + |1 − S|)
//
// and without client i, of α_i and the gap f_i, ε is smaller by
//
//	α_i (f_i S − G)/(S (S − α_i)) + bias · (d_TV² − d_TV⁺²)
//
// which keeps its sign where the difference of two rounded ε would not: clients that weigh little are tried as well.
type exclusion struct {
	alpha, gap []float64 // [N] α_i and F̂_i − F̂*_i
	bias, tau  float64
	in         []bool  // [N] q_i > 0; all clients with q_i > 0 at the start
	left       int     // of them
	costly     int     // of them with a gap: without any, G is 0 and not a rounding error
	total      float64 // Σα
	s, g       exactSum
}

// newExclusion starts with the clients in [N], which it goes on to change.
func newExclusion(alpha, gap []float64, in []bool, bias, tau float64) *exclusion {
	x := &exclusion{alpha: alpha, gap: gap, bias: bias, tau: tau, in: in}
	for i, here := range in {
		x.total += alpha[i]
		if here {
			x.move(i, 1)
		}
	}
	return x
}

// move takes client i in (1) or out (−1).
func (x *exclusion) move(i, sign int) {
	x.left += sign
	x.s.add(float64(sign) * x.alpha[i])
	if x.gap[i] != 0 {
		x.costly += sign
		x.g.add(float64(sign) * (x.alpha[i] * x.gap[i]))
	}
}

// gain returns ε(q) − ε(q⁺), by how much ε is smaller without client i.
func (x *exclusion) gain(i int) float64 {
	rest := x.s
	rest.add(-x.alpha[i])
	s, next, g := x.s.value(), rest.value(), 0.0
	if x.costly > 0 {
		g = x.g.value()
	}
	d, dNext := x.distance(s), x.distance(next)
	return x.alpha[i]*(x.gap[i]*s-g)/(s*next) + x.bias*(d-dNext)*(d+dNext)
}

// distance returns d_TV at Σ_in α = s.
func (x *exclusion) distance(s float64) float64 { return (x.total - s + math.Abs(1-s)) / 2 }

// pass tries the clients in the given order, and leaves out those without whom ε is smaller by at least τ: lines 14–21.
// The last client stays, since ε has no value without it.
func (x *exclusion) pass(order []int) {
	for _, i := range order {
		if x.left == 1 {
			return
		}
		if x.in[i] && x.gain(i) >= x.tau {
			x.in[i] = false
			x.move(i, -1)
		}
	}
}

// exactSum adds with twice the precision of float64 (Knuth's two-sum), so that thousands of terms taken out again leave
// what a fresh sum would give.
type exactSum struct{ high, low float64 }

func (x *exactSum) add(v float64) {
	sum := x.high + v
	part := sum - x.high
	x.low += (x.high - (sum - part)) + (v - part)
	x.high = sum
}

func (x *exactSum) value() float64 { return x.high + x.low }

// byCorrelation returns the clients by |λ̂| descending, byAvailability
// by π̂ ascending; the smaller number goes first in a tie.
func byCorrelation(lambda []float64) []int {
	return ordered(lambda, func(l float64) float64 { return -math.Abs(l) })
}

func byAvailability(pi []float64) []int {
	return ordered(pi, func(p float64) float64 { return p })
}

// ordered returns the places of x in ascending order of their key.
func ordered(x []float64, key func(float64) float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(key(x[i]), key(x[j])) })
	return order
}
