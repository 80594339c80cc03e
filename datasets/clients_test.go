package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// Every client keeps back its share, at random and in order, and the shares of all come to the fraction to the nearest
// sample.
func TestReserve(t *testing.T) {
	sizes := []int{50, 0, 3, 1, 1, 1, 1, 1, 2, 40, 700}
	for _, fraction := range []float64{0, 0.2, 0.5} {
		t.Run(fmt.Sprint(fraction), func(t *testing.T) {
			parts, _ := consecutive(sizes)
			s := &Split{Train: parts}
			must.OK(t, s.reserve(fraction, 3))
			seen, reserved := 0, 0
			for i, own := range parts {
				train, valid := s.Train[i], s.Valid[i]
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
			if last := s.Valid[len(sizes)-1]; fraction > 0 && (last[0] > 100+40 || last[len(last)-1] < 700) {
				t.Errorf("kept back of 700 samples from 100 on: %d to %d, want them all over",
					last[0], last[len(last)-1])
			}
			again, other := &Split{Train: parts}, &Split{Train: parts}
			if err := again.reserve(fraction, 3); err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
				t.Errorf("the same seed, %v: another split", err)
			}
			if err := other.reserve(fraction, 4); err != nil || fraction > 0 && fmt.Sprint(other) == fmt.Sprint(s) {
				t.Errorf("another seed, %v: the same split", err)
			}
		})
	}
}

func TestReserveErrors(t *testing.T) {
	parts, _ := consecutive([]int{10, 10})
	s := &Split{Train: parts}
	for _, fraction := range []float64{-0.1, 1, math.NaN()} {
		want := fmt.Sprintf("datasets: split: validation share %g, want at least 0 and below 1", fraction)
		if err := s.reserve(fraction, 0); fmt.Sprint(err) != want {
			t.Errorf("share %g: got %v, want %s", fraction, err, want)
		}
	}
}
