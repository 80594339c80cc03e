package datasets

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// drawTwoClasses returns the two classes of each client, ascending, as FedAR cuts its samples (section 6.1): every
// client holds exactly two classes, and as many samples as any other. [dealTwoClasses] gives it its samples.
//
// The paper prints no more than that. Here each client has two shards of one size, each of one class [inferred]. The
// number of shards m_c of the classes, 2N in all, is the one for which that size, min n_c/m_c, is largest (as equal as
// the data allow: 20 of 250 samples of every class of CIFAR-10 among 100 clients); what is left of a class is not used.
// Which shards meet at a client is drawn, of all ways to have different classes at each, by stream (4, 0, 0) of
// rng.Split.
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

// twoClasses returns the training samples of each client [clients][n_i], and the test samples of its own two classes
// [clients][k_i], as many of either as any other client, none shared; the rest is nobody's. Without a test set the
// latter are nil. All are in the order of the file.
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

// samplesByClass returns the samples of each class [classes][n_c], in file order. There must be `least` or more.
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

// shardCounts returns m_c: one shard after the other goes to the class whose shards are the largest with it (d'Hondt's
// rule, which makes the smallest quotient n_c/m_c as large as can be), the first of equal ones, and at most one for
// each client.
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

// drawPairs shuffles the shards and gives each client two. Where both are of one class, one is exchanged for a shard of
// a client that has none of that class; there is one, since no class has more shards than there are clients.
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

// dealTwoClasses gives every client a shard of each of its classes, all of one size, and returns each client's samples
// in file order. The samples of class c are shuffled by stream (3, c, part) of rng.Split; part 0 is the training set.
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
