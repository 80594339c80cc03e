package datasets

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/rng"
)

// Reading chooses between the two definitions of the sets that CA-Fed's papers generate client by client.
type Reading string

// The readings.
const (
	ReadPaper Reading = "paper" // as the paper describes the set
	ReadCode  Reading = "code"  // as the authors' released code generates it
)

// Split says which samples each of N clients has, as indices into a part of a [Set]. No two clients share a sample.
type Split struct {
	Train [][]int32 // [N][n_i] into Set.Train: the client trains on these
	Valid [][]int32 // [N][m_i] into Set.Train: reserved for validation; nil: none, see [Divide]
	Test  [][]int32 // [N][k_i] into Set.Test: the client's own test samples; nil: all clients share the whole test set
	// OwnClasses [N][k_i] into Set.Test has the same number of samples of each client's own classes, for SplitTwoClass;
	// nil for other splits. Accuracy per client is measured on these, other accuracies on the whole test set.
	OwnClasses [][]int32
	// HeldOut [N][h_i] into Set.Train has the samples that stand in for each client's own test samples, or [1][h] those
	// that stand in for the test set that all clients share. OwnClasses then are among them. nil: no sample is held
	// out, see [Divide].
	HeldOut [][]int32

	Group []int // [N] number of the client's group, from 0; the clients of a group share a distribution; nil: one group
}

// reserve moves a fraction of every client's training samples to its validation samples, as [setAside] does with step
// 1. CA-Fed's papers reserve 0.2 of MNIST's training set; that each client reserves 0.2 of its own samples is
// [inferred].
func (s *Split) reserve(fraction float64, seed uint32) (err error) {
	s.Train, s.Valid, err = setAside("validation", s.Train, fraction, seed, rng.SplitStepReserve)
	return err
}

// setAside moves a fraction of the samples of each part, drawn at random from stream (0, i, step) of rng.Split for part
// i; what stays and what is moved are in ascending order. Rounding does not add up over parts: the first parts together
// always lose the fraction of their samples, to the nearest sample. what names the fraction in errors.
func setAside(
	what string, parts [][]int32, fraction float64, seed uint32, step int,
) (left, aside [][]int32, err error) {
	if !(fraction >= 0 && fraction < 1) {
		return nil, nil, fmt.Errorf("datasets: split: %s share %g, want at least 0 and below 1", what, fraction)
	}
	key := rng.Key{Seed: seed, Purpose: rng.Split}
	left, aside = make([][]int32, len(parts)), make([][]int32, len(parts))
	seen, taken := 0, 0
	for i, own := range parts {
		// n is the difference of two rounded sums, which keeps the total exact.
		seen += len(own)
		n := min(int(math.Round(fraction*float64(seen)))-taken, len(own))
		taken += n
		order := indices(len(own))
		key.Stream(0, i, step).Shuffle(order)
		slices.Sort(order[:n])
		slices.Sort(order[n:])
		for j, at := range order {
			if j < n {
				aside[i] = append(aside[i], own[at])
			} else {
				left[i] = append(left[i], own[at])
			}
		}
	}
	return left, aside, nil
}

// cutEven shuffles each group of samples with stream (2, group, 0) of rng.Split, and cuts it into n parts whose sizes
// differ by at most one. It returns the parts group by group, each in the order of the file.
func cutEven(groups [][]int32, n int, key rng.Key) (parts [][]int32) {
	for g, samples := range groups {
		key.Stream(rng.SplitRoundEven, g, 0).Shuffle(samples)
		for i := range n {
			parts = append(parts, slices.Sorted(slices.Values(samples[i*len(samples)/n:(i+1)*len(samples)/n])))
		}
	}
	return parts
}

// indices returns 0 … n−1.
func indices(n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(i)
	}
	return x
}

// consecutive cuts 0 … n−1 into consecutive parts of the given sizes, and returns the parts and n.
func consecutive(sizes []int) (parts [][]int32, n int) {
	for _, size := range sizes {
		part := indices(size)
		for j := range part {
			part[j] += int32(n)
		}
		parts = append(parts, part)
		n += size
	}
	return parts, n
}
