package algos

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/rng"
	"rollcall/internal/must"
)

// scratch is Algorithm 1's get as it is printed, on q, with ε(q) from (18)–(20) over all clients at every step.
func scratch(q, alpha, gap, pi []float64, order []int, bias, tau float64) []float64 {
	epsilon := func(q []float64) float64 {
		sum := 0.0
		for h := range q {
			sum += pi[h] * q[h]
		}
		cost, distance := 0.0, 0.0
		for k := range q {
			p := pi[k] * q[k] / sum
			cost += gap[k] * p
			distance += math.Abs(alpha[k]-p) / 2
		}
		return cost + bias*distance*distance
	}
	least := epsilon(q)
	for _, k := range order {
		next := slices.Clone(q)
		next[k] = 0
		if slices.Max(next) == 0 {
			break
		}
		if e := epsilon(next); least-e >= tau {
			q, least = next, e
		}
	}
	return q
}

// population draws what exclusion works on: random α (or equal ones), π, λ, and gaps of which a share is 0.
func population(n int, seed uint32, equal bool, zeros float64) (alpha, gap, pi, lambda []float64) {
	s := rng.Key{Seed: seed, Purpose: rng.Sampling}.Stream(n, 0, 0)
	alpha, gap, pi, lambda = equalWeights(n), make([]float64, n), make([]float64, n), make([]float64, n)
	if !equal {
		dirichlet(s, 1, alpha)
	}
	for i := range n {
		pi[i], lambda[i] = 0.05+0.9*s.Float64(), 2*s.Float64()-1
		if u, v := s.Float64(), s.Float64(); u >= zeros {
			gap[i] = v * v * v
		}
	}
	return alpha, gap, pi, lambda
}

