package rng

import (
	"math"
	"slices"
	"testing"
)

// Known answers of Random123 (Salmon et al., kat_vectors: philox4x32 10).
func TestBlock(t *testing.T) {
	for _, c := range []struct {
		name string
		key  Key
		ctr  [4]uint32
		want [4]uint32
	}{
		{"zeros", Key{0, 0}, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			"ones",
			Key{^uint32(0), ^Purpose(0)},
			[4]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			"pi",
			Key{0xa4093822, 0x299f31d0},
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.key.Block(c.ctr[0], c.ctr[1], c.ctr[2], c.ctr[3]); got != c.want {
				t.Errorf("got %08x, want %08x", got, c.want)
			}
		})
	}
}

func moments(n int, draw func() float64) (mean, variance float64) {
	var sum, squares float64
	for range n {
		x := draw()
		sum += x
		squares += x * x
	}
	mean = sum / float64(n)
	return mean, squares/float64(n) - mean*mean
}

// Tolerances are five standard errors of the mean and of the variance at n draws.
func TestMoments(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		name           string
		draw           func(*Stream) float64
		mean, variance float64
		kurtosis       float64 // fourth central moment / variance²
	}{
		{"uniform", (*Stream).Float64, 0.5, 1.0 / 12, 1.8},
		{"normal", (*Stream).Normal, 0, 1, 3},
		{"gamma 0.1", func(s *Stream) float64 { return math.Exp(s.LogGamma(0.1)) }, 0.1, 0.1, 63},
		{"gamma 3", func(s *Stream) float64 { return math.Exp(s.LogGamma(3)) }, 3, 3, 5},
		{"intn 10", func(s *Stream) float64 { return float64(s.IntN(10)) }, 4.5, 8.25, 1.776},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Key{Seed: 3, Purpose: Split}.Stream(0, 0, 0)
			mean, variance := moments(n, func() float64 { return c.draw(s) })
			if tol := 5 * math.Sqrt(c.variance/n); math.Abs(mean-c.mean) > tol {
				t.Errorf("mean %g, want %g ± %g", mean, c.mean, tol)
			}
			if tol := 5 * c.variance * math.Sqrt((c.kurtosis-1)/n); math.Abs(variance-c.variance) > tol {
				t.Errorf("variance %g, want %g ± %g", variance, c.variance, tol)
			}
		})
	}
}

func TestStreamsDiffer(t *testing.T) {
	base := Key{Seed: 1, Purpose: Batches}
	seen := map[uint32]string{}
	for name, s := range map[string]*Stream{
		"base":    base.Stream(0, 0, 0),
		"round":   base.Stream(1, 0, 0),
		"client":  base.Stream(0, 1, 0),
		"step":    base.Stream(0, 0, 1),
		"seed":    Key{2, Batches}.Stream(0, 0, 0),
		"purpose": Key{1, Augmentation}.Stream(0, 0, 0),
		"layer 0": Key{1, Layer(0)}.Stream(0, 0, 0),
		"layer 1": Key{1, Layer(1)}.Stream(0, 0, 0),
	} {
		x := s.Uint32()
		if other, ok := seen[x]; ok {
			t.Errorf("%s and %s start with the same word %08x", name, other, x)
		}
		seen[x] = name
	}
}

func TestShuffle(t *testing.T) {
	// Every element is equally likely in every place: 6 standard errors of a binomial count.
	const n, draws = 5, 50_000
	var count [n][n]int
	s := Key{Seed: 9, Purpose: Batches}.Stream(0, 0, 0)
	for range draws {
		x := []int32{0, 1, 2, 3, 4}
		s.Shuffle(x)
		for place, v := range x {
			count[place][v]++
		}
		slices.Sort(x)
		if !slices.Equal(x, []int32{0, 1, 2, 3, 4}) {
			t.Fatalf("shuffle lost an element: %v", x)
		}
	}
	for place := range count {
		for v, c := range count[place] {
			if tol := 6 * math.Sqrt(draws*0.2*0.8); math.Abs(float64(c)-draws/n) > tol {
				t.Errorf("element %d in place %d: %d times, want %d ± %.0f", v, place, c, draws/n, tol)
			}
		}
	}
}
