package run

import (
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/rng"
	"rollcall/nets"
)

// Population is a run's clients: what they hold, and when they are there.
type Population struct {
	Process availability.Process
	Base    []float64 // [N] p_i, or π_i of a chain
	Lambda  []float64 // [N] λ_i

	train      [][]int32 // [N][n_i] samples each client trains on
	validation [][]int32 // [N][m_i] training samples kept back; nil: none
	test       [][]int32 // [N][k_i] test samples of its own; nil: all have the whole test set
	// [N] test samples of a client's two classes; nil: the split is another one. Not what it is tested on
	ownClasses [][]int32
}

// Populate splits the training samples among the clients and draws their availability.
func Populate(data *datasets.Set, s *settings.Settings, seed uint32) (p Population, err error) {
	cut := datasets.SplitOptions{
		Kind: datasets.SplitKind(s.Split), Clients: s.Clients, Clusters: s.Clusters, Alpha: s.Alpha,
	}
	if s.Draws == "numpy" {
		cut.NumPy = rng.NewNumPy(seed) // the released code's one generator: split, then φ, then activity
	}
	split, err := datasets.Divide(data, cut, s.Validation, seed)
	if err != nil {
		return p, err
	}
	p.train, p.validation, p.test, p.ownClasses = split.Train, split.Valid, split.Test, split.OwnClasses
	shares := datasets.ClassShares(p.train, data.Train.Labels, data.Train.Classes)
	if cut.NumPy != nil {
		p.Base = availability.BaseNumPy(shares, cut.NumPy)
	} else {
		p.Base = availability.Base(shares, seed)
	}
	if s.P.Value != nil {
		for i := range p.Base {
			p.Base[i] = *s.P.Value
		}
	}
	options := s.ProcessOptions(p.Base)
	options.Seed, options.Groups = seed, split.Group
	if s.Availability == "trace" {
		if options.Trace, err = s.ReadTrace(); err != nil {
			return p, err
		}
	}
	if p.Process, err = availability.New(s.Availability, options); err != nil {
		return p, err
	}
	if cut.NumPy != nil {
		p.Process = availability.NumPy(p.Process, s.Clients, cut.NumPy)
	}
	pi, lambda := p.Process.Stationary()
	if p.Lambda = lambda; s.Chained() {
		p.Base = pi
	}
	return p, nil
}

// importance returns α [N]: equal, or in proportion to the clients' samples.
func (p *Population) importance(weights string) []float64 {
	importance, total := slices.Repeat([]float64{1 / float64(len(p.train))}, len(p.train)), 0
	if weights != "size" {
		return importance
	}
	for _, part := range p.train {
		total += len(part)
	}
	for i, part := range p.train {
		importance[i] = float64(len(part)) / float64(total)
	}
	return importance
}

// heldOut returns the samples that ca-fed's losses are of under --losses held-out: those kept back, or else the
// client's own test samples. nil: another method, or other losses.
func (p *Population) heldOut(s *settings.Settings) *algos.HeldOut {
	switch {
	case s.Method != "ca-fed" || s.Get("losses") != algos.LossesHeldOut:
		return nil
	case p.validation != nil:
		return &algos.HeldOut{Part: nets.Train, Index: p.validation}
	}
	return &algos.HeldOut{Part: nets.Test, Index: p.test}
}
