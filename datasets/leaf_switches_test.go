package datasets

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
)

// The sizes of 7000 samples by availability, worked out by hand: 50 of 100 clients more available have s =
// 7000/(10·50 + 50) = 12.73, so 127 and 12 samples; 10 of 24 have s = 7000/114 = 61.40, so 614 and 61. Nine tenths, cut
// down, are for training. What a client's samples are does not change.
func TestLEAFByAvailability(t *testing.T) {
	for _, c := range []struct {
		clients, more int
		train, test   [2]int // of a more available client and of another
	}{
		{100, 50, [2]int{114, 10}, [2]int{13, 2}},
		{24, 10, [2]int{552, 54}, [2]int{62, 7}},
		{3, 0, [2]int{0, 2099}, [2]int{0, 234}},
	} {
		for _, reading := range []Reading{ReadPaper, ReadCode} {
			o := Options{Seed: 2, Clients: c.clients, Reading: reading, LeafGamma: 0.5, LeafDelta: 0.5}
			plain := openMade(t, "leaf", o)
			o.LeafMore = make([]bool, c.clients)
			for i := range c.more {
				o.LeafMore[(7*i)%c.clients] = true // 7 and the numbers of clients have no factor in common
			}
			set := openMade(t, "leaf", o)
			for k, more := range o.LeafMore {
				class := 1
				if more {
					class = 0
				}
				own := set.Split.Train[k]
				if len(own) != c.train[class] || len(set.Split.Test[k]) != c.test[class] {
					t.Errorf("%d clients, client %d, more available %t: %d and %d samples, want %d and %d", c.clients,
						k, more, len(own), len(set.Split.Test[k]), c.train[class], c.test[class])
				}
				before := plain.Split.Train[k]
				for i := range min(len(own), len(before)) {
					got, want := row(set.Train, own[i]), row(plain.Train, before[i])
					if !slices.Equal(got, want) || set.Train.Labels[own[i]] != plain.Train.Labels[before[i]] {
						t.Fatalf("client %d, sample %d: another than without --leaf-augmentation", k, i)
					}
				}
			}
		}
	}
}

// row returns the features of sample i.
func row(s *plan.Samples, i int32) []float32 { return s.Features[int(i)*leafFeatures:][:leafFeatures] }

// With one model for all, x lies around B_k in every feature, B_k is the one of the other set, and W and b are N(0, 1),
// whatever γ is; every label follows from x by the same model.
func TestLEAFIID(t *testing.T) {
	for _, reading := range []Reading{ReadPaper, ReadCode} {
		o := Options{Seed: 4, Clients: 20, Reading: reading, LeafGamma: 9, LeafDelta: 0.5}
		first := newLEAFClient(&o, 0)
		o.LeafIID = true
		shared := newLEAFClient(&o, 0)
		if shared.n != first.n || shared.b != first.b {
			t.Errorf("%s: %d samples and B %g, want %d and %g as without --leaf-iid",
				reading, shared.n, shared.b, first.n, first.b)
		}
		var weights []float64
		for c := range shared.w {
			weights = append(append(weights, shared.w[c][:]...), shared.bias[c])
		}
		moment(t, string(reading)+": W and b", weights, 0, 1)
		set := openMade(t, "leaf", o)
		means := map[float64]bool{}
		for k := range o.Clients {
			c := newLEAFClient(&o, k)
			if c.leafModel != shared.leafModel {
				t.Fatalf("%s, client %d: a model of its own, want that of client 0", reading, k)
			}
			for j, v := range c.v {
				if v != c.b {
					t.Fatalf("%s, client %d: mean %g of feature %d, want B_k = %g", reading, k, v, j, c.b)
				}
			}
			means[c.b] = true
			for _, i := range set.Split.Train[k] {
				if got, want := int(set.Train.Labels[i]), labelOf(&shared.leafModel, row(set.Train, i)); got != want {
					t.Fatalf("%s, client %d: label %d, want %d", reading, k, got, want)
				}
			}
		}
		if len(means) != o.Clients {
			t.Errorf("%s: %d different B_k, want one for each of %d clients", reading, len(means), o.Clients)
		}
	}
}

// labelOf returns the class with the largest logit.
func labelOf(m *leafModel, x []float32) int {
	best, label := math.Inf(-1), -1
	for c := range m.w {
		z := m.bias[c]
		for j, w := range m.w[c] {
			z += float64(w * float64(x[j]))
		}
		if z > best {
			best, label = z, c
		}
	}
	return label
}

func TestLEAFByAvailabilityRefused(t *testing.T) {
	for _, c := range []struct {
		more []bool
		want string
	}{
		{make([]bool, 3), "datasets: leaf: more available: 3 clients, want all 4000"},
		{make([]bool, 4000), "7000 samples by availability for 4000 clients: client 0 has 1, want 2 at least"},
	} {
		o := Options{Clients: 4000, Reading: ReadCode, LeafMore: c.more}
		if _, err := Open(t.Context(), "leaf", o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
