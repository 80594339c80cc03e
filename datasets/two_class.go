package datasets

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// drawTwoClasses returns the two classes of each client, in ascending order, for FedAR's split (section 6.1): every
// client has exactly two classes, and all clients have the same number of samples. [dealTwoClasses] then gives the
// clients their samples.
//
// The paper prints no details. Here each client has two shards of the same size, each from one class [inferred]. There
// are 2N shards, m_c from class c, with m_c such that the size of a shard, min n_c/m_c, is as large as possible: for
// CIFAR-10 and 100 clients, 20 shards of 250 samples from every class. The rest of a class is not used. Stream (4, 0,
// 0) of rng.Split draws which shards a client gets, so that its two classes differ.
func drawTwoClasses(train *plan.Samples, clients int, seed uint32) ([][2]uint8, error) {
	byClass, err := samplesByClass(train, 2)
	if err != nil {
		return nil, err
	}
	shards, err := shardCounts(byClass, clients)
	if err != nil {
		return nil, err
	}
	return drawPairs(shards, clients, seed), nil
}

// twoClasses returns the training samples of each client [clients][n_i], and test samples of its two classes
// [clients][k_i]. All clients have the same number of training samples and of test samples, and share none. Some
// samples may belong to no client. own is nil without a test set. The samples of a client are in the order of the file.
func twoClasses(train, test *plan.Samples, clients int, seed uint32) (parts, own [][]int32, err error) {
	pairs, err := drawTwoClasses(train, clients, seed)
	if err != nil {
		return nil, nil, err
	}
	if parts, err = dealTwoClasses(train, pairs, seed, 0); err != nil || test == nil {
		return parts, nil, err
	}
	own, err = dealTwoClasses(test, pairs, seed, 1)
	return parts, own, err
}

// samplesByClass returns the samples of each class [classes][n_c], in the order of the file. The set must have at least
// `least` classes.
func samplesByClass(s *plan.Samples, least int) ([][]int32, error) {
	if s.Classes < least || s.Classes > 256 {
		return nil, fmt.Errorf("datasets: split: %d classes, want %d … 256", s.Classes, least)
	}
	byClass := make([][]int32, s.Classes)
	for i, l := range s.Labels {
		if int(l) >= s.Classes {
			return nil, fmt.Errorf("datasets: split: sample %d: label %d, want 0 … %d", i, l, s.Classes-1)
		}
		byClass[l] = append(byClass[l], int32(i))
	}
	return byClass, nil
}

// shardCounts returns the number of shards m_c of each class, 2N in all and at most N of one class. It gives one shard
// after the other to the class whose shards then remain the largest, or to the first of several such classes. This is
// d'Hondt's rule, which makes the smallest quotient n_c/m_c as large as possible.
func shardCounts(byClass [][]int32, clients int) ([]int, error) {
	shards := make([]int, len(byClass))
	for range 2 * clients {
		best := -1
		for c, own := range byClass {
			if shards[c] == clients || len(own) == 0 {
				continue
			}
			if best < 0 || len(own)*(shards[best]+1) > len(byClass[best])*(shards[c]+1) {
				best = c
			}
		}
		if best < 0 {
			return nil, fmt.Errorf("datasets: split: samples of fewer than 2 classes, want 2 at least")
		}
		shards[best]++
	}
	return shards, nil
}

// drawPairs shuffles the shards and gives each client two. If both have the same class, it exchanges one with a client
// that has no shard of that class. There is such a client, because no class has more shards than there are clients.
func drawPairs(shards []int, clients int, seed uint32) [][2]uint8 {
	var all []int32
	for c, m := range shards {
		all = append(all, slices.Repeat([]int32{int32(c)}, m)...)
	}
	s := rng.Key{Seed: seed, Purpose: rng.Split}.Stream(rng.SplitRoundPairs, 0, 0)
	s.Shuffle(all)
	for i := range clients {
		class := all[2*i]
		if all[2*i+1] != class {
			continue
		}
		j := s.IntN(clients)
		for all[2*j] == class || all[2*j+1] == class {
			j = (j + 1) % clients
		}
		all[2*i+1], all[2*j] = all[2*j], class
	}
	pairs := make([][2]uint8, clients)
	for i := range pairs {
		pairs[i] = [2]uint8{uint8(min(all[2*i], all[2*i+1])), uint8(max(all[2*i], all[2*i+1]))}
	}
	return pairs
}

// dealTwoClasses gives every client a shard of each of its two classes, and returns the samples of each client in the
// order of the file. All shards have the same size. Stream (3, c, part) of rng.Split shuffles the samples of class c;
// part is 0 for the training set and 1 for the test set.
func dealTwoClasses(s *plan.Samples, pairs [][2]uint8, seed uint32, part int) ([][]int32, error) {
	byClass, err := samplesByClass(s, 2)
	if err != nil {
		return nil, err
	}
	shards := make([]int, len(byClass))
	for _, pair := range pairs {
		shards[pair[0]]++
		shards[pair[1]]++
	}
	// A shard must have the same size in every class, so the class with the smallest shards decides.
	size, short := math.MaxInt, -1
	for c, m := range shards {
		if m > 0 {
			size = min(size, len(byClass[c])/m)
		}
		if m > len(byClass[c]) {
			short = c
		}
	}
	if short >= 0 {
		return nil, fmt.Errorf("datasets: split: %d samples of class %d for %d clients, want one for each",
			len(byClass[short]), short, shards[short])
	}
	// Each class is shuffled once and then dealt out from the front.
	given := make([]int, len(byClass))
	order := make([][]int32, len(byClass))
	parts := make([][]int32, len(pairs))
	for i, pair := range pairs {
		for _, c := range pair {
			if order[c] == nil {
				order[c] = slices.Clone(byClass[c])
				rng.Key{Seed: seed, Purpose: rng.Split}.Stream(rng.SplitRoundTwoClass, int(c), part).Shuffle(order[c])
			}
			parts[i] = append(parts[i], order[c][given[c]:given[c]+size]...)
			given[c] += size
		}
		slices.Sort(parts[i])
	}
	return parts, nil
}
