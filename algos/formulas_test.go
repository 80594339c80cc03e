package algos

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/algos/availability"
	"rollcall/internal/must"
)

// Every method but fedavg-s, whose draw TestFedAvgS knows, follows its formula for 60 rounds, in which nobody is active
// now and then, α_i and p_i differ, p_i^t and η_t change, and η_g is 1.1. Tolerance 1e-6 of the largest number: the
// methods hold float32, whose unit is 6e-8.
func TestFormulas(t *testing.T) {
	alpha, _, pi, lambda := population(7, 12, false, 0)
	c := clients{u: []float64{8, 16, -8, 0, 3, -5, 11}, alpha: alpha, pi: pi, lambda: lambda}
	for name, next := range c.formulas() {
		method, more, _ := strings.Cut(name, "/")
		t.Run(name, func(t *testing.T) {
			f, _ := toyFederation(c.u...)
			f.Importance, f.Pi, f.Lambda = alpha, pi, lambda
			f.WeightDecay, f.Planner.E = formulaDecay, formulaSteps
			if more == "momentum" {
				f.Momentum = formulaMomentum
			}
			m := start(t, method, f, formulaOptions(method, more))
			w, largest, leftOut := 0.0, slices.Max(c.u), false
			for round := range 60 {
				r := played{
					t: round, p: c.each(func(i int) float64 { return pi[i] * (0.75 + 0.25*math.Sin(float64(round))) }),
					lr: 0.5 / math.Sqrt(float64(round)/10+1), lg: 1.1,
				}
				if round%7 != 0 {
					r.a = availability.Draw(r.p, 5, round)
				}
				if len(r.a) > 0 || !strings.HasPrefix(name, "fedawe") { // whose model before the first is w0
					next(r, &w)
				}
				at := Round{T: round, Active: r.a, P: r.p, LR: r.lr, ServerLR: r.lg}
				must.Get(m.Round(t.Context(), at))(t)
				largest = max(largest, math.Abs(w))
				if d := m.Inspect(); d != nil {
					leftOut = leftOut || slices.Contains(d.Included, false)
				}
				if got := model(t, m, f); !near(got, w, 4*1e-6*largest) {
					t.Fatalf("round %d, clients %v: model %v, want %v ± 1e-6 of %g",
						round, r.a, got, scaled(w), largest)
				}
			}
			if w == 0 {
				t.Error("the model never moved")
			}
			if method == "ca-fed" && !leftOut {
				t.Error("no client was ever excluded")
			}
		})
	}
}

// formulaOptions returns the parameters of a case: the ones of the formulas, and what its name has behind the method.
func formulaOptions(method, more string) Options {
	o := with(Options{Preset: Code}, method, "fedau-cutoff", "3", "f3ast-limit", "2", "f3ast-beta", "0.3",
		"ca-fed-beta", "0.4", "kappa", "1.5", "bias-const", "none", "fstar", "min", "losses", "batch",
		"fedar-rho", "0.5", "fedar-t0", "2", "fedar-b", "4")
	switch more {
	case "all":
		return with(o, method, "f3ast-limit", none)
	case "mean", "memoryless":
		return with(o, method, "f3ast-"+more, "true")
	case "square-root":
		return with(o, method, "fedar-g", "0.7")
	case "never-stale":
		return with(o, method, "fedar-t0", none)
	case "tau":
		return with(o, method, "ca-fed-tau", "25", "kappa", "0.1")
	case "code":
		return with(o, method, "fstar", "zero", "losses", "all", "bias-const", "1", "ca-fed-beta", "1")
	case memoryRaw, memoryRate:
		return with(o, method, "memory", more)
	case "momentum", "server":
		return with(o, method, "server-momentum", fmt.Sprint(formulaMomentum),
			"server-weight-decay", fmt.Sprint(formulaServer))
	}
	if clip, of, ok := strings.Cut(more, "/"); ok {
		o = with(o, method, "fedawe-clip", clip, "fedawe-model", of)
	}
	return o
}

// A second implementation of every method but fedavg-s, written from the papers' formulas on plain numbers in float64,
// without rows and without what the methods do to save passes over them. The toy engine's points are multiples of
// (3, 4), so that a model is one number.

// clients is what the formulas know of the federation: where the clients are, α, π, λ.
type clients struct{ u, alpha, pi, lambda []float64 }

// played is one round for the formulas: t, A, p_i^t, η_t, η_g.
type played struct {
	t      int
	a      []int
	p      []float64
	lr, lg float64
}

