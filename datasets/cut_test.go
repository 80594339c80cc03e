package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/datasets/rng/numpy"
	"rollcall/internal/must"
)

func cutParts(train *plan.Samples, o SplitOptions, seed uint32) ([][]int32, error) {
	split, err := Cut(train, nil, o, seed)
	return split.Train, err
}

// unevenSet returns a set whose training and test samples are the same 4003, of ten classes of different sizes.
func unevenSet() *Set {
	labels := make([]uint8, 4003)
	for i := range labels {
		labels[i] = uint8((i*i + i/7) % 10)
	}
	samples := &plan.Samples{Classes: 10, Labels: labels}
	return &Set{Train: samples, Test: samples, Name: "uneven"}
}

// cutKinds are the kinds that Cut cuts: natural needs a set that knows its writers.
func cutKinds() []string {
	return slices.DeleteFunc(SplitKinds(), func(kind string) bool { return kind == string(SplitNatural) })
}

// optionsOf returns options of a kind. As a file, it gives 4 of 5 samples of unevenSet to clients.
func optionsOf(kind string, clients, clusters int, alpha float64) SplitOptions {
	o := SplitOptions{Kind: SplitKind(kind), Clients: clients, Clusters: clusters, Alpha: alpha}
	if o.Kind == SplitFile {
		o.Parts = make([][]int32, clients)
		for i := range unevenSet().Train.Len() {
			if k := i * i % clients; i%5 > 0 {
				o.Parts[k] = append(o.Parts[k], int32(i))
			}
		}
	}
	return o
}

// Without reserved samples, Divide is Cut. What Cut returns is recorded by TestRevisions.
func TestDivideIsCut(t *testing.T) {
	set := unevenSet()
	for _, kind := range cutKinds() {
		for _, draws := range []bool{false, kind == string(SplitClients)} {
			options := func() SplitOptions {
				o := optionsOf(kind, 20, 5, 0.5)
				if draws {
					o.NumPy = numpy.New(7)
				}
				return o
			}
			cut := must.Get(Cut(set.Train, set.Test, options(), 7))(t)
			split := must.Get(Divide(set, options(), Reserved{}, 7))(t)
			if fmt.Sprint(split) != fmt.Sprint(cut) || split.Valid != nil {
				t.Errorf("%s: got another split than from Cut, want the same without validation samples", kind)
			}
		}
	}
}

// The clients of a cluster share what SplitClasses gives to it, in parts whose sizes differ by one at most.
func TestCutClusters(t *testing.T) {
	const clients, clusters, alpha, seed = 20, 5, 0.5, 3
	train := unevenSet().Train
	o := SplitOptions{Kind: SplitClusters, Clients: clients, Clusters: clusters, Alpha: alpha}
	parts, err := cutParts(train, o, seed)
	if err != nil || len(parts) != clients {
		t.Fatalf("%d parts, %v, want %d", len(parts), err, clients)
	}
	want := must.Get(cutParts(train, SplitOptions{Kind: SplitClasses, Clients: clusters, Alpha: alpha}, seed))(t)
	for k := range clusters {
		own := parts[k*clients/clusters : (k+1)*clients/clusters]
		checkEven(t, fmt.Sprintf("cluster %d", k), own)
		all, cluster := slices.Sorted(slices.Values(slices.Concat(own...))), slices.Sorted(slices.Values(want[k]))
		if !slices.Equal(all, cluster) {
			t.Errorf("cluster %d: its clients have %d samples, want the cluster's %d", k, len(all), len(cluster))
		}
	}
}

// Every sample belongs to one client, and the parts differ by seed.
func TestCutEven(t *testing.T) {
	train := unevenSet().Train
	for _, clients := range []int{1, 7, 100, 4003, 5000} {
		o := SplitOptions{Kind: SplitEven, Clients: clients}
		parts, err := cutParts(train, o, 1)
		if err != nil || len(parts) != clients {
			t.Fatalf("%d parts, %v, want %d", len(parts), err, clients)
		}
		checkEven(t, fmt.Sprintf("%d clients", clients), parts)
		for i, sample := range slices.Sorted(slices.Values(slices.Concat(parts...))) {
			if int(sample) != i {
				t.Fatalf("%d clients: sample %d in place %d, want each once", clients, sample, i)
			}
		}
		other, err := cutParts(train, o, 2)
		if err != nil || clients > 1 && slices.EqualFunc(other, parts, slices.Equal[[]int32]) {
			t.Errorf("%d clients: the same parts for seeds 1 and 2, %v", clients, err)
		}
	}
}

