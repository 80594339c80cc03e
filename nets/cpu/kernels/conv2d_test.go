package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTaps compares taps with its definition: place t of window i reads pixel stride·i + t − before.
func TestTaps(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for stride := 1; stride <= 3; stride++ {
			for before := range n {
				for size := 1; size <= 7; size++ {
					count := (size+2*before-n)/stride + 1 // windows, if the same padding is behind
					if size+2*before >= n {
						checkTaps(t, taps{n, stride, before, size}, count)
					}
				}
			}
		}
	}
}

func checkTaps(t *testing.T, x taps, count int) {
	t.Helper()
	reads := func(window, place int) bool {
		p := x.stride*window + place - x.before
		return 0 <= p && p < x.size
	}
	for i := range count {
		lo, hi := x.of(i)
		for p := range x.n {
			if got, want := lo <= p && p < hi, reads(i, p); got != want {
				t.Errorf("%+v: window %d has places %d … %d−1: place %d is %t, want %t", x, i, lo, hi, p, got, want)
			}
		}
		for j := i; j < i+alike(i, count, x.of); j++ {
			if l, h := x.of(j); l != lo || h != hi {
				t.Errorf("%+v: windows %d and %d are alike, want other places: %d … %d, %d … %d", x, i, j, lo, hi, l, h)
			}
		}
	}
	for p := range x.n {
		for first := range count {
			from, to := x.windows(p, first, count)
			var want []int
			for i := first; i < count; i++ {
				if reads(i, p) {
					want = append(want, i)
				}
			}
			if len(want) == 0 {
				want = []int{first, count - 1} // all of them
			}
			if from != want[0] || to != want[len(want)-1]+1 {
				t.Errorf("%+v: place %d reads pixels in windows %d … %d−1 of %d …, want %d … %d",
					x, p, from, to, first, want[0], want[len(want)-1])
			}
		}
	}
}

// TestConv2DZeros holds a convolution that leaves out the zeros beside its maps to the numbers of one that takes them
// for pixels.
func TestConv2DZeros(t *testing.T) {
	for _, s := range []Conv2DShape{
		{K: 2, B: 5, H: 6, W: 6, C: 300, R: 3, S: 3, O: 40, Stride: 1},  // images as tiles, two blocks a place
		{K: 1, B: 17, H: 6, W: 6, C: 33, R: 3, S: 3, O: 900, Stride: 1}, // large weights
		{K: 1, B: 5, H: 18, W: 18, C: 33, R: 3, S: 3, O: 900, Stride: 2},
		{K: 2, B: 18, H: 12, W: 15, C: 3, R: 5, S: 3, O: 33, Stride: 1}, // rows as tiles
		{K: 1, B: 3, H: 34, W: 34, C: 5, R: 3, S: 3, O: 16, Stride: 2},  // several blocks of rows
		{K: 1, B: 2, H: 3, W: 3, C: 4, R: 3, S: 3, O: 6, Stride: 1},     // maps of one pixel
	} {
		r := rand.New(rand.NewPCG(uint64(s.C), 20))
		x, w := fractions(r, s.K*s.B*s.xLen()), fractions(r, s.K*s.wLen())
		for i := range x {
			if row, col := i/s.C/s.W%s.H, i/s.C%s.W; min(row, col, s.H-1-row, s.W-1-col) == 0 {
				x[i] = 0
			}
		}
		bordered := s
		bordered.Border, bordered.Pad = 1, 1
		gy := fractions(r, s.K*s.B*s.yLen())
		for _, p := range []Precision{FP32, BF16} {
			for _, c := range Choices(p) {
				e := c.NewExec(nil)
				var y, dw [2][]float32
				for i, s := range []Conv2DShape{s, bordered} {
					y[i], dw[i] = slices.Clone(gy), slices.Clone(w) // numbers that must be gone
					new(Conv2DForward[float32]).Run(e, s, y[i], x, w)
					new(Conv2DWeights[float32]).Run(e, s, dw[i], x, gy)
				}
				what := fmt.Sprintf("%s, %s, %+v", c.Name(), p, s)
				if !slices.Equal(y[0], y[1]) {
					t.Errorf("%s: y: other numbers than with zeros as pixels", what)
				}
				if !slices.Equal(dw[0], dw[1]) {
					t.Errorf("%s: dw: other numbers than with zeros as pixels", what)
				}
			}
		}
	}
}