const (
	formulaSteps = 2    // E
	formulaDecay = 0.05 // weight decay

	formulaMomentum = 0.5  // at clients and server, of the cases with momentum
	formulaServer   = 0.01 // weight decay at the server, of these cases
)

// delta returns Δ_i from w, with drift added to every gradient.
func (c *clients) delta(r played, i int, w, drift float64) float64 {
	x := w
	for range formulaSteps {
		x -= r.lr * (x - c.u[i] + formulaDecay*x + drift)
	}
	return x - w
}

// rule is a method: it changes w by one round.
type rule func(r played, w *float64)

// byWeights returns the rule w += η_g Σ_{i∈A} q_i Δ_i, with q from the round.
func (c *clients) byWeights(weights func(r played) []float64) rule {
	return func(r played, w *float64) {
		q, step := weights(r), 0.0
		for _, i := range r.a {
			if q[i] != 0 {
				step += q[i] * c.delta(r, i, *w, 0)
			}
		}
		*w += r.lg * step
	}
}

// byMomentum is byWeights with PyTorch's SGD at clients and server, each with a velocity that it keeps. A round
// without clients is no step, as in CA-Fed's released code.
func (c *clients) byMomentum(weights func(r played) []float64) rule {
	v, velocity := make([]float64, len(c.u)), 0.0
	return func(r played, w *float64) {
		if len(r.a) == 0 {
			return
		}
		q, g := weights(r), formulaServer**w
		for _, i := range r.a {
			x := *w
			for range formulaSteps {
				v[i] = formulaMomentum*v[i] + x - c.u[i] + formulaDecay*x
				x -= r.lr * v[i]
			}
			g -= q[i] * (x - *w)
		}
		velocity = formulaMomentum*velocity + g
		*w -= r.lg * velocity
	}
}

// each returns f(i) for all clients.
func (c *clients) each(f func(i int) float64) []float64 {
	q := make([]float64, len(c.u))
	for i := range q {
		q[i] = f(i)
	}
	return q
}

func (c *clients) sum(f func(i int) float64) (sum float64) {
	for _, x := range c.each(f) {
		sum += x
	}
	return sum
}

// byServer is a rule with momentum and weight decay at the server. A round that leaves w has no update.
func byServer(next rule) rule {
	velocity := 0.0
	return func(r played, w *float64) {
		x, once := *w, r
		once.lg = 1
		if next(once, &x); x == *w {
			return
		}
		velocity = formulaMomentum*velocity + *w - x + formulaServer**w
		*w -= r.lg * velocity
	}
}

// formulas returns the rules by name. A name is the method and, behind a slash, what sets the case apart: momentum at
// clients and server, or at the server alone, and values of parameters.
func (c *clients) formulas() map[string]rule {
	rules, again := c.rules(), c.rules() // a rule has a state
	for _, name := range []string{
		"fedavg-active", "fedavg-all", "fedavg-known", "fedavg-is", "fedau", "mifa/raw", "mifa-wait/raw", "fedvarp/raw",
		"fedar", "scaffold",
	} {
		method, _, _ := strings.Cut(name, "/")
		rules[method+"/server"] = byServer(again[name])
	}
	return rules
}

