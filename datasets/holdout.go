package datasets

import (
	"fmt"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// holdOut divides a set without a share of its training samples, which stand in for the test set: settings that are
// chosen by them have not seen the test set. The share is drawn at random, of all samples before they are split, or of
// each client's own where the set has a split of its own; [setAside] draws with step 4. The papers tune their learning
// rates and do not say by which samples; this way is [inferred].
func holdOut(data *Set, o SplitOptions, share float64, seed uint32) (*Split, error) {
	all := [][]int32{indices(data.Train.Len())}
	if data.Split != nil {
		all = data.Split.Train
	}
	left, out, err := setAside("held-out", all, share, seed, rng.SplitStepHoldOut)
	if err != nil {
		return nil, err
	}
	held := 0
	for _, own := range out {
		held += len(own)
	}
	if held == 0 {
		return nil, fmt.Errorf("datasets: split: a share of %g of %d training samples holds none out, want one at "+
			"least", share, data.Train.Len())
	}
	if data.Split != nil {
		split := *data.Split
		split.Train, split.HeldOut = left, out
		return &split, nil
	}
	split, err := Cut(labelled(data.Train, left[0]), labelled(data.Train, out[0]), o, seed)
	if err != nil {
		return nil, err
	}
	split.Train, split.OwnClasses, split.HeldOut = among(left[0], split.Train), among(out[0], split.OwnClasses), out
	return split, nil
}

// labelled returns some of the samples as [Cut] reads them: their labels alone.
func labelled(s *plan.Samples, which []int32) *plan.Samples {
	part := &plan.Samples{Name: s.Name, Classes: s.Classes, Labels: make([]uint8, len(which))}
	for i, at := range which {
		part.Labels[i] = s.Labels[at]
	}
	return part
}

// among returns parts [n][m_i] of indices into which as indices into the samples that which is of; nil stays nil.
func among(which []int32, parts [][]int32) [][]int32 {
	for _, part := range parts {
		for i, at := range part {
			part[i] = which[at]
		}
	}
	return parts
}