// checkEven checks that the sizes of parts differ by one at most, and that every part ascends.
func checkEven(t *testing.T, name string, parts [][]int32) {
	t.Helper()
	least, most := len(parts[0]), len(parts[0])
	for i, part := range parts {
		least, most = min(least, len(part)), max(most, len(part))
		if !slices.IsSorted(part) {
			t.Errorf("%s: part %d: %v, want it ascending", name, i, part)
		}
	}
	if most-least > 1 {
		t.Errorf("%s: parts of %d … %d samples, want sizes that differ by one at most", name, least, most)
	}
}

func TestCutErrors(t *testing.T) {
	draws := numpy.New(1)
	const known = "clients, classes, clusters, even, two-class, file, natural"
	const positive = ", want a finite positive number (1e-300 or more)"
	for _, c := range []struct {
		o    SplitOptions
		want string
	}{
		{SplitOptions{Kind: "shards", Clients: 3}, `kind "shards": unknown, want one of ` + known},
		{SplitOptions{Clients: 3}, `kind "": unknown, want one of ` + known},
		{SplitOptions{Kind: SplitEven}, "0 clients, want at least 1"},
		{SplitOptions{Kind: SplitClients, Clients: -1, Alpha: 1}, "-1 clients, want at least 1"},
		{SplitOptions{Kind: SplitClusters, Clients: 10, Alpha: 1}, "0 clusters for 10 clients, want a divisor of 10"},
		{
			SplitOptions{Kind: SplitClusters, Clients: 10, Clusters: 3, Alpha: 1},
			"3 clusters for 10 clients, want a divisor of 10",
		},
		{SplitOptions{Kind: SplitEven, Clients: 10, NumPy: draws}, `NumPy's draws for kind "even", want clients`},
		{
			SplitOptions{Kind: SplitFile, Clients: 2, Parts: [][]int32{{1}, {2}, {3}}},
			"samples of 3 clients, want at most 2",
		},
		{
			SplitOptions{Kind: SplitFile, Clients: 2, Parts: [][]int32{{1}, {2, 4003}}},
			"client 1: sample 4003, want 0 … 4002",
		},
		{SplitOptions{Kind: SplitClasses, Clients: 10}, "alpha 0" + positive},
		{SplitOptions{Kind: SplitClients, Clients: 10, Alpha: -1}, "alpha -1" + positive},
		{SplitOptions{Kind: SplitClients, Clients: 10, Alpha: math.NaN()}, "alpha NaN" + positive},
		{SplitOptions{Kind: SplitClients, Clients: 10, Alpha: math.Inf(1)}, "alpha +Inf" + positive},
	} {
		_, err := cutParts(unevenSet().Train, c.o, 1)
		if want := "datasets: split: " + c.want; fmt.Sprint(err) != want {
			t.Errorf("%+v:\ngot  %v\nwant %s", c.o, err, want)
		}
		if _, again := Divide(unevenSet(), c.o, Reserved{}, 1); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%+v: Divide: %v, want %v", c.o, again, err)
		}
	}
	for classes, want := range map[int]string{0: "0 classes, want 1 … 256", 2: "sample 2: label 2, want 0 … 1"} {
		samples := &plan.Samples{Labels: []uint8{0, 1, 2}, Classes: classes}
		_, err := cutParts(samples, SplitOptions{Kind: SplitClients, Clients: 5, Alpha: 0.1}, 1)
		wantError(t, err, nil, "datasets: split: "+want)
	}
}

