package fit

import "math"

// Interval is an estimate with its 95 % interval. Value is NaN if the record says nothing of it, and Low and High are
// NaN if no interval is given.
type Interval struct{ Value, Low, High float64 }

// Given reports whether there is an interval.
func (v Interval) Given() bool { return !math.IsNaN(v.Low) }

// FewestChanges is how often a client must come or go for its intervals to be given. They hold at 95 ± 3 % where eight
// changes or more are expected, T·2π(1−π)(1−λ) ≥ 8; TestCoverage measures it from ten on. Where six are, some hold 92 %
// of the clients to whom they are given, and where three are, that of λ as few as 79 %.
const FewestChanges = 4

// Chain is the chain of two states fitted to the rounds of a client. For a client that never changes, π is 0 or 1 and λ
// is 0, without intervals.
type Chain struct {
	Rounds, Active, Changes int // rounds; those in which the client is active; how often it comes or goes

	Pi         Interval // π, the share of rounds in which the client is active
	Lambda     Interval // λ = P(active | active) + P(inactive | inactive) − 1, 0 if it cannot be known
	ToActive   Interval // P(active | inactive)
	ToInactive Interval // P(inactive | active)
}

// Feasible returns the π and λ of a chain that exists: λ ≥ max(1 − 1/π, 1 − 1/(1−π)) and λ < 1. The two estimates need
// not have one, as π counts all rounds, and λ those alone that a round follows.
func (c *Chain) Feasible() (pi, lambda float64) {
	pi, lambda = c.Pi.Value, c.Lambda.Value
	if pi > 0 && pi < 1 {
		lambda = min(max(lambda, 1-1/pi, 1-1/(1-pi)), math.Nextafter(1, 0))
	}
	return pi, lambda
}

// chainOf fits a chain.
//
// π is the share of active rounds, and the transition probabilities are the shares of the transitions (T. W. Anderson,
// L. A. Goodman: Statistical Inference about Markov Chains, Annals of Mathematical Statistics 28, 1957). The intervals
// are those of the profile likelihood: all values at which twice the logarithm of the likelihood, maximal over the
// other parameter, is at most the 95 % quantile of χ² with one degree of freedom below its maximum. A third
// of a count is added to each of the four transitions, as by the neutral prior of a binomial (J. Kerman: Neutral
// Noninformative and Informative Conjugate Beta and Gamma Prior Distributions, Electronic Journal of Statistics 5,
// 2011). Without it the intervals of λ hold 92 % to 98 % of clients even in some records of a thousand rounds, and with
// Jeffreys's half a count that of P(inactive | active) holds 91 % where the client hardly ever stays.
func chainOf(c *counts) Chain {
	none := Interval{math.NaN(), math.NaN(), math.NaN()}
	pi, lambda := estimates(c)
	f := Chain{
		Rounds: c.rounds, Active: c.active, Changes: int(c.changes()),
		Pi: Interval{pi, math.NaN(), math.NaN()}, Lambda: Interval{lambda, math.NaN(), math.NaN()},
		ToActive: none, ToInactive: none,
	}
	if c.from(0) > 0 {
		f.ToActive.Value = c.n[0][1] / c.from(0)
	}
	if c.from(1) > 0 {
		f.ToInactive.Value = c.n[1][0] / c.from(1)
	}
	if f.Changes < FewestChanges {
		return f
	}
	m := c.n
	for i := range m {
		for j := range m[i] {
			m[i][j] += 1.0 / 3
		}
	}
	a, b := m[0][1]/(m[0][0]+m[0][1]), m[1][0]/(m[1][0]+m[1][1])
	best := likelihood(&m, a, b)
	f.Pi.between(logistic, logit(a/(a+b)), -40, 40, best, func(x float64) float64 { return profilePi(&m, x) })
	f.Lambda.between(identity, 1-a-b, -1, 1, best, func(x float64) float64 { return profileLambda(&m, x) })
	f.ToActive.between(logistic, logit(a), -40, 40, best, func(x float64) float64 { return likelihood(&m, x, b) })
	f.ToInactive.between(logistic, logit(b), -40, 40, best, func(x float64) float64 { return likelihood(&m, a, x) })
	return f
}

// estimates returns π and λ. Both counts of transitions are above 0 only for a client that changes.
func estimates(c *counts) (pi, lambda float64) {
	if c.from(0) > 0 && c.from(1) > 0 {
		lambda = 1 - c.n[0][1]/c.from(0) - c.n[1][0]/c.from(1)
	}
	return float64(c.active) / float64(c.rounds), lambda
}

// quantile is the 95 % quantile of χ² with one degree of freedom.
const quantile = 3.841458820694124

// between sets the interval to scale(x) of the lowest and the highest x in [low, high] at which the profile is near
// enough to its maximum, best, at the x of peak. The interval holds the estimate: with few rounds it could miss the
// share of active rounds by a rounding.
func (v *Interval) between(scale func(float64) float64, peak, low, high, best float64, profile func(float64) float64) {
	end := func(out float64) float64 {
		in := peak
		for range 40 {
			x := (in + out) / 2
			if 2*(best-profile(scale(x))) <= quantile {
				in = x
			} else {
				out = x
			}
		}
		return scale(in)
	}
	v.Low, v.High = min(end(low), v.Value), max(end(high), v.Value)
}

func identity(x float64) float64 { return x }
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func logit(p float64) float64    { return math.Log(p / (1 - p)) }

// likelihood returns the logarithm of the likelihood of the transitions m given the first round, for the transition
// probabilities a = P(active | inactive) and b = P(inactive | active).
func likelihood(m *[2][2]float64, a, b float64) float64 {
	return m[0][1]*math.Log(a) + m[0][0]*math.Log(1-a) + m[1][0]*math.Log(b) + m[1][1]*math.Log(1-b)
}

// profilePi returns the largest likelihood at a π. With s = 1 − λ the transition probabilities are sπ and s(1−π); the
// derivative by s is 0 at the smaller root of π(1−π)(m01+m10+m00+m11)s² − (m01+m10 + m00·π + m11·(1−π))s + m01+m10.
func profilePi(m *[2][2]float64, pi float64) float64 {
	changes := m[0][1] + m[1][0]
	square, line := pi*(1-pi)*(changes+m[0][0]+m[1][1]), changes+m[0][0]*pi+m[1][1]*(1-pi)
	s := 2 * changes / (line + math.Sqrt(max(0, line*line-4*square*changes)))
	return likelihood(m, s*pi, s*(1-pi))
}

// profileLambda returns the largest likelihood at a λ, which is a concave function of a with b = 1 − λ − a.
func profileLambda(m *[2][2]float64, lambda float64) float64 {
	s := 1 - lambda
	low, high := max(0, s-1), min(1, s)
	a := (low + high) / 2
	for range 60 {
		b := s - a
		slope := m[0][1]/a - m[0][0]/(1-a) - m[1][0]/b + m[1][1]/(1-b)
		if slope > 0 {
			low = a
		} else {
			high = a
		}
		// A step of Newton's, or to the middle where it leaves the bracket.
		curve := m[0][1]/(a*a) + m[0][0]/((1-a)*(1-a)) + m[1][0]/(b*b) + m[1][1]/((1-b)*(1-b))
		next := a + slope/curve
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-a) <= 1e-12*s {
			break
		}
		a = next
	}
	return likelihood(m, a, s-a)
}
