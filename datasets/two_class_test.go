package datasets

import (
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// sized returns labels with so many samples of each class, mixed.
func sized(counts ...int) (labels []uint8) {
	left := slices.Clone(counts)
	for len(labels) < sum(counts) {
		for c := range left {
			if left[c] > 0 {
				labels = append(labels, uint8(c))
				left[c]--
			}
		}
	}
	return labels
}

func sum(x []int) (total int) {
	for _, v := range x {
		total += v
	}
	return total
}

// twoClassOf cuts labels among clients, and returns the two classes of each too.
func twoClassOf(labels []uint8, classes, clients int, seed uint32) (parts [][]int32, pairs [][2]uint8, err error) {
	samples := &plan.Samples{Labels: labels, Classes: classes}
	if pairs, err = drawTwoClasses(samples, clients, seed); err == nil {
		parts, err = dealTwoClasses(samples, pairs, seed, 0)
	}
	return parts, pairs, err
}

// FedAR, section 6.1: the data evenly distributed, two classes at each client. The sizes are of CIFAR-10, SVHN
// and others.
func TestTwoClass(t *testing.T) {
	longtest.Numbers(t)
	svhn := []int{4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659}
	for _, c := range []struct {
		name    string
		counts  []int
		clients int
		each    int // samples of a client
	}{
		{"cifar10, 100 clients", slices.Repeat([]int{5000}, 10), 100, 500},
		{"cifar10, 80 clients", slices.Repeat([]int{5000}, 10), 80, 624}, // 5000/16 = 312.5
		{"cifar10, 120 clients", slices.Repeat([]int{5000}, 10), 120, 416},
		{"cifar10, 5 clients", slices.Repeat([]int{5000}, 10), 5, 10_000},
		// 66 shards: 7 of some classes, 714 samples each
		{"cifar10, 33 clients", slices.Repeat([]int{5000}, 10), 33, 1428},
		// the largest s with Σ min(100, ⌊n_c/s⌋) ≥ 200
		{"svhn, 100 clients", svhn, 100, 2 * 357},
		// every client has a shard of class 0; 10/2 of the others
		{"a class of most", []int{1000, 10, 10}, 4, 10},
		{"one client", []int{3, 9, 5}, 1, 10},
		{"two classes", []int{7, 8}, 3, 4},
	} {
		for seed := range uint32(5) {
			labels := sized(c.counts...)
			parts, pairs := must.Get2(twoClassOf(labels, len(c.counts), c.clients, seed))(t)
			checkPairs(t, c.name, labels, parts, pairs, c.clients, c.each)
			test := must.Get(dealTwoClasses(&plan.Samples{Labels: labels, Classes: len(c.counts)}, pairs, seed, 1))(t)
			checkPairs(t, c.name+", test", labels, test, pairs, c.clients, c.each)
			if c.clients > 20 && slices.Equal(test[0], parts[0]) { // of fewer clients, some hold whole classes
				t.Errorf("%s: the training and the test samples of client 0 have the same numbers", c.name)
			}
			again, _, err := twoClassOf(labels, len(c.counts), c.clients, seed)
			if err != nil || !slices.EqualFunc(again, parts, slices.Equal[[]int32]) {
				t.Errorf("%s, seed %d: another split the second time, %v", c.name, seed, err)
			}
			other, _, err := twoClassOf(labels, len(c.counts), c.clients, seed+1)
			if err != nil || c.clients > 3 && slices.EqualFunc(other, parts, slices.Equal[[]int32]) {
				t.Errorf("%s: the same split from seeds %d and %d, %v", c.name, seed, seed+1, err)
			}
		}
	}
}

// checkPairs checks sizes, classes, order, and that no sample is held twice.
func checkPairs(t *testing.T, name string, labels []uint8, parts [][]int32, pairs [][2]uint8, clients, each int) {
	t.Helper()
	if len(parts) != clients || len(pairs) != clients {
		t.Fatalf("%s: %d parts, %d pairs, want %d", name, len(parts), len(pairs), clients)
	}
	held := map[int32]bool{}
	for i, part := range parts {
		count := map[uint8]int{}
		for _, s := range part {
			if held[s] {
				t.Fatalf("%s: sample %d is held twice", name, s)
			}
			held[s] = true
			count[labels[s]]++
		}
		if len(part) != each || len(count) != 2 || count[pairs[i][0]] != each/2 || count[pairs[i][1]] != each/2 ||
			pairs[i][0] >= pairs[i][1] || !slices.IsSorted(part) {
			t.Errorf("%s: client %d of classes %v holds %v, %d samples, want %d of either, ascending",
				name, i, pairs[i], count, len(part), each/2)
		}
	}
}

// All pairs of classes come about equally often: 45 of them, 100 clients, 200 seeds; 444 of each expected, sd 21.
func TestTwoClassPairsAreDrawn(t *testing.T) {
	labels := sized(slices.Repeat([]int{200}, 10)...)
	count := map[[2]uint8]int{}
	for seed := range uint32(200) {
		_, pairs := must.Get2(twoClassOf(labels, 10, 100, seed))(t)
		for _, p := range pairs {
			count[p]++
		}
	}
	if len(count) != 45 {
		t.Errorf("%d different pairs, want 45", len(count))
	}
	for p, n := range count {
		if n < 444-110 || n > 444+110 { // five standard deviations
			t.Errorf("classes %v meet %d times of 20000, want 444 ± 110", p, n)
		}
	}
}

func TestTwoClassRefuses(t *testing.T) {
	for _, c := range []struct {
		name             string
		labels           []uint8
		classes, clients int
		want             string
	}{
		{"one class", sized(5), 1, 2, "1 classes, want 2 … 256"},
		{"one class has samples", sized(5, 0), 2, 2, "fewer than 2 classes"},
		{"label", []uint8{0, 2}, 2, 1, "sample 1: label 2, want 0 … 1"},
		{"too few samples", sized(3, 3), 2, 4, "3 samples of class 1 for 4 clients, want one for each"},
	} {
		if _, _, err := twoClassOf(c.labels, c.classes, c.clients, 1); err == nil ||
			!strings.HasPrefix(err.Error(), "datasets: split: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	train, test := &plan.Samples{Labels: sized(5, 5), Classes: 2}, &plan.Samples{Labels: sized(1, 5), Classes: 2}
	_, _, err := twoClasses(train, test, 2, 1)
	wantError(t, err, nil, "datasets: split: 1 samples of class 0 for 2 clients")
}