// The data set's own split is taken, and stays as it is when samples of it are kept back.
func TestDivideOwnSplit(t *testing.T) {
	set := unevenSet()
	set.Split = &Split{
		Train: [][]int32{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}, Test: [][]int32{{1}, {0}}, Group: []int{1, 0},
	}
	o := SplitOptions{Clients: 2}
	split, err := Divide(set, o, Reserved{}, 1)
	if err != nil || split != set.Split {
		t.Errorf("nothing kept back: %v, %v, want the set's own split", split, err)
	}
	for range 2 {
		split := must.Get(Divide(set, o, Reserved{Validation: 0.4}, 1))(t)
		if len(split.Train[0]) != 3 || len(split.Valid[1]) != 2 ||
			fmt.Sprint(split.Test, split.Group) != "[[1] [0]] [1 0]" {
			t.Errorf("got %+v, want 3 samples to train and 2 kept back of each, and the set's tests and groups", split)
		}
		if fmt.Sprint(set.Split.Train) != "[[0 1 2 3 4] [5 6 7 8 9]]" || set.Split.Valid != nil {
			t.Errorf("the set's split is %+v now, want it unchanged", set.Split)
		}
	}
	_, err = Divide(set, SplitOptions{Clients: 3}, Reserved{}, 1)
	wantError(t, err, nil, "uneven: samples of 2 clients, want 3")
	for _, share := range []float64{-0.1, 1, math.NaN()} {
		_, err = Divide(set, o, Reserved{Validation: share}, 1)
		wantError(t, err, nil, fmt.Sprintf("datasets: split: validation share %g, want at least 0 and below 1", share))
	}
}

// Every client keeps back its share, at random and in order, and the shares of all come to the fraction to the nearest
// sample.
func TestReserve(t *testing.T) {
	sizes := []int{50, 0, 3, 1, 1, 1, 1, 1, 2, 40, 700}
	for _, fraction := range []float64{0, 0.2, 0.5} {
		t.Run(fmt.Sprint(fraction), func(t *testing.T) {
			parts, _ := consecutive(sizes)
			reserve := func(seed uint32) (train, valid [][]int32) {
				return must.Get2(setAside("validation", parts, fraction, seed, rng.SplitStepReserve))(t)
			}
			trains, valids := reserve(3)
			seen, reserved := 0, 0
			for i, own := range parts {
				train, valid := trains[i], valids[i]
				seen += len(own)
				reserved += len(valid)
				if want := int(math.Round(fraction * float64(seen))); reserved != want {
					t.Errorf("the first %d clients keep back %d of %d samples, want %d", i+1, reserved, seen, want)
				}
				both := slices.Concat(train, valid)
				slices.Sort(both)
				if !slices.Equal(both, own) || !slices.IsSorted(train) || !slices.IsSorted(valid) {
					t.Errorf("client %d: %v for training and %v kept back, "+
						"want both ascending and together its %d samples", i, train, valid, len(own))
				}
			}
			if last := valids[len(sizes)-1]; fraction > 0 && (last[0] > 100+40 || last[len(last)-1] < 700) {
				t.Errorf("kept back of 700 samples from 100 on: %d to %d, want them all over",
					last[0], last[len(last)-1])
			}
			if _, other := reserve(4); fraction > 0 && fmt.Sprint(other) == fmt.Sprint(valids) {
				t.Error("another seed: the same split")
			}
		})
	}
}

