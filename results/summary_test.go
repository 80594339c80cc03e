package results

import (
	"slices"
	"testing"
)

func TestBySeed(t *testing.T) {
	for _, c := range []struct {
		a, b         BySeed
		pairs, minus []float64
	}{
		{"3=0.5;4=0.75", "3=0.25;4=0.25", []float64{0.25, 0.5}, []float64{0.25, 0.5}},
		{"3=0.5;4=0.75", "4=0.25;5=1", []float64{0.5}, nil},
		{"3=0.5", "4=0.5", nil, nil},
		{"3=0.5;4=0.75", "3=0.25", []float64{0.25}, nil},
		{"", "3=0.25", nil, nil},
		{"", "", nil, nil},
		{"3=x", "3=0.25", nil, nil},
	} {
		pairs, minus := c.a.Pairs(c.b), c.a.Minus(c.b)
		if !slices.Equal(pairs, c.pairs) || !slices.Equal(minus, c.minus) {
			t.Errorf("%q and %q: pairs %v, minus %v, want %v, %v", c.a, c.b, pairs, minus, c.pairs, c.minus)
		}
	}
}
