package datasets

import (
	"fmt"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
)

// written returns a set of so many writers: writer w has w%5 + 1 training samples and w%3 test samples, and all of them
// have the label w.
func written(writers int) *Set {
	var sizes [2][]int
	set := &Set{Name: "written", Natural: &Split{}}
	for w := range writers {
		sizes[0], sizes[1] = append(sizes[0], w%5+1), append(sizes[1], w%3)
	}
	for part, own := range sizes {
		parts, n := consecutive(own)
		s := &plan.Samples{Classes: writers, H: 1, W: 1, C: 1, Images: make([]uint8, n), Labels: make([]uint8, n)}
		for w, part := range parts {
			for _, i := range part {
				s.Labels[i] = uint8(w)
			}
		}
		if part == 0 {
			set.Train, set.Natural.Train = s, parts
		} else {
			set.Test, set.Natural.Test = s, parts
		}
	}
	return set
}

// Every client has all samples of one writer and nobody else's: all writers in their order, or some of them, which
// depend on the seed.
func TestNatural(t *testing.T) {
	set := written(30)
	drawn := map[string]bool{}
	for _, c := range []struct {
		clients int
		seed    uint32
	}{{30, 1}, {30, 2}, {12, 1}, {12, 2}, {12, 3}, {1, 1}} {
		split := must.Get(Divide(set, SplitOptions{Kind: SplitNatural, Clients: c.clients}, Reserved{}, c.seed))(t)
		var writers []int
		for i, own := range split.Train {
			w := int(set.Train.Labels[own[0]])
			writers = append(writers, w)
			if len(own) != w%5+1 || len(split.Test[i]) != w%3 {
				t.Errorf("client %d, writer %d: %d and %d samples, want %d and %d", i, w, len(own), len(split.Test[i]),
					w%5+1, w%3)
			}
			for part, own := range [][]int32{own, split.Test[i]} {
				for _, at := range own {
					if l := []*plan.Samples{set.Train, set.Test}[part].Labels[at]; int(l) != w {
						t.Errorf("client %d: a sample of writer %d, want writer %d alone", i, l, w)
					}
				}
			}
		}
		if len(writers) != c.clients || !slices.IsSorted(writers) || len(slices.Compact(writers)) != c.clients {
			t.Errorf("%d clients are the writers %v, want as many, each once and in order", c.clients, writers)
		}
		drawn[fmt.Sprint(writers)] = true
	}
	if len(drawn) != 5 { // all with 30 of 30, whatever the seed
		t.Errorf("%d different draws, want 5", len(drawn))
	}
}

// Samples held out and kept back are each writer's own.
func TestNaturalReserved(t *testing.T) {
	set := written(30)
	o := SplitOptions{Kind: SplitNatural, Clients: 20}
	whole := must.Get(Divide(set, o, Reserved{}, 3))(t)
	split := must.Get(Divide(set, o, Reserved{Validation: 0.25, HeldOut: 0.25}, 3))(t)
	held, all := 0, 0
	for i, own := range whole.Train {
		got := slices.Concat(split.Train[i], split.Valid[i], split.HeldOut[i])
		slices.Sort(got)
		if !slices.Equal(got, own) {
			t.Errorf("client %d: %v in three parts, want its own %v", i, got, own)
		}
		held, all = held+len(split.HeldOut[i]), all+len(own)
	}
	if held != (all+2)/4 { // to the nearest
		t.Errorf("%d of %d held out, want a quarter", held, all)
	}
}

func TestNaturalErrors(t *testing.T) {
	for _, c := range []struct {
		set     *Set
		clients int
		want    string
	}{
		{written(30), 31, "natural: 31 clients, want 1 … 30, the writers of written"},
		{written(30), 0, "natural: 0 clients, want 1 … 30"},
		{numbered(100, 10), 10, "who has made which sample of "},
	} {
		_, err := Divide(c.set, SplitOptions{Kind: SplitNatural, Clients: c.clients}, Reserved{}, 1)
		wantError(t, err, nil, "datasets: split: ", c.want)
	}
	_, err := Cut(written(3).Train, nil, SplitOptions{Kind: SplitNatural, Clients: 3}, 1)
	wantError(t, err, nil, "datasets: split: natural: ")
}

// Who has made a sample is part of what a set is.
func TestNaturalChecksum(t *testing.T) {
	sums := map[string]bool{}
	for _, move := range []string{"as it is", "of the next writer"} {
		content := smallLEAF()
		if move != "as it is" {
			for name, data := range content {
				content[name] = moved(t, data)
			}
		}
		sums[openLEAF(t, content).Checksum] = true
	}
	if len(sums) != 2 {
		t.Error("the set has the same checksum when a sample is another writer's")
	}
}