// Samples that are held out go to no client, whatever the split; all others do, and the others are split as a set that
// never had the held-out ones.
func TestHoldOut(t *testing.T) {
	set := unevenSet()
	n := set.Train.Len()
	for _, kind := range cutKinds() {
		t.Run(kind, func(t *testing.T) {
			o := optionsOf(kind, 4, 2, 1)
			split := must.Get(Divide(set, o, Reserved{HeldOut: 0.25}, 7))(t)
			if len(split.HeldOut) != 1 || len(split.HeldOut[0]) != int(math.Round(float64(n)/4)) {
				t.Fatalf("held out: %d parts, want one of a quarter of %d samples", len(split.HeldOut), n)
			}
			held := split.HeldOut[0]
			given := slices.Concat(split.Train...)
			for _, i := range given {
				if slices.Contains(held, i) {
					t.Errorf("sample %d is held out and goes to a client", i)
				}
			}
			all := slices.Concat(given, held)
			slices.Sort(all)
			twice := len(slices.Compact(slices.Clone(all))) != len(all)
			if twice || kind != "two-class" && kind != "file" && len(all) != n { // these two leave some to nobody
				t.Errorf("%d samples, want each of the %d once", len(all), n)
			}
			for i, own := range split.OwnClasses {
				for _, at := range own {
					class := set.Train.Labels[at]
					has := func(j int32) bool { return set.Train.Labels[j] == class }
					if !slices.Contains(held, at) || !slices.ContainsFunc(split.Train[i], has) {
						t.Errorf("client %d: evaluated on sample %d of class %d, want held-out ones of its classes",
							i, at, class)
					}
				}
			}
			if other, err := Divide(set, o, Reserved{HeldOut: 0.25}, 8); err != nil ||
				fmt.Sprint(other.HeldOut) == fmt.Sprint(held) {
				t.Errorf("another seed, %v: the same samples", err)
			}
			// The labels of the test set are of no account.
			blind := *set
			test := *set.Test
			test.Labels = make([]uint8, len(test.Labels))
			blind.Test = &test
			if same, err := Divide(&blind, o, Reserved{HeldOut: 0.25}, 7); err != nil ||
				fmt.Sprint(same) != fmt.Sprint(split) {
				t.Errorf("other labels in the test set, %v: another split, want the same", err)
			}
		})
	}
}

// subsetOf returns a set that has only some samples of another.
func subsetOf(set *Set, of [2][]int32) *Set {
	return &Set{Train: labelled(set.Train, of[0]), Test: labelled(set.Test, of[1]), Name: set.Name}
}

// A subset is split, held out of and reserved from as a set that has no other samples, whatever the split.
func TestSubset(t *testing.T) {
	set := unevenSet()
	for _, kind := range cutKinds() {
		for _, reserved := range []Reserved{
			{}, {Validation: 0.2}, {HeldOut: 0.25}, {HeldOut: 0.25, Validation: 0.2},
		} {
			t.Run(fmt.Sprintf("%s/%+v", kind, reserved), func(t *testing.T) {
				reserved.Sizes = [2]int{1000, 300}
				o := optionsOf(kind, 8, 4, 1)
				split := must.Get(Divide(set, o, reserved, 7))(t)
				of := split.Subset
				for part, indices := range of {
					if len(indices) != reserved.Sizes[part] || !slices.IsSorted(indices) ||
						len(slices.Compact(slices.Clone(indices))) != len(indices) {
						t.Fatalf("part %d: %d samples, want %d in ascending order, none twice", part, len(indices),
							reserved.Sizes[part])
					}
				}
				o = optionsOf(kind, 8, 4, 1)
				for k, own := range o.Parts { // of a file: places within the subset
					o.Parts[k] = nil
					for _, at := range own {
						if place, in := slices.BinarySearch(of[0], at); in {
							o.Parts[k] = append(o.Parts[k], int32(place))
						}
					}
				}
				alone := Reserved{Validation: reserved.Validation, HeldOut: reserved.HeldOut}
				want := must.Get(Divide(subsetOf(set, of), o, alone, 7))(t)
				owns := of[1]
				if reserved.HeldOut > 0 {
					owns = of[0]
				}
				among(of[0], want.Train)
				among(of[0], want.Valid)
				among(of[0], want.HeldOut)
				among(owns, want.OwnClasses)
				want.Subset = of
				if fmt.Sprint(split) != fmt.Sprint(want) {
					t.Error("another split than that of a set without the other samples, want the same")
				}
			})
		}
	}
}

