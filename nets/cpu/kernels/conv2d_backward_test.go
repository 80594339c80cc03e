package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestConv2DBackward holds the gradients that are computed together, image by image or not, to those that are computed
// one after the other, to the bit: of a normalisation and of the convolution in front of it, and their sum with others.
func TestConv2DBackward(t *testing.T) {
	for _, s := range []Conv2DShape{
		{K: 2, B: 19, H: 11, W: 12, C: 6, R: 3, S: 3, O: 17, Stride: 1, Border: 1, Pad: 1}, // image by image
		{K: 1, B: 3, H: 19, W: 20, C: 18, R: 3, S: 3, O: 33, Stride: 2, Border: 1, Pad: 1},
		{K: 1, B: 2, H: 17, W: 21, C: 3, R: 1, S: 1, O: 5, Stride: 2, Border: 1},
		{K: 1, B: 3, H: 12, W: 12, C: 4, R: 5, S: 5, O: 40, Stride: 1},
		{K: 1, B: 18, H: 6, W: 6, C: 8, R: 3, S: 3, O: 9, Stride: 1, Border: 1, Pad: 1},      // narrow maps
		{K: 1, B: 2, H: 10, W: 10, C: 170, R: 3, S: 3, O: 180, Stride: 1, Border: 1, Pad: 1}, // large weights
		{K: 1, B: 3, H: 14, W: 14, C: 64, R: 3, S: 3, O: 64, Stride: 1, Border: 1, Pad: 1},   // Winograd
	} {
		for _, p := range []Precision{FP32, BF16, BF16x3} {
			for _, c := range Choices(p) {
				for mode := range 8 {
					if s.C > 64 && mode != 3 {
						continue // to save time
					}
					add, relu, first := mode&1 != 0, mode&2 != 0, mode&4 != 0
					what := fmt.Sprintf("%s, %s, add=%t relu=%t first=%t %+v", c.Name(), p, add, relu, first, s)
					checkConv2DBackward(t, what, c, s, add, relu, first)
				}
			}
		}
	}
}

// checkConv2DBackward does so for one convolution, which is the first layer of its net if first.
func checkConv2DBackward(t *testing.T, what string, c Choice, s Conv2DShape, add, relu, first bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(s.C)))
	h, w := s.Out()
	n := NormShape{K: s.K, B: s.B, H: h, W: w, C: s.O, OutPad: 1, ReLU: relu}
	x, weights, z := bordered(r, s), fractions(r, s.K*s.wLen()), fractions(r, s.K*s.B*s.yLen())
	gy, more, y := fractions(r, s.K*s.B*n.yLen()), fractions(r, s.K*s.B*n.yLen()), make([]float32, s.K*s.B*n.yLen())
	weight, bias, plus := fractions(r, s.K*s.O), fractions(r, s.K*s.O), fractions(r, len(x))
	labels := make([]int32, s.K*s.B)
	labels[len(labels)-1] = -1
	var dadd []float32
	if !add {
		more = nil
	} else {
		dadd = make([]float32, len(gy))
	}
	e := c.NewExec(nil)
	var forward NormForward[float32]
	stats := forward.Train(e, n, y, z, more, weight, bias, labels)
	var norm NormBackward[float32]
	norm.Run(e, n, dadd, make([]float32, s.K*s.O), make([]float32, s.K*s.O), z, weight, y, gy, labels, stats)

	dz := make([]float32, len(z))
	norm.All(e, dz)
	wantDX, wantDW := make([]float32, len(x)), make([]float32, len(weights))
	new(Conv2DWeights[float32]).Run(e, s, wantDW, x, dz)
	if first {
		wantDX, plus = nil, nil
	} else {
		new(Conv2DInput[float32]).Run(e, s, wantDX, weights, dz)
		for i, v := range plus {
			wantDX[i] += v
		}
	}
	var both Conv2DBackward[float32]
	for range 2 { // the second time in memory that has the numbers of the first
		dx, dw := make([]float32, len(wantDX)), slices.Clone(weights)
		if first {
			dx = nil
		}
		room := slices.Clone(z)
		norm.x = room // which the convolution may overwrite
		both.Run(e, s, dx, dw, x, weights, room, plus, &norm)
		if !slices.Equal(dx, wantDX) {
			t.Errorf("%s: dx: other numbers than one after the other", what)
		}
		if !slices.Equal(dw, wantDW) {
			t.Errorf("%s: dw: other numbers than one after the other", what)
		}
	}
}