// rules returns the rules but for momentum at the server alone.
func (c *clients) rules() map[string]rule {
	n := float64(len(c.u))
	fixed := func(q []float64) func(played) []float64 { return func(played) []float64 { return q } }
	unbiased := fixed(c.each(func(i int) float64 { return c.alpha[i] / c.pi[i] }))
	adafed := func(r played) []float64 {
		total := 0.0
		for _, i := range r.a {
			total += c.alpha[i] / c.pi[i]
		}
		return c.each(func(i int) float64 { return c.alpha[i] / c.pi[i] / total })
	}
	rules := map[string]rule{
		"fedavg-active": c.byWeights(func(r played) []float64 {
			return c.each(func(int) float64 { return 1 / float64(len(r.a)) })
		}),
		"fedavg-all": c.byWeights(fixed(c.each(func(int) float64 { return 1 / n }))),
		"fedavg-known": c.byWeights(func(r played) []float64 {
			return c.each(func(i int) float64 { return 1 / n / r.p[i] })
		}),
		"fedavg-is": c.byWeights(fixed(c.each(func(i int) float64 { return 1 / n / c.pi[i] }))),
		"unbiased":  c.byWeights(unbiased),

		"unbiased/momentum": c.byMomentum(unbiased), "adafed/momentum": c.byMomentum(adafed),
		"more-available": c.byWeights(fixed(c.each(func(i int) float64 {
			if c.pi[i] > 0.5 {
				return c.alpha[i] / c.pi[i]
			}
			return 0
		}))),
		"adafed": c.byWeights(adafed),
		"fedau":  c.fedAU(3),
		"f3ast":  c.f3ast(2, false, false),

		"f3ast/all": c.f3ast(len(c.u), false, false), "f3ast/mean": c.f3ast(2, true, false),
		"f3ast/memoryless": c.f3ast(2, false, true),

		"ca-fed": c.caFed(0.4, 1.5, 0, false), "ca-fed/tau": c.caFed(0.4, 0.1, 25, false),
		"ca-fed/code": c.caFed(1, 0.25, 0, true),

		"fedar": c.fedAR(0.5, 2, 4), "fedar/never-stale": c.fedAR(0.5, math.Inf(1), 4),
		"fedar/square-root": c.fedAR(0.5, 2, 0),

		"scaffold": c.scaffold(),
	}
	for _, byRate := range []bool{false, true} {
		memory := map[bool]string{false: "/raw", true: "/rate"}[byRate]
		rules["mifa"+memory], rules["mifa-wait"+memory] = c.mifa(byRate, false), c.mifa(byRate, true)
		rules["fedvarp"+memory] = c.fedVARP(byRate)
	}
	for _, model := range []string{"mean", "last"} {
		rules["fedawe/none/"+model] = c.fedAWE(math.Inf(1), model)
		rules["fedawe/20/"+model] = c.fedAWE(20, model)
	}
	return rules
}

// fedAU is Wang and Ji's Algorithm 2: a list of intervals for each client, cut off at K.
func (c *clients) fedAU(cutoff int) rule {
	lists, missed := make([][]int, len(c.u)), make([]int, len(c.u))
	return c.byWeights(func(r played) []float64 {
		q := c.each(func(i int) float64 {
			total := 0
			for _, s := range lists[i] {
				total += s
			}
			if total == 0 {
				return 1 / float64(len(c.u))
			}
			return float64(total) / float64(len(lists[i])) / float64(len(c.u))
		})
		for i := range c.u {
			if missed[i]++; slices.Contains(r.a, i) || missed[i] == cutoff {
				lists[i], missed[i] = append(lists[i], missed[i]), 0
			}
		}
		return q
	})
}

// f3ast is Ribero's Algorithm 1: with the mean of F3AST's own code, or without memory as in CA-Fed's.
func (c *clients) f3ast(limit int, mean, memoryless bool) rule {
	const beta = 0.3
	rate := slices.Clone(c.pi)
	smooth := func(set []int) {
		for i := range rate {
			if rate[i] *= 1 - beta; slices.Contains(set, i) {
				rate[i] += beta
			}
		}
	}
	return c.byWeights(func(r played) []float64 {
		if memoryless {
			rate = slices.Clone(c.pi)
			smooth(r.a)
		}
		best := slices.Clone(r.a)
		slices.SortStableFunc(best, func(i, j int) int {
			return cmp.Compare(c.alpha[j]/rate[j], c.alpha[i]/rate[i])
		})
		best = best[:min(limit, len(best))]
		if !memoryless {
			smooth(best)
		}
		return c.each(func(i int) float64 {
			switch {
			case !slices.Contains(best, i):
				return 0
			case mean:
				return c.alpha[i] / rate[i] / float64(len(best))
			}
			return c.alpha[i] / rate[i]
		})
	})
}

// caFed is Algorithm 1 with ε computed from the start for every client. F* is the least loss so far, or zero, as in the
// code.
func (c *clients) caFed(beta, kappa, tau float64, zero bool) rule {
	loss, best := []float64(nil), []float64(nil)
	return func(r played, w *float64) {
		if len(r.a) == 0 {
			return
		}
		now := c.each(func(i int) float64 { return 25 * (*w - c.u[i]) * (*w - c.u[i]) / 2 })
		first, mean := loss == nil, 0.0
		for _, i := range r.a {
			mean += now[i] / float64(len(r.a))
		}
		if first {
			loss = c.each(func(int) float64 { return mean })
		}
		for _, i := range r.a {
			if loss[i] = (1-beta)*loss[i] + beta*now[i]; first {
				loss[i] = now[i]
			}
		}
		if first {
			best = slices.Clone(loss)
		}
		for i := range best {
			if best[i] = min(best[i], loss[i]); zero {
				best[i] = 0
			}
		}
		gap := c.each(func(i int) float64 { return loss[i] - best[i] })
		q := c.each(func(i int) float64 { return c.alpha[i] / c.pi[i] })
		if widest := slices.Max(gap); widest > 0 {
			order := func(key func(i int) float64) []int {
				all := make([]int, len(q))
				for i := range all {
					all[i] = i
				}
				slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(key(i), key(j)) })
				return all
			}
			for _, key := range []func(i int) float64{
				func(i int) float64 { return -math.Abs(c.lambda[i]) }, func(i int) float64 { return c.pi[i] },
			} {
				q = scratch(q, c.alpha, gap, c.pi, order(key), 4*kappa*widest, tau)
			}
		}
		c.byWeights(func(played) []float64 { return q })(r, w)
	}
}