// The two parts do not depend on each other, a smaller subset is within a larger one, every seed has its own, and all
// samples are about as often in one.
func TestSubsetDraws(t *testing.T) {
	set := unevenSet()
	draw := func(train, test int, seed uint32) [2][]int32 {
		o := SplitOptions{Kind: SplitEven, Clients: 2}
		return must.Get(Divide(set, o, Reserved{Sizes: [2]int{train, test}}, seed))(t).Subset
	}
	both, one, other := draw(1000, 300, 7), draw(1000, 0, 7), draw(0, 300, 7)
	if !slices.Equal(both[0], one[0]) || !slices.Equal(both[1], other[1]) || one[1] != nil || other[0] != nil {
		t.Error("a size of one part changes the subset of the other, want it unchanged")
	}
	if same := draw(1000, 1000, 7); slices.Equal(same[0], same[1]) {
		t.Error("the same places in both parts, want draws of their own")
	}
	for _, at := range draw(400, 0, 7)[0] {
		if _, in := slices.BinarySearch(both[0], at); !in {
			t.Errorf("sample %d is in the smaller subset alone, want it in the larger one too", at)
		}
	}
	if slices.Equal(draw(1000, 0, 8)[0], both[0]) {
		t.Error("another seed: the same subset")
	}
	if all := draw(4003, 4003, 7); !slices.Equal(all[0], indices(4003)) || !slices.Equal(all[1], indices(4003)) {
		t.Error("as many samples as the set has: a part of them, want all")
	}
	// Of 400 subsets of a quarter, a sample is in 100 ± √(400·¼·¾) = 8.7; of 4003 samples the most extreme is some 3.7
	// standard deviations off, and 6 would be a chance in 10⁵.
	times := make([]int, 4003)
	for seed := range uint32(400) {
		for _, at := range draw(1001, 0, seed)[0] {
			times[at]++
		}
	}
	if least, most := slices.Min(times), slices.Max(times); least < 100-52 || most > 100+52 {
		t.Errorf("a sample is in %d to %d of 400 subsets, want about 100", least, most)
	}
}

func TestSubsetErrors(t *testing.T) {
	set := unevenSet()
	o := SplitOptions{Kind: SplitEven, Clients: 2}
	for sizes, want := range map[[2]int]string{
		{4004, 0}: "datasets: split: 4004 train samples of uneven, want 1 … 4003",
		{0, 4004}: "datasets: split: 4004 test samples of uneven, want 1 … 4003",
		{-1, 0}:   "datasets: split: -1 train samples of uneven, want 1 … 4003",
	} {
		_, err := Divide(set, o, Reserved{Sizes: sizes}, 1)
		wantError(t, err, nil, want)
	}
	set.Split = &Split{Train: [][]int32{{0}, {1}}}
	_, err := Divide(set, o, Reserved{Sizes: [2]int{10, 0}}, 1)
	wantError(t, err, nil, "datasets: split: 10 train samples of uneven, which has a split of its own, want all")
}

// Where clients have samples of their own, each holds out its share, before what it keeps for validation.
func TestHoldOutOwnSplit(t *testing.T) {
	set := unevenSet()
	set.Split = &Split{
		Train: [][]int32{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}, Test: [][]int32{{1}, {0}}, Group: []int{1, 0},
	}
	split := must.Get(Divide(set, SplitOptions{Clients: 2}, Reserved{Validation: 0.25, HeldOut: 0.2}, 1))(t)
	for i, own := range set.Split.Train {
		all := slices.Concat(split.Train[i], split.Valid[i], split.HeldOut[i])
		slices.Sort(all)
		if len(split.HeldOut[i]) != 1 || len(split.Valid[i]) != 1 || !slices.Equal(all, own) {
			t.Errorf("client %d: %v held out, %v kept back, %v to train, want 1, 1 and 3 of %v",
				i, split.HeldOut[i], split.Valid[i], split.Train[i], own)
		}
	}
	if fmt.Sprint(set.Split.Train) != "[[0 1 2 3 4] [5 6 7 8 9]]" || set.Split.HeldOut != nil {
		t.Errorf("the set's split is %+v now, want it unchanged", set.Split)
	}
	for share, want := range map[float64]string{
		1: "datasets: split: held-out share 1, want at least 0 and below 1",
		0.01: fmt.Sprintf("datasets: split: a share of 0.01 of %d training samples holds none out, want one at least",
			set.Train.Len()),
	} {
		_, err := Divide(set, SplitOptions{Clients: 2}, Reserved{HeldOut: share}, 1)
		wantError(t, err, nil, want)
	}
	_, err := Divide(set, SplitOptions{Clients: 3}, Reserved{HeldOut: 0.2}, 1)
	wantError(t, err, nil, "uneven: samples of 2 clients, want 3")
}
