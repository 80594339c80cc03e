package algos

import (
	"fmt"

	"rollcall/datasets/plan"
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

// ParsePreset returns the preset of that name.
func ParsePreset(name string) (Preset, error) {
	switch p := Preset(name); p {
	case Code, Paper:
		return p, nil
	}
	return "", fmt.Errorf("algos: preset %q: unknown, want %s or %s", name, Code, Paper)
}

// clipNorm is the norm both presets clip to; they differ in what they clip.
const clipNorm = 0.5

// LocalClip returns the largest norm of a local gradient, in every method: 0.5 in the paper (appendix J), none (nil)
// in the code. It is what [Federation.Clip] is to be set to.
func (p Preset) LocalClip() *float64 {
	if p == Paper {
		clip := clipNorm
		return &clip
	}
	return nil
}

// Augment returns how often crops and flips are drawn: once per batch in the code, once per sample in the paper.
func (p Preset) Augment() plan.Augment {
	if p == Paper {
		return plan.AugmentPerSample
	}
	return plan.AugmentPerBatch
}

// FedAWEModel says which row FedAWE evaluates.
type FedAWEModel string

// What FedAWE can evaluate.
const (
	MeanOfAll  FedAWEModel = "mean" // the mean over all N clients of x_i, as the released code does
	LastServer FedAWEModel = "last" // x̄ of the last round that was not empty
)

// Options are the settings of single methods; [Defaults] gives those of FedAWE's tables. A method ignores what it has
// no use for, but every field must be possible.
type Options struct {
	FedAUCutoff     int         // K: longest interval, in rounds, at least 1
	F3ASTBeta       float64     // β: weight of the newest round in r_i, in (0, 1]
	F3ASTLimit      *int        // M: at most so many clients per round, at least 1; nil: all active ones
	F3ASTMean       bool        // divide the update by the number of sampled clients once more, as F3AST's own code does
	F3ASTMemoryless bool        // r = (1−β)π + β·1_A anew in every round, as CA-Fed's code does
	FedAWEModel     FedAWEModel // what is evaluated
	FedAWEClip      *float64    // largest norm of the averaged echoed update, positive; nil: none

	FedAR        *FedAR // fedar's own, checked by it alone; nil: the paper's, see [DefaultFedAR]
	FedAvgSLimit *int   // fedavg-s: S, at most so many clients per round, 1 … N; nil: half of all

	// unbiased, more-available, adafed, ca-fed and f3ast.
	Bayes     *Bayes     // how the server learns π_i and λ_i; nil: it knows them
	ServerSGD *ServerSGD // momentum and weight decay at the server; nil: neither
	CAFed     *CAFed     // ca-fed's own, checked by it alone; nil: the paper's, see [DefaultCAFed]
}

// Defaults returns the settings of FedAWE's tables, and ca-fed's own. The presets differ in FedAWEClip, 0.5 in the code and none
// in the paper, which clips local gradients instead ([Preset.LocalClip]), and in CAFed. [CAFedDefaults] is for CA-Fed's tables.
func Defaults(p Preset) Options {
	o := Options{FedAUCutoff: 50, F3ASTBeta: 0.001, FedAWEModel: MeanOfAll}
	if p == Code {
		clip, settings := clipNorm, DefaultCAFed(Code)
		o.FedAWEClip, o.CAFed = &clip, &settings
	}
	return o
}

// Validate reports the first impossible setting.
func (o *Options) Validate() error {
	switch {
	case o.FedAUCutoff < 1:
		return fmt.Errorf("algos: fedau: cut-off of %d rounds, want at least 1", o.FedAUCutoff)
	case !(o.F3ASTBeta > 0 && o.F3ASTBeta <= 1):
		return fmt.Errorf("algos: f3ast: beta %g, want above 0 and at most 1", o.F3ASTBeta)
	case o.F3ASTLimit != nil && *o.F3ASTLimit < 1:
		return fmt.Errorf("algos: f3ast: limit of %d clients, want at least 1", *o.F3ASTLimit)
	case o.FedAWEModel != MeanOfAll && o.FedAWEModel != LastServer:
		return fmt.Errorf("algos: fedawe: model %q: unknown, want %s or %s", o.FedAWEModel, MeanOfAll, LastServer)
	case o.FedAWEClip != nil && !isPositive(*o.FedAWEClip):
		return fmt.Errorf("algos: fedawe: clip at norm %g, want positive", *o.FedAWEClip)
	case o.ServerSGD != nil && !(o.ServerSGD.Momentum >= 0 && o.ServerSGD.Momentum < 1):
		return fmt.Errorf("algos: server: momentum %g, want at least 0 and below 1", o.ServerSGD.Momentum)
	case o.ServerSGD != nil && !isNotNegative(o.ServerSGD.WeightDecay):
		return fmt.Errorf("algos: server: weight decay %g, want 0 or more", o.ServerSGD.WeightDecay)
	case o.Bayes != nil:
		return o.Bayes.Validate()
	}
	return nil
}
