package datasets

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
)

// numbered is a set whose sample i shows i, of class i mod 10.
func numbered(train, test int) *Set {
	set := &Set{}
	for part, into := range []**plan.Samples{&set.Train, &set.Test} {
		n := []int{train, test}[part]
		s := &plan.Samples{
			Name: "digits", H: 1, W: 2, C: 1, Classes: 10, Mean: []float32{0}, Std: []float32{1},
			Images: make([]uint8, 2*n), Labels: make([]uint8, n),
		}
		for i := range n {
			s.Images[2*i], s.Images[2*i+1], s.Labels[i] = uint8(i), uint8(i>>8), uint8(i%10)
		}
		*into = s
	}
	return set
}

// openNumbered opens a numbered set as one of the table, and returns it as it was, too.
func openNumbered(t *testing.T, o Options) (swapped, plain *Set, err error) {
	t.Helper()
	plain = numbered(1207, 203)
	copied, all := *plain, loaders
	defer func() { loaders = all }()
	generate := func(context.Context, Options) (*Set, error) { return &copied, nil }
	loaders = append(slices.Clone(all), loader{info: Info{Name: "digits"}, generate: generate})
	swapped, err = Open(t.Context(), "digits", o)
	return swapped, plain, err
}

// exchanged returns which class group g sees in place of each, or fails if its samples do not agree.
func exchanged(t *testing.T, set, plain *Set, g int) [10]int {
	t.Helper()
	var to [10]int
	for c := range to {
		to[c] = -1
	}
	for part, s := range []*plan.Samples{set.Train, set.Test} {
		was := []*plan.Samples{plain.Train, plain.Test}[part]
		for k, own := range [][][]int32{set.Split.Train, set.Split.Test}[part] {
			if set.Split.Group[k] != g {
				continue
			}
			for _, i := range own {
				old, now := was.Labels[i], int(s.Labels[i])
				if to[old] >= 0 && to[old] != now {
					t.Fatalf("group %d: label %d became %d and %d, want one of them", g, old, to[old], now)
				}
				to[old] = now
			}
		}
	}
	return to
}

// Every sample goes to one client, the groups are halves, and two pairs without a label in common are exchanged: on
// paper in the second group, in the code in either, in training and test samples alike.
func TestSwapLabels(t *testing.T) {
	const clients = 24
	for _, reading := range []Reading{ReadPaper, ReadCode} {
		t.Run(string(reading), func(t *testing.T) {
			seen := map[string]bool{}
			for seed := range uint32(5) {
				set, plain := must.Get2(openNumbered(t, Options{
					Seed: seed, Clients: clients, Reading: reading, SwapPairs: 2,
				}))(t)
				s := set.Split
				for part, parts := range [][][]int32{s.Train, s.Test} {
					all := slices.Concat(parts...)
					slices.Sort(all)
					if n := []int{1207, 203}[part]; len(all) != n || len(slices.Compact(all)) != n {
						t.Fatalf("part %d: %d samples held, want each of %d once", part, len(all), n)
					}
				}
				second := 0
				for k := range clients {
					second += s.Group[k]
					train, test := len(s.Train[k]), len(s.Test[k])
					fair := train == 1207/clients || train == 1207/clients+1
					if reading == ReadCode {
						fair = train+test == 1410/clients || train+test == 1410/clients+1
					} else if test != 203/clients && test != 203/clients+1 {
						fair = false
					}
					if !fair || !slices.IsSorted(s.Train[k]) || !slices.IsSorted(s.Test[k]) {
						t.Errorf("client %d: %d and %d samples, want equal shares in ascending order", k, train, test)
					}
				}
				if second != clients/2 {
					t.Errorf("%d of %d clients in group 1, want half", second, clients)
				}
				for g := range 2 {
					to, moved := exchanged(t, set, plain, g), 0
					for c, now := range to {
						if now != c {
							moved++
						}
						if to[now] != c {
							t.Errorf("group %d: label %d became %d, and %d became %d, want pairs exchanged",
								g, c, now, now, to[now])
						}
					}
					want := 4
					if g == 0 && reading == ReadPaper {
						want = 0
					}
					if moved != want {
						t.Errorf("group %d: %d labels moved, want %d: %v", g, moved, want, to)
					}
					if want > 0 {
						seen[fmt.Sprint(to)] = true
					}
				}
				if numbered(1207, 203).Train.Labels[7] != plain.Train.Labels[7] ||
					!slices.Equal(numbered(1207, 203).Test.Labels, plain.Test.Labels) {
					t.Error("the loader's own labels changed")
				}
			}
			if len(seen) < 4 {
				t.Errorf("%d different exchanges in five seeds, want nearly all different", len(seen))
			}
		})
	}
}

// Who is in the second group does not depend on the client's number: over many seeds each client is in it half of the
// time. Tolerance: five standard errors of a binomial count.
func TestSwapGroups(t *testing.T) {
	const clients, seeds = 4, 400
	var second [clients]int
	for seed := range uint32(seeds) {
		set := numbered(40, 40)
		must.OK(t, swapLabels(set, Options{Seed: seed, Clients: clients, Reading: ReadPaper, SwapPairs: 1}))
		for k, g := range set.Split.Group {
			second[k] += g
		}
	}
	for k, n := range second {
		if tol := 5 * math.Sqrt(seeds) / 2; math.Abs(float64(n)-seeds/2) > tol {
			t.Errorf("client %d: %d of %d times in group 1, want %d ± %.0f", k, n, seeds, seeds/2, tol)
		}
	}
}

func TestSwapErrors(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Clients: 24, Reading: ReadCode, SwapPairs: 5}, "<nil>"},
		{
			Options{Clients: 24, Reading: ReadCode, SwapPairs: 6},
			"datasets: digits: 6 pairs of labels swapped, want 0 … 5 of 10 classes",
		},
		{
			Options{Clients: 24, Reading: ReadCode, SwapPairs: -1},
			"datasets: digits: -1 pairs of labels swapped, want 0 … 5 of 10 classes",
		},
		{
			Options{Clients: 7, Reading: ReadPaper, SwapPairs: 2},
			"datasets: digits: 7 clients in two equal groups, want an even number",
		},
		{Options{Reading: ReadPaper, SwapPairs: 2}, "datasets: digits: 0 clients, want 1 … 100000"},
		{Options{Clients: 24, SwapPairs: 2}, `datasets: digits: reading "": unknown, want paper or code`},
	} {
		if _, _, err := openNumbered(t, c.o); fmt.Sprint(err) != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
