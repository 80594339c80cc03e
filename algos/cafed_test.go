package algos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/rng"
	"rollcall/internal/must"
	"rollcall/nets"
)

// inside returns the caFed behind what New returned.
func inside(m Method) *caFed { return m.(*checked).Method.(stateful).method.(*caFed) }

// F̂ and F̂* by (17) with β = 1/4 and 1. The model stays at 0, where F_i = 12.5 u_i²: 800, 3200 and 12800; client 0's
// loss changes as the test moves its u_0. Tolerance 1e-9: a few roundings of numbers up to 10⁴.
func TestCAFedLossEstimates(t *testing.T) {
	for _, c := range []struct {
		beta             float64
		fstar            string
		u                []float64 // of client 0 in rounds 0 … 3
		loss, best, left float64   // of client 0 after them; left: F̂ of client 2, who is active in round 2 alone
	}{
		{
			0.25, FStarMin,
			[]float64{8, 4, 16, 8},
			0.75*(0.75*(0.75*800+0.25*200)+0.25*3200) + 0.25*800, 650,
			0.75*2000 + 0.25*12800,
		},
		{1, FStarMin, []float64{8, 4, 16, 8}, 800, 200, 12800},
		{1, FStarZero, []float64{8, 4, 16, 8}, 800, 0, 12800},
		{1, FStarSolved, []float64{8, 4, 16, 8}, 800, 7, 12800},
	} {
		t.Run(fmt.Sprintf("beta=%g/%s", c.beta, c.fstar), func(t *testing.T) {
			f, e := toyFederation(8, 16, 32)
			o := withValues(Paper, "ca-fed-beta", fmt.Sprint(c.beta), "fstar", c.fstar)
			o.Solved = []float64{7, 8, 9}
			m := start(t, "ca-fed", f, o)
			for r, u := range c.u {
				e.u[0] = scaled(u)
				round := at(r, f, 1e-30, 0, 1) // w stays at 0 in float32
				if r == 2 {
					round.Active = []int{0, 1, 2}
				}
				must.Get(m.Round(t.Context(), round))(t)
				// In round 0 client 2 is inactive and starts at the mean of 800 and 3200.
				if got := inside(m).loss[2]; r < 2 && math.Abs(got-2000) > 1e-9 {
					t.Errorf("round %d: F̂ of the unseen client %g, want 2000", r, got)
				}
			}
			in := inside(m)
			if math.Abs(in.loss[0]-c.loss) > 1e-9 || math.Abs(in.best[0]-c.best) > 1e-9 ||
				math.Abs(in.loss[2]-c.left) > 1e-9 {
				t.Errorf("F̂_0 %g F̂*_0 %g F̂_2 %g, want %g, %g, %g ± 1e-9",
					in.loss[0], in.best[0], in.loss[2], c.loss, c.best, c.left)
			}
		})
	}
}

// The server asks the active clients alone, at w: on the batch that they then train on, on all their samples, or on the
// samples that they hold out.
func TestCAFedAsksTheActive(t *testing.T) {
	heldOut := &HeldOut{Part: nets.Test, Index: [][]int32{{1000}, {1001}, {1002}, {}, {1004}}}
	for _, c := range []struct {
		name    string
		losses  string
		heldOut *HeldOut
		part    nets.Part
		samples func(i int) []int32 // nil: the first batch
	}{
		{"batch", LossesBatch, nil, nets.Train, nil},
		{"all", LossesAll, nil, nets.Train, func(i int) []int32 { return []int32{int32(2 * i), int32(2*i + 1)} }},
		{
			"all, though some are held out", LossesAll, heldOut, nets.Train,
			func(i int) []int32 { return []int32{int32(2 * i), int32(2*i + 1)} },
		},
		{"held out", LossesHeldOut, heldOut, nets.Test, func(i int) []int32 { return heldOut.Index[i] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, e := toyFederation(8, 16, -8, 0, 3)
			o := with(withValues(Paper, keepAll...), "ca-fed", "losses", c.losses)
			o.HeldOut = c.heldOut
			m := start(t, "ca-fed", f, o)
			for _, r := range trace(f, 30) {
				e.jobs, e.work = nil, nil
				loss := must.Get(m.Round(t.Context(), r))(t)
				jobs := e.jobs
				for k, i := range r.Active {
					if c.samples != nil && len(c.samples(i)) == 0 { // client 3 has nothing held out: no loss, no job
						continue
					}
					if len(jobs) == 0 {
						t.Fatalf("round %d: no job for client %d of %v", r.T, i, r.Active)
					}
					want := e.work[0].Clients[k].Plan.Index[:1]
					if c.samples != nil {
						want = c.samples(i)
					}
					if jobs[0].Part != c.part || !slices.Equal(jobs[0].Index, want) {
						t.Errorf("round %d: client %d is asked about %v of part %d, want %v of %d",
							r.T, i, jobs[0].Index, jobs[0].Part, want, c.part)
					}
					scale := 1.0
					if c.part == nets.Test {
						scale = 10
					}
					// float32
					if got, want := inside(m).loss[i], scale*float64(loss[k]); math.Abs(got-want) > 1e-5*want {
						t.Errorf("round %d: client %d: F̂ %g, want its loss before the round, %g", r.T, i, got, want)
					}
					jobs = jobs[1:]
				}
				if len(jobs) != 0 {
					t.Errorf("round %d: also asked %v, want the active %v alone", r.T, jobs, r.Active)
				}
			}
		})
	}
}

// A loss that is no number is reported as the engine would, and changes nothing.
func TestCAFedDivergedLoss(t *testing.T) {
	f, e := toyFederation(8, 16)
	m := start(t, "ca-fed", f, Options{Preset: Paper})
	e.u[1] = scaled(math.Inf(1))
	_, err := m.Round(t.Context(), at(3, f, 1, 0, 1))
	var diverged *nets.DivergedError
	if !errors.As(err, &diverged) || diverged.Round != 3 || diverged.Client != 1 || len(e.work) != 0 {
		t.Errorf("got %v after %d trainings, want client 1 of round 3 to have diverged, and none", err, len(e.work))
	}
}

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
	if !equal { // by a draw from Dirichlet(1)
		total := 0.0
		for i := range alpha {
			alpha[i] = -math.Log(1 - s.Float64())
			total += alpha[i]
		}
		for i := range alpha {
			alpha[i] /= total
		}
	}
	for i := range n {
		pi[i], lambda[i] = 0.05+0.9*s.Float64(), 2*s.Float64()-1
		if u, v := s.Float64(), s.Float64(); u >= zeros {
			gap[i] = v * v * v
		}
	}
	return alpha, gap, pi, lambda
}

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
		f.Importance, f.Pi, f.Lambda = alpha, pi, lambda
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