func (c *clients) mifa(byRate, wait bool) rule {
	y, seen := make([]float64, len(c.u)), map[int]bool{}
	return func(r played, w *float64) {
		unit := 1.0
		if byRate {
			unit = r.lr
		}
		for _, i := range r.a {
			y[i], seen[i] = c.delta(r, i, *w, 0)/unit, true
		}
		if !wait || len(seen) == len(y) {
			*w += r.lg * unit * c.sum(func(i int) float64 { return y[i] }) / float64(len(y))
		}
	}
}

func (c *clients) fedVARP(byRate bool) rule {
	y := make([]float64, len(c.u))
	return func(r played, w *float64) {
		unit, d := 1.0, 0.0
		if byRate {
			unit = r.lr
		}
		if len(r.a) == 0 {
			return
		}
		next := slices.Clone(y)
		for _, i := range r.a {
			next[i] = c.delta(r, i, *w, 0) / unit
			d += (next[i] - y[i]) / float64(len(r.a))
		}
		*w += r.lg * unit * (d + c.sum(func(i int) float64 { return y[i] })/float64(len(y)))
		y = next
	}
}

// fedAR is Jiang et al.'s Algorithm 1 with the g(t) of Theorem 1, or with that of Theorem 2 and c = 0.7 if b is 0.
func (c *clients) fedAR(rho, t0, b float64) rule {
	g2 := func(t int) float64 {
		if b == 0 {
			return 0.7 * max(math.Sqrt(float64(t)), math.Sqrt(t0))
		}
		return t0 + float64(t)/b
	}
	g, tau, seen := make([]float64, len(c.u)), make([]int, len(c.u)), map[int]bool{}
	return func(r played, w *float64) {
		for i := range tau {
			tau[i]++
		}
		for _, i := range r.a {
			g[i], tau[i], seen[i] = -c.delta(r, i, *w, 0)/r.lr, 0, true
		}
		count, step := 0.0, 0.0
		for i := range g {
			if seen[i] && float64(tau[i]) <= g2(r.t+1) {
				count, step = count+1, step+min(math.Pow(float64(tau[i]+1), rho), 2)*g[i]
			}
		}
		if count > 0 {
			*w -= r.lg * r.lr / count * step
		}
	}
}

func (c *clients) scaffold() rule {
	own, all := make([]float64, len(c.u)), 0.0
	return func(r played, w *float64) {
		step, moved := 0.0, 0.0
		for _, i := range r.a {
			d := c.delta(r, i, *w, all-own[i])
			next := own[i] - all - d/(formulaSteps*r.lr)
			step, moved = step+d/float64(len(r.a)), moved+(next-own[i])/float64(len(own))
			own[i] = next
		}
		*w, all = *w+r.lg*step, all+moved
	}
}

func (c *clients) fedAWE(clip float64, model string) rule {
	x, tau, last := make([]float64, len(c.u)), c.each(func(int) float64 { return -1 }), 0.0
	return func(r played, w *float64) {
		mean, update := 0.0, 0.0
		for _, i := range r.a {
			mean += x[i] / float64(len(r.a))
			update += (float64(r.t) - tau[i]) * c.delta(r, i, x[i], 0) / float64(len(r.a))
		}
		if norm := 5 * math.Abs(update); norm > clip {
			update *= clip / norm
		}
		for _, i := range r.a {
			x[i], tau[i], last = mean+r.lg*update, float64(r.t), mean+r.lg*update
		}
		if *w = last; model == "mean" {
			*w = c.sum(func(i int) float64 { return x[i] }) / float64(len(x))
		}
	}
}
