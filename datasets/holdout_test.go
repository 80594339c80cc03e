package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// Samples that are held out go to no client, whatever the split; all others do, and the split of the others is that of
// a set that never had the held-out ones.
func TestHoldOut(t *testing.T) {
	set := unevenSet()
	n := set.Train.Len()
	for _, kind := range SplitKinds() {
		t.Run(kind, func(t *testing.T) {
			o := SplitOptions{Kind: SplitKind(kind), Clients: 4, Clusters: 2, Alpha: 1}
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
			if twice || kind != "two-class" && len(all) != n { // two-class leaves some to nobody
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
