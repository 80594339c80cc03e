package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/nets/cpu/kernels/bf16"
)

// TestRoundedLayers runs layers of random shapes with every variant of rounded products, on one thread and on two, and
// wants the bits of plain Go. The variants store operands in formats of their own, and layers write some of them in
// pieces. Tiny numbers leave sums that are zeros of either sign, and infinite ones
// show which zeros of a sum were multiplied.
func TestRoundedLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, split := range []bool{false, true} {
		all := append(bf16.Variants(split), bf16.Modelled(split))
		for i := range 36 {
			layer := randomLayer(r, i)
			want := layer.run(rounded(bf16.Generic[float32](split), nil))
			for _, k := range all {
				two := NewPool[float32](2) // its threads keep operands of the variant
				for j, p := range []*Pool[float32]{nil, two} {
					wantSame(t, fmt.Sprintf("%s, split %t, %d threads: %s", k.Name(), split, 1+j, layer.what),
						layer.run(rounded(k, p)), want)
				}
				two.Close()
			}
		}
	}
}

// rounded returns an executor whose products are those of a variant, and whose other kernels are plain Go.
func rounded(k bf16.Kernels[float32], pool *Pool[float32]) *Exec[float32] {
	e := NewExec(Generic[float32](), pool)
	e.Products = k
	return e
}

// roundedLayer is a layer with its numbers. run returns all that its forward and backward passes compute.
type roundedLayer struct {
	what string
	run  func(e *Exec[float32]) []float32
}

// randomLayer returns a layer of a kind that i chooses.
func randomLayer(r *rand.Rand, i int) roundedLayer {
	scale, infinite := []float32{1, 1, 0x1p-62}[i%3], i%3 == 1
	draw := func(n int) []float32 {
		x := fractions(r, n)
		for i := range x {
			x[i] *= scale
			if infinite && r.IntN(300) == 0 {
				x[i] = float32(math.Inf(1))
			}
		}
		return x
	}
	K, B := 1+r.IntN(2), 1+r.IntN(18)
	channels := []int{1, 3, 5, 6, 8, 16, 18, 33}
	pick := func() int { return channels[r.IntN(len(channels))] }
	switch i % 4 {
	case 0: // with pooling
		s := ConvShape{K: K, B: B, C: pick(), O: pick(), R: 1 + r.IntN(5), S: 1 + r.IntN(5)}
		s.Pad = r.IntN(min(s.R, s.S))
		s.H, s.W = s.R-1+2*(1+r.IntN(5)), s.S-1+2*(1+r.IntN(8))
		s.H, s.W = max(s.H, 2*s.Pad+2+(s.R-1)%2), max(s.W, 2*s.Pad+2+(s.S-1)%2)
		x, w, b := draw(K*B*s.xLen()), draw(K*s.wLen()), draw(K*s.O)
		clearFrame(x, K*B, s.H, s.W, s.C, s.Pad)
		gy := draw(K * B * s.yLen())
		return roundedLayer{fmt.Sprintf("%+v", s), func(e *Exec[float32]) []float32 {
			y, arg := make([]float32, len(gy)), make([]uint8, K*B*s.argLen())
			dx, dw, db := make([]float32, len(x)), make([]float32, len(w)), make([]float32, len(b))
			new(ConvForward[float32]).Run(e, s, y, arg, x, w, b)
			new(ConvBackward[float32]).Run(e, s, dx, dw, db, x, w, gy, arg)
			return slices.Concat(y, dx, dw, db)
		}}
	case 1:
		s := LinearShape{K: K, B: B, I: 1 + r.IntN(200), O: 1 + r.IntN(70), ReLU: i%8 < 4}
		x, w, b := draw(K*B*s.I), draw(K*s.I*s.O), draw(K*s.O)
		gy := draw(K * B * s.O)
		return roundedLayer{fmt.Sprintf("%+v", s), func(e *Exec[float32]) []float32 {
			y, dx := make([]float32, len(gy)), make([]float32, len(x))
			dw, db := make([]float32, len(w)), make([]float32, len(b))
			new(LinearForward[float32]).Run(e, s, y, x, w, b)
			new(LinearBackward[float32]).Run(e, s, dx, dw, db, x, w, y, gy)
			return slices.Concat(y, dx, dw, db)
		}}
	default:
		s := Conv2DShape{K: K, B: B, C: pick(), O: pick(), R: 1 + r.IntN(5), S: 1 + r.IntN(5), Stride: 1 + r.IntN(3)}
		s.Pad = r.IntN(min(s.R, s.S))
		s.Border = s.Pad + r.IntN(2)
		s.H, s.W = 2*s.Border+max(1, s.R-2*s.Pad)+r.IntN(9), 2*s.Border+max(1, s.S-2*s.Pad)+r.IntN(14)
		if i == 2 { // large weights
			s.C, s.O, s.R, s.S, s.B, s.K = 170, 180, 3, 3, 2, 1
			s.Pad, s.Border = 1, 1
			s.H, s.W = 3+r.IntN(6), 3+r.IntN(6)
		}
		x, w := draw(s.K*s.B*s.xLen()), draw(s.K*s.wLen())
		clearFrame(x, s.K*s.B, s.H, s.W, s.C, s.Border)
		gy := draw(s.K * s.B * s.yLen())
		return roundedLayer{fmt.Sprintf("%+v", s), func(e *Exec[float32]) []float32 {
			y, dx, dw := make([]float32, len(gy)), make([]float32, len(x)), make([]float32, len(w))
			new(Conv2DForward[float32]).Run(e, s, y, x, w)
			new(Conv2DInput[float32]).Run(e, s, dx, w, gy)
			new(Conv2DWeights[float32]).Run(e, s, dw, x, gy)
			return slices.Concat(y, dx, dw)
		}}
	}
}

// clearFrame zeroes the border of n maps [h,w,c].
func clearFrame(x []float32, n, h, w, c, border int) {
	for i := range n * h * w {
		if row, col := i/w%h, i%w; min(row, col, h-1-row, w-1-col) < border {
			clear(x[i*c:][:c])
		}
	}
}