// dirichlet fills p with a draw from the symmetric Dirichlet distribution.
func dirichlet(s *rng.Stream, alpha float64, p []float64) {
	for i := range p {
		p[i] = s.LogGamma(alpha)
	}
	top, sum := slices.Max(p), 0.0
	for i := range p {
		p[i] = math.Exp(p[i] - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
}

// everybody returns n times true.
func everybody(n int) []bool { return slices.Repeat([]bool{true}, n) }

// One addition per client and a fresh sum per step come to the same decisions.
func TestExclusionAgainstScratch(t *testing.T) {
	excluded, kept := 0, 0
	for seed := range uint32(40) {
		for _, n := range []int{8, 13, 50, 100, 200} {
			for _, kappaBar2 := range []float64{0, 0.01, 0.1, 0.25, 1, 10} {
				equal, zeros, tau := seed%2 == 0, 0.3*float64(seed%3), 0.0
				if seed%5 == 0 {
					tau = 1e-3
				}
				alpha, gap, pi, lambda := population(n, seed, equal, zeros)
				bias := 4 * kappaBar2 * slices.Max(gap)
				q := make([]float64, n)
				for i := range q {
					q[i] = alpha[i] / pi[i]
				}
				q = scratch(q, alpha, gap, pi, byCorrelation(lambda), bias, tau)
				q = scratch(q, alpha, gap, pi, byAvailability(pi), bias, tau)
				e := newExclusion(alpha, gap, everybody(n), bias, tau)
				e.pass(byCorrelation(lambda))
				e.pass(byAvailability(pi))
				for i, in := range e.in {
					if in != (q[i] > 0) {
						t.Errorf("N=%d seed=%d κ̄²=%g τ=%g: client %d of gap %g is in: %t, want %t",
							n, seed, kappaBar2, tau, i, gap[i], in, q[i] > 0)
					}
					if in {
						kept++
					} else {
						excluded++
					}
				}
			}
		}
	}
	if total := excluded + kept; excluded < total/10 || kept < total/10 {
		t.Errorf("%d excluded and %d kept, want a tenth of either at least: the test is of no use", excluded, kept)
	}
}

// Ties go: with τ = 0 and without a bias term clients without a gap are all alike, and one stays, the last in order.
func TestExclusionTies(t *testing.T) {
	e := newExclusion(equalWeights(5), []float64{0, 0.3, 0, 0.1, 0}, everybody(5), 0, 0)
	e.pass([]int{0, 1, 2, 3, 4})
	if want := []bool{true, false, true, false, false}; !slices.Equal(e.in, want) {
		t.Errorf("first pass: in %v, want %v: 0 and 2 would have raised ε when tried, at 4 it was 0 already",
			e.in, want)
	}
	e.pass([]int{4, 2, 0, 1, 3})
	if want := []bool{true, false, false, false, false}; !slices.Equal(e.in, want) {
		t.Errorf("second pass: in %v, want %v", e.in, want)
	}
}

// Clients with gaps of every size come and go without a trace: those
// without one, all alike, are then taken out down to the last.
func TestExclusionLeavesNoResidue(t *testing.T) {
	const n = 3000
	for seed := range uint32(5) {
		alpha, gap, _, _ := population(n, seed, false, 0.5)
		s := rng.Key{Seed: seed, Purpose: rng.Sampling}.Stream(0, 0, 0)
		for i := range gap {
			gap[i] *= math.Exp(4 * s.Normal()) // over some 12 decades
		}
		e := newExclusion(alpha, gap, everybody(n), 0, 0)
		e.pass(ordered(gap, func(v float64) float64 { return -v })) // the largest never lowers the mean
		if last := slices.Index(e.in, true); e.left != 1 || last < 0 || gap[last] != 0 ||
			slices.Contains(e.in[last+1:], true) {
			t.Errorf("seed %d: %d left, client %d among them, want one without a gap", seed, e.left, last)
		}
	}
}

// ca-fed goes by |λ| first and by π then, on F̂ − F̂* and q = α/π.
func TestCAFedExcludes(t *testing.T) {
	orders := map[bool]bool{} // whether the other order would have come to the same
	for seed := range uint32(30) {
		const n = 40
		alpha, gap, pi, lambda := population(n, seed, false, 0.3)
		f, _ := toyFederation(make([]float64, n)...)
		f.Importance, f.P, f.Lambda = alpha, pi, lambda
		m := inside(start(t, "ca-fed", f, withValues(Paper, "kappa", "0.1")))
		for i := range gap {
			m.best[i] = float64(i)
			m.loss[i] = m.best[i] + gap[i]
			gap[i] = m.loss[i] - m.best[i] // as rounded
		}
		start := must.Get(m.unbiased(nil))(t)
		got, bias := slices.Clone(start), 0.4*slices.Max(gap)
		m.exclude(got)
		want := scratch(start, alpha, gap, pi, byCorrelation(lambda), bias, 0)
		want = scratch(want, alpha, gap, pi, byAvailability(pi), bias, 0)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: q %v, want %v", seed, got, want)
		}
		other := scratch(start, alpha, gap, pi, byAvailability(pi), bias, 0)
		other = scratch(other, alpha, gap, pi, byCorrelation(lambda), bias, 0)
		orders[slices.Equal(other, want)] = true
	}
	if !orders[false] {
		t.Error("the orders never matter: the test is of no use")
	}
}

func TestOrders(t *testing.T) {
	lambda := []float64{0.1, -0.9, 0.5, 0.9, -0.1}
	if got, want := byCorrelation(lambda), []int{1, 3, 2, 0, 4}; !slices.Equal(got, want) {
		t.Errorf("by |λ| descending: %v, want %v", got, want)
	}
	if got, want := byAvailability([]float64{0.9, 0.1, 0.5, 0.1}), []int{1, 3, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("by π ascending: %v, want %v", got, want)
	}
}

// serverStep returns what ca-fed's server does in a round beside
// the engine's work, for n clients of whom half are active.
func serverStep(tb testing.TB, n int, kappaBar2 float64) func() {
	tb.Helper()
	alpha, gap, pi, lambda := population(n, 1, true, 0.2)
	f, _ := toyFederation(make([]float64, n)...)
	f.Importance, f.P, f.Lambda = alpha, pi, lambda
	o := withValues(Paper, "kappa", fmt.Sprint(kappaBar2), "prior", "10")
	started := must.Get(New("ca-fed", f, []float32{0, 0}, o))(tb)
	m := inside(started)
	copy(m.loss, gap) // above F̂* = 0
	var active []int
	for i := 0; i < n; i += 2 {
		active = append(active, i)
	}
	return func() {
		m.availability.Observe(active)
		q := must.Get(m.unbiased(active))(tb)
		m.exclude(q)
	}
}

func BenchmarkServerStep(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			step := serverStep(b, n, 0.01)
			for b.Loop() {
				step()
			}
		})
	}
}
