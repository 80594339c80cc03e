package algos

import (
	"fmt"
	"math"

	"rollcall/datasets/plan"
	"rollcall/nets"
)

// Federation is what a method is given: the engine, the clients, and how they train. It is the same for every method
// and is not changed by any, so that one Federation can serve one run after the other.
type Federation struct {
	Engine      nets.Engine
	N           int
	Seed        uint32        // names the random streams of dropout
	Planner     *plan.Planner // the clients' samples, E and B
	Importance  []float64     // [N] α_i, not negative, sums to 1
	P           []float64     // [N] p_i, or π_i of a process with a memory, in [0, 1]; 0: a client that is never there
	Lambda      []float64     // [N] λ_i, in [−1, 1]; 0: independent rounds
	WeightDecay float64       // of the local steps
	Momentum    float64       // of the local steps, in [0, 1); each client's momentum persists across rounds
	Clip        *float64      // largest norm of a local gradient; nil: none
}

// validate reports the first thing no method can work with, so that a wrong split or process never trains.
func (f *Federation) validate() error {
	switch {
	case f.Engine == nil || f.Planner == nil:
		return fmt.Errorf("algos: federation: no engine or no planner, want both")
	case f.N < 1:
		return fmt.Errorf("algos: federation: %d clients, want at least 1", f.N)
	case len(f.Importance) != f.N || len(f.P) != f.N || len(f.Lambda) != f.N || len(f.Planner.Parts) != f.N:
		return fmt.Errorf("algos: federation: importance of %d, probabilities of %d, lambda of %d, samples of %d "+
			"clients, "+
			"want %d of each", len(f.Importance), len(f.P), len(f.Lambda), len(f.Planner.Parts), f.N)
	case !(f.WeightDecay >= 0) || math.IsInf(f.WeightDecay, 1):
		return fmt.Errorf("algos: federation: weight decay %g, want 0 or more", f.WeightDecay)
	case !(f.Momentum >= 0 && f.Momentum < 1):
		return fmt.Errorf("algos: federation: momentum %g, want at least 0 and below 1", f.Momentum)
	case f.Clip != nil && !isPositive(*f.Clip):
		return fmt.Errorf("algos: federation: clip at norm %g, want positive", *f.Clip)
	}
	sum := 0.0
	for i, a := range f.Importance {
		if !(a >= 0) {
			return fmt.Errorf("algos: federation: client %d: importance %g, want 0 or more", i, a)
		}
		if p := f.P[i]; !(p >= 0 && p <= 1) {
			return fmt.Errorf("algos: federation: client %d: probability %g, want 0 … 1", i, p)
		}
		if l := f.Lambda[i]; !(l >= -1 && l <= 1) {
			return fmt.Errorf("algos: federation: client %d: lambda %g, want −1 … 1", i, l)
		}
		sum += a
	}
	if !(math.Abs(sum-1) <= 1e-6) {
		return fmt.Errorf("algos: federation: importance sums to %g, want 1", sum)
	}
	return f.Planner.Validate()
}

// isPositive reports whether x is a finite number above 0.
func isPositive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Preset names one of the two readings of a paper's experiments.
type Preset string

// The presets.
const (
	Code  Preset = "code"  // what the authors' released code does
	Paper Preset = "paper" // what the paper says
)

// Presets returns the names of the presets, the default first.
func Presets() []string { return []string{string(Code), string(Paper)} }

// Values are parameters by name, as a command line writes them. One that is not there has its default for the preset.
type Values map[string]string

// Options is what a method is started with beside the federation.
type Options struct {
	Preset  Preset    // of the parameters' defaults, and of the estimator's form; Code or Paper
	Values  Values    // of the method's parameters and of no others; nil: all have their defaults
	Solved  []float64 // [N] F*_i, of ca-fed with fstar solved
	HeldOut *HeldOut  // of ca-fed with losses held-out
}

// HeldOut are samples of each client that it does not train on.
type HeldOut struct {
	Part  nets.Part
	Index [][]int32 // [N][n_i]
}

// DecayedLR returns η_t = η_0 / sqrt(t/10 + 1), the schedule of all methods in FedAWE's tables.
func DecayedLR(lr float64, t int) float64 { return lr / math.Sqrt(float64(t)/10+1) }
