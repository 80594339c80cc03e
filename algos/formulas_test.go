package algos

import (
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
			f.Importance, f.P, f.Lambda = alpha, pi, lambda
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
