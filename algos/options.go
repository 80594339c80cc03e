package algos

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

// Values are parameters by name, as a command line or [Param.Canonical]
// writes them. One that is not there has its default for the preset.
type Values map[string]string

// Options is what a method is started with beside the federation.
type Options struct {
	Preset  Preset    // of the parameters' defaults, and of the estimator's form; Code or Paper
	Values  Values    // of the method's parameters and of no others; nil: all have their defaults
	Solved  []float64 // [N] F*_i, of ca-fed with fstar solved
	HeldOut *HeldOut  // of ca-fed with losses held-out; nil: the clients' training samples
}

// HeldOut are samples of each client that it does not train on.
type HeldOut struct {
	Part  nets.Part
	Index [][]int32 // [N][n_i]
}

// validate reports the first thing in o that the method of a federation of n clients cannot have.
func (o *Options) validate(d *Definition, n int) error {
	if o.Preset != Code && o.Preset != Paper {
		return fmt.Errorf("preset %q: unknown, want %s", o.Preset, strings.Join(Presets(), " or "))
	}
	for _, p := range d.Params {
		if text, given := o.Values[p.Name]; given {
			if err := p.CheckFor(text, n); err != nil {
				return fmt.Errorf("%s %s: %w", p.Name, text, err)
			}
		}
	}
	for name := range o.Values {
		if !slices.ContainsFunc(d.Params, func(p *Param) bool { return p.Name == name }) {
			return fmt.Errorf("parameter %q: unknown, want %s", name, d.paramNames())
		}
	}
	return nil
}

// paramNames lists the method's parameters for an error.
func (d *Definition) paramNames() string {
	if len(d.Params) == 0 {
		return "no parameter at all"
	}
	names := make([]string, len(d.Params))
	for i, p := range d.Params {
		names[i] = p.Name
	}
	return "one of " + strings.Join(names, ", ")
}

// DecayedLR returns η_t = η_0 / sqrt(t/10 + 1), the schedule of all methods in FedAWE's tables.
func DecayedLR(lr float64, t int) float64 { return lr / math.Sqrt(float64(t)/10+1) }
