package datasets

import (
	"fmt"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// swapLabels splits a set at random among o.Clients in two groups of equal size, and swaps o.SwapPairs pairs of labels
// in the training and test samples of a group (INFOCOM, section V-A: two pairs of MNIST). The details depend on the
// [Reading]:
//
//	paper  training set and test set are split separately, each into parts that differ by at most one sample; only the
//	       second group has swapped labels
//	code   both sets are shuffled together and split, so that all clients have the same number of samples (to one) but
//	       different shares for training; each group has its own swapped labels
//
// The code swaps test labels too. The paper must have done the same, since its accuracies of at most 65 % would be
// higher otherwise. The pairs of a group have no label in common.
//
// The draws come from rng.Split: stream (0, 0, 2) shuffles the samples (and (0, 1, 2) the test samples, by the paper),
// stream (0, 2, 2) draws the groups, and stream (0, 3 + g, 2) draws the pairs of group g.
func swapLabels(set *Set, o Options) error {
	if err := o.made(); err != nil {
		return err
	}
	classes := set.Train.Classes
	switch {
	case set.Split != nil:
		return fmt.Errorf("swapped labels of a set that is generated client by client, want an image set")
	case o.Clients%2 != 0:
		return fmt.Errorf("%d clients in two equal groups, want an even number", o.Clients)
	case o.SwapPairs < 0 || 2*o.SwapPairs > classes:
		return fmt.Errorf("%d pairs of labels swapped, want 0 … %d of %d classes", o.SwapPairs, classes/2, classes)
	}
	key := rng.Key{Seed: o.Seed, Purpose: rng.Split}
	order := func(n, stream int) []int32 {
		x := indices(n)
		key.Stream(0, stream, rng.SplitStepSwap).Shuffle(x)
		return x
	}
	s := &Split{Group: make([]int, o.Clients)}
	if n := set.Train.Len(); o.Reading == ReadPaper {
		s.Train, s.Test = cutInOrder(order(n, 0), o.Clients), cutInOrder(order(set.Test.Len(), 1), o.Clients)
	} else {
		// By the code, one shuffle covers both sets: numbers from n on mean test samples.
		s.Train, s.Test = make([][]int32, o.Clients), make([][]int32, o.Clients)
		for k, own := range cutInOrder(order(n+set.Test.Len(), 0), o.Clients) {
			slices.Sort(own)
			from, _ := slices.BinarySearch(own, int32(n))
			s.Train[k], s.Test[k] = own[:from:from], own[from:]
			for i := range s.Test[k] {
				s.Test[k][i] -= int32(n)
			}
		}
	}
	for _, parts := range [][][]int32{s.Train, s.Test} {
		for _, own := range parts {
			slices.Sort(own)
		}
	}
	for place, k := range order(o.Clients, 2) {
		s.Group[k] = place * 2 / o.Clients
	}
	// to[g][c] is the label that group g sees in place of c.
	var to [2][]uint8 // [group][class]
	for g := range to {
		names := order(classes, 3+g)
		for c := range classes {
			to[g] = append(to[g], uint8(c))
		}
		if g == 0 && o.Reading == ReadPaper {
			continue
		}
		for pair := range o.SwapPairs {
			a, b := names[2*pair], names[2*pair+1]
			to[g][a], to[g][b] = uint8(b), uint8(a)
		}
	}
	relabel := func(samples **plan.Samples, parts [][]int32) {
		swapped := **samples // a copy, as loaders may keep the original
		swapped.Labels = slices.Clone(swapped.Labels)
		for k, own := range parts {
			for _, i := range own {
				swapped.Labels[i] = to[s.Group[k]][swapped.Labels[i]]
			}
		}
		*samples = &swapped
	}
	relabel(&set.Train, s.Train)
	relabel(&set.Test, s.Test)
	set.Split = s
	return nil
}

// cutInOrder cuts x into n consecutive parts. The last len(x) mod n parts have one element more than the others.
func cutInOrder(x []int32, n int) [][]int32 {
	parts := make([][]int32, n)
	for k := range parts {
		m := len(x) / (n - k)
		parts[k], x = x[:m:m], x[m:]
	}
	return parts
}
