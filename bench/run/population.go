package run

import (
	"fmt"
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// Population is a run's clients: what they hold, and when they are there.
type Population struct {
	parts   [][]int32 // [N][n_i] samples each client trains on
	valid   [][]int32 // [N][m_i] training samples kept back; nil: none
	test    [][]int32 // [N][k_i] test samples of its own; nil: all have the whole test set
	alike   [][]int32 // [N] test samples of a client's own classes, where it has two; the whole test set is tested on all the same
	Base    []float64 // [N] p_i, or π_i of a chain
	Lambda  []float64 // [N] λ_i
	Process availability.Process
}

// Populate splits the training samples among the clients and draws their availability.
func Populate(data *datasets.Set, s *settings.Settings, seed uint32) (p Population, err error) {
	train := data.Train
	var legacy *rng.NumPy // the released code's one generator: split, then φ, then activity
	if s.Draws == "numpy" {
		legacy = rng.NewNumPy(seed)
	}
	split, err := divide(data, s, seed, legacy)
	if err != nil {
		return p, err
	}
	p.parts, p.valid, p.test = split.Train, split.Valid, split.Test
	if s.TwoClass() {
		if p.alike, err = testAlike(data, s, seed); err != nil {
			return p, err
		}
	}
	shares := datasets.ClassShares(p.parts, train.Labels, train.Classes)
	if legacy != nil {
		p.Base = availability.BaseNumPy(shares, legacy)
	} else {
		p.Base = availability.Base(shares, seed)
	}
	if s.P.Value != nil {
		for i := range p.Base {
			p.Base[i] = *s.P.Value
		}
	}
	if p.Process, err = settings.NewProcess(s, p.Base, split.Group, seed); err != nil {
		return p, err
	}
	if legacy != nil {
		p.Process = availability.NumPy(p.Process, s.Clients, legacy)
	}
	pi, lambda := p.Process.Stationary()
	if p.Lambda = lambda; s.Chained() {
		p.Base = pi
	}
	return p, nil
}

// divide says which samples are whose, and keeps back those of --validation.
func divide(data *datasets.Set, s *settings.Settings, seed uint32, legacy *rng.NumPy) (*datasets.Split, error) {
	split := data.Split
	if split == nil {
		parts, err := cutSamples(data.Train, s, seed, legacy)
		if err != nil {
			return nil, err
		}
		split = datasets.NewSplit(parts)
	} else if n := len(split.Train); n != s.Clients {
		return nil, fmt.Errorf("%s: samples of %d clients, want %d", data.Name, n, s.Clients)
	}
	if s.Validation == 0 {
		return split, nil
	}
	own := *split // the data set's stays as it is, for the next run
	own.Train = make([][]int32, len(split.Train))
	for i, part := range split.Train {
		own.Train[i] = slices.Clone(part)
	}
	return &own, own.Reserve(s.Validation, seed)
}

// cutSamples cuts a training set as --split says.
func cutSamples(train *plan.Samples, s *settings.Settings, seed uint32, legacy *rng.NumPy) ([][]int32, error) {
	if legacy != nil {
		return datasets.DirichletNumPy(train.Labels, train.Classes, s.Clients, s.Alpha, legacy)
	}
	switch s.Split {
	case settings.SplitClasses:
		return datasets.DirichletPerClass(train.Labels, train.Classes, s.Clients, s.Alpha, seed)
	case settings.SplitClusters:
		clusters, err := datasets.DirichletPerClass(train.Labels, train.Classes, s.Clusters, s.Alpha, seed)
		if err != nil {
			return nil, err
		}
		var parts [][]int32
		for c, samples := range clusters {
			parts = append(parts, deal(samples, s.Clients/s.Clusters, c, seed)...)
		}
		return parts, nil
	case settings.SplitTwo:
		parts, _, err := datasets.TwoClass(train.Labels, train.Classes, s.Clients, seed)
		return parts, err
	case settings.SplitEven:
		all := make([]int32, train.Len())
		for i := range all {
			all[i] = int32(i)
		}
		return deal(all, s.Clients, 0, seed), nil
	}
	return datasets.Dirichlet(train.Labels, train.Classes, s.Clients, s.Alpha, seed)
}

// deal cuts samples, shuffled by stream (2, group, 0) of [rng.Split], into n parts whose sizes differ by one at most. Each part
// is in file order.
func deal(samples []int32, n, group int, seed uint32) [][]int32 {
	samples = slices.Clone(samples)
	rng.Key{Seed: seed, Purpose: rng.Split}.Stream(2, group, 0).Shuffle(samples)
	parts := make([][]int32, n)
	for i := range parts {
		parts[i] = slices.Sorted(slices.Values(samples[i*len(samples)/n : (i+1)*len(samples)/n]))
	}
	return parts
}

// importance returns α [N].
func (p *Population) importance(s *settings.Settings) []float64 {
	importance, total := algos.Equal(s.Clients), 0
	if s.Weights != "size" {
		return importance
	}
	for _, part := range p.parts {
		total += len(part)
	}
	for i, part := range p.parts {
		importance[i] = float64(len(part)) / float64(total)
	}
	return importance
}
