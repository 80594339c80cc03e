package algos

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"rollcall/datasets/plan"
	"rollcall/nets"
)

// Federation holds the engine, the clients, and how they train. No method changes it, so that several runs, one after
// the other, can use the same Federation.
type Federation struct {
	Engine      nets.Engine
	N           int           // clients
	Seed        uint32        // of the random numbers of dropout and of sampling
	HistorySeed uint32        // of the rounds before the first, which the estimator has as its prior
	Planner     *plan.Planner // the samples of the clients, E and B
	Importance  []float64     // [N] α_i, not negative, sums to 1
	Pi          []float64     // [N] π_i, the share of rounds in which the client is active, in [0, 1]; 0: never
	Lambda      []float64     // [N] λ_i, in [−1, 1]; 0: independent rounds
	WeightDecay float64       // of the local steps
	Momentum    float64       // of the local steps, in [0, 1); every client keeps its momentum from round to round
	Clip        *float64      // the largest norm of a local gradient; nil: no clipping
}

// validate returns an error that names the first field no method can work with, so that a wrong split or availability
// model is found before anything trains.
func (f *Federation) validate() error {
	switch {
	case f.Engine == nil || f.Planner == nil:
		return fmt.Errorf("algos: federation: no engine or no planner, want both")
	case f.N < 1:
		return fmt.Errorf("algos: federation: %d clients, want at least 1", f.N)
	case len(f.Importance) != f.N || len(f.Pi) != f.N || len(f.Lambda) != f.N || len(f.Planner.Parts) != f.N:
		return fmt.Errorf("algos: federation: importance of %d, probabilities of %d, lambda of %d, "+
			"samples of %d clients, want %d of each",
			len(f.Importance), len(f.Pi), len(f.Lambda), len(f.Planner.Parts), f.N)
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
		if p := f.Pi[i]; !(p >= 0 && p <= 1) {
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

func isPositive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Preset chooses the defaults of parameters where a paper and its released code disagree.
type Preset string

// The presets.
const (
	Code  Preset = "code"  // what the authors' released code does
	Paper Preset = "paper" // what the paper says
	// CodeNoMomentum is Code with plain SGD at clients and server. Only CA-Fed's papers have it, whose printed learning
	// rates diverge with the momentum of the released code.
	CodeNoMomentum Preset = "code-no-momentum"
)

// Presets returns the names of the presets, the default first.
func Presets() []string { return []string{string(Code), string(Paper), string(CodeNoMomentum)} }

// Reading returns what the preset follows, Code or Paper. CodeNoMomentum follows Code in all but how SGD steps, which
// are settings of a run.
func (p Preset) Reading() Preset {
	if p == CodeNoMomentum {
		return Code
	}
	return p
}

// Values holds parameters by name, written as on a command line. A missing parameter has its default for the preset.
type Values map[string]string

// Options holds the parameters of a method, and what single methods need beside them.
type Options struct {
	Preset  Preset    // selects the defaults of the parameters and the form of the estimator
	Values  Values    // parameters of this method, and of no other; nil: all have their defaults
	Solved  []float64 // [N] F*_i, for ca-fed with fstar solved
	HeldOut *HeldOut  // for ca-fed with losses held-out

	Process Process // for a method that is a program of its own
}

// Process says how a method runs that is a program of its own.
type Process struct {
	Output    io.Writer     // what it prints; nil: it is dropped
	Env       []string      // added to its environment; nil: nothing
	Terminal  *os.File      // where a debugger asks; nil: there is none
	Timeout   time.Duration // its own longest time between two answers; 0: none
	Rehearsal bool          // nobody trains: the engine only counts what the method asks for
}

// HeldOut names samples of each client that the client does not train on.
type HeldOut struct {
	Part  nets.Part
	Index [][]int32 // [N][n_i]
}

// DecayedLR returns the learning rate of round t: η_t = η_0 / sqrt(t/10 + 1), the schedule of all methods in FedAWE's
// tables. lr is η_0.
func DecayedLR(lr float64, t int) float64 { return lr / math.Sqrt(float64(t)/10+1) }
