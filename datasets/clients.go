package datasets

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/rng"
)

// Reading is one of the two ways to understand the sets that CA-Fed's papers make client by client.
type Reading string

// The readings.
const (
	ReadPaper Reading = "paper" // what the paper says
	ReadCode  Reading = "code"  // what the authors' released code does
)

// Split says which samples each of N clients holds. No sample is held twice.
type Split struct {
	Train [][]int32 // [N][n_i] of Set.Train, what the client trains on
	Valid [][]int32 // [N][m_i] of Set.Train, kept back from training; nil: none, see [Divide]
	Test  [][]int32 // [N][k_i] of Set.Test, the client's own; nil: all clients share the whole test set
	// OwnClasses [N][k_i] of Set.Test are of each client's own classes under SplitTwoClass, as many of one client as of
	// another, none shared; nil: another split. Clients are not tested on these alone.
	OwnClasses [][]int32

	Group []int // [N] the group of clients of one distribution, from 0; nil: there is one
}

// reserve moves a fraction of every client's training samples to its validation samples, drawn at random by stream
// (0, i, 1) of rng.Split, both in ascending order. The share is exact in all: of the first clients' samples together,
// always the fraction to the nearest sample. MNIST in CA-Fed's papers: 0.2 (of the training set; that it is taken
// client by client is [inferred]).
func (s *Split) reserve(fraction float64, seed uint32) error {
	if !(fraction >= 0 && fraction < 1) {
		return fmt.Errorf("datasets: split: validation share %g, want at least 0 and below 1", fraction)
	}
	key := rng.Key{Seed: seed, Purpose: rng.Split}
	train, valid := make([][]int32, len(s.Train)), make([][]int32, len(s.Train))
	seen, taken := 0, 0
	for i, own := range s.Train {
		seen += len(own)
		n := min(int(math.Round(fraction*float64(seen)))-taken, len(own))
		taken += n
		order := indices(len(own))
		key.Stream(0, i, rng.SplitStepReserve).Shuffle(order)
		slices.Sort(order[:n])
		slices.Sort(order[n:])
		for j, at := range order {
			if j < n {
				valid[i] = append(valid[i], own[at])
			} else {
				train[i] = append(train[i], own[at])
			}
		}
	}
	s.Train, s.Valid = train, valid
	return nil
}

// cutEven cuts each group of samples into n parts whose sizes differ by one at most, after a shuffle by stream
// (2, group, 0) of rng.Split. The parts of a group follow one another; each is in the order of the file.
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

// consecutive returns parts of the given sizes of 0 … n−1, one after the other, and n.
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
