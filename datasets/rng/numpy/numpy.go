// Package numpy draws the numbers of numpy.random, for runs that reproduce the split and the activity of released code.
package numpy

import (
	"math"

	"gonum.org/v1/gonum/mathext/prng"
)

// Random draws the same numbers as numpy.random after numpy.random.seed(seed). It has the Mersenne Twister MT19937
// (Matsumoto and Nishimura 1998) and NumPy's legacy distributions, which NumPy keeps frozen. The released code of the
// papers draws from numpy.random, so a run can reproduce its exact split and activity. In contrast to a stream of
// package rng, every draw depends on all draws before it.
type Random struct {
	words prng.MT19937
	spare *float64 // the second normal number of a pair
}

// New returns the generator after numpy.random.seed(seed).
func New(seed uint32) *Random {
	r := &Random{}
	r.words.Seed(uint64(seed))
	return r
}

// Clone returns a generator that draws the same numbers from here on.
func (r *Random) Clone() *Random {
	clone := *r
	return &clone
}

// Float64 returns the number of numpy.random.random, in [0, 1) with 53 bits.
func (r *Random) Float64() float64 {
	a, b := r.words.Uint32()>>5, r.words.Uint32()>>6
	return (float64(a)*67108864 + float64(b)) / 9007199254740992
}

// exponential returns the number of numpy.random.standard_exponential.
func (r *Random) exponential() float64 { return -math.Log(1 - r.Float64()) }

// normal returns the number of numpy.random.standard_normal. The polar method draws pairs, and the next call returns
// the second number.
func (r *Random) normal() float64 {
	if r.spare != nil {
		x := *r.spare
		r.spare = nil
		return x
	}
	for {
		x, y := 2*r.Float64()-1, 2*r.Float64()-1
		if s := x*x + y*y; s < 1 && s != 0 {
			f := math.Sqrt(-2 * math.Log(s) / s)
			x *= f
			r.spare = &x
			return f * y
		}
	}
}

// Dirichlet fills p with the shares of numpy.random.dirichlet for a symmetric alpha, which must be positive. With a
// very small alpha all draws may underflow to 0; then p becomes NaN, as in NumPy.
func (r *Random) Dirichlet(alpha float64, p []float64) {
	sum := 0.0
	for i := range p {
		p[i] = r.gamma(alpha)
		sum += p[i]
	}
	scale := 1 / sum
	for i := range p {
		p[i] *= scale
	}
}

// gamma returns the number of numpy.random.standard_gamma.
func (r *Random) gamma(shape float64) float64 {
	// NumPy has three cases; for a shape above 1 it uses the method of Marsaglia and Tsang (2000).
	switch {
	case shape == 1:
		return r.exponential()
	case shape < 1:
		for {
			u, v := r.Float64(), r.exponential()
			if u <= 1-shape {
				if x := math.Pow(u, 1/shape); x <= v {
					return x
				}
				continue
			}
			y := -math.Log((1 - u) / shape)
			if x := math.Pow(1-shape+shape*y, 1/shape); x <= v+y {
				return x
			}
		}
	}
	b := shape - 1.0/3
	c := 1 / math.Sqrt(9*b)
	for {
		x, v := 0.0, 0.0
		for v <= 0 {
			x = r.normal()
			v = 1 + c*x
		}
		v = v * v * v
		u := r.Float64()
		if u < 1-0.0331*(x*x)*(x*x) || math.Log(u) < 0.5*x*x+b*(1-v+math.Log(v)) {
			return b * v
		}
	}
}

// Bernoulli returns numpy.random.binomial(1, p) == 1, for p in [0, 1]. It draws a number for p = 0 and p = 1 too.
func (r *Random) Bernoulli(p float64) bool {
	if p <= 0.5 {
		return r.inversion(p)
	}
	return !r.inversion(1 - p)
}

// inversion returns NumPy's binomial number by inversion, for one trial and p ≤ 0.5. NumPy's bound on the result is 1
// or more, so it needs no check here.
func (r *Random) inversion(p float64) bool {
	q := 1 - p
	none := math.Exp(math.Log(q)) // q^n with n = 1, rounded as in NumPy
	u := r.Float64()
	if u <= none {
		return false
	}
	// NumPy subtracts the probability of each result in turn. Beyond 1 it starts again with a new number.
	one := p * none / q
	for u -= none; u > one; u -= none {
		if u = r.Float64(); u <= none {
			return false
		}
	}
	return true
}
