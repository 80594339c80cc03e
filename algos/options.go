package algos

import (
	"math"

	"rollcall/nets"
)

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
