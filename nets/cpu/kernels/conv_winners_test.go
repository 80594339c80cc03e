package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// denseGradients computes the gradients of a ConvBackward by products with every gradient in front of the pooling,
// zeros too.
type denseGradients[T Float] struct {
	*ConvBackward[T]
	flipped []T // [K,R,S,O,C]
}

// Chunk sums dw and db over chunk i of the images, and writes dx of these images.
func (d *denseGradients[T]) Chunk(_, i int, s *Scratch[T]) {
	t := d.ConvBackward
	k, lo, hi := imagesOf(i, t.B)
	ch, cw := t.Conv()
	// dy is the gradient of the convolution's result in front of the pooling, with the border that dx reads:
	// [block+2·bh, cw+2·bw, O]. dx needs all rows of an image. Without dx a block of a few rows, which the first cache
	// holds, is enough.
	bh, bw := t.R-1-t.Pad, t.S-1-t.Pad
	block := ch
	if t.dx == nil {
		bh, bw = 0, 0
		block = min(ch, rowsPerBlock(cw*t.O))
	}
	dyw := cw + 2*bw
	dy := s.Buf((block + 2*bh) * dyw * t.O)
	clearBorder(dy, block, cw, bh, bw, t.O)
	inner := dy[(bh*dyw+bw)*t.O:]
	product := rowsProduct[T]{
		C: t.C, O: t.O, S: t.S, down: taps{t.R, 1, t.Pad, t.H - 2*t.Pad}, w: cw, width: t.W, dyWidth: dyw,
	}
	dw, db := t.partW[i*t.wLen():][:t.wLen()], t.partB[i*t.O:][:t.O]
	clear(db)
	acc := false
	for n := k*t.B + lo; n < k*t.B+hi; n++ {
		x := t.x[n*t.xLen():][:t.xLen()]
		for r := 0; r < ch; r += block {
			count := min(block, ch-r)
			t.unpool(s, inner, db, n, r, count, dyw)
			t.prefetch(s, n, r+count, block)
			product.add(s, dw, x, inner, r, count, acc)
			acc = true
		}
		if t.dx != nil {
			flipped := matrix[T]{plain: d.flipped[k*t.wLen():][:t.wLen()]}
			t.input(s, t.dx[n*t.xLen():][:t.xLen()], matrix[T]{plain: dy}, dyw, flipped)
		}
	}
}

// run computes the gradients as [ConvBackward.Run] does.
func (d *denseGradients[T]) run(e *Exec[T], s ConvShape, dx, dw, db, x, w, gy []T, arg []uint8) {
	t := d.ConvBackward
	t.Run(e, s, dx, dw, db, x, w, gy, arg) // for the memory
	d.flipped = make([]T, len(w))
	for i, v := range w {
		k, r, p, c, o := i/s.wLen(), i/(s.S*s.C*s.O)%s.R, i/(s.C*s.O)%s.S, i/s.O%s.C, i%s.O
		d.flipped[(((k*s.R+s.R-1-r)*s.S+s.S-1-p)*s.O+o)*s.C+c] = v
	}
	e.For(d, 0, s.K*imageChunks(s.B))
	e.For(t, convReduce, s.K)
}

// winnerShapes are the convolutions of the catalogue, with few images, and some whose numbers fill no register.
func winnerShapes() []ConvShape {
	return []ConvShape{
		{K: 1, B: 3, H: 34, W: 34, C: 3, R: 3, S: 3, O: 32, Pad: 1, OutPad: 1}, // cnn-cifar10, cnn-svhn, cnn-cinic10
		{K: 2, B: 18, H: 18, W: 18, C: 32, R: 3, S: 3, O: 32, Pad: 1},
		{K: 1, B: 3, H: 32, W: 32, C: 3, R: 5, S: 5, O: 6}, // lenet5
		{K: 2, B: 17, H: 14, W: 14, C: 6, R: 5, S: 5, O: 16},
		{K: 1, B: 2, H: 32, W: 32, C: 3, R: 5, S: 5, O: 32}, // cnn-cafed
		{K: 2, B: 2, H: 14, W: 14, C: 32, R: 5, S: 5, O: 64},
		{K: 1, B: 17, H: 5, W: 7, C: 1, R: 2, S: 4, O: 1},
		{K: 3, B: 2, H: 12, W: 9, C: 5, R: 3, S: 2, O: 7, Pad: 1, OutPad: 2},
		{K: 1, B: 2, H: 9, W: 25, C: 17, R: 4, S: 4, O: 33, Pad: 2},
		{K: 1, B: 2, H: 12, W: 44, C: 8, R: 5, S: 7, O: 9, Pad: 4, OutPad: 1},
		{K: 1, B: 1, H: 60, W: 60, C: 40, R: 1, S: 1, O: 10},
		{K: 1, B: 2, H: 6, W: 6, C: 3, R: 5, S: 5, O: 4, Pad: 2}, // fewer pixels than a register holds
	}
}

// clearBorder sets the border of x to 0.
func (s ConvShape) clearBorder(x []float32) {
	for i := range x {
		if row, col := i/(s.W*s.C)%s.H, i/s.C%s.W; min(row, s.H-1-row, col, s.W-1-col) < s.Pad {
			x[i] = 0
		}
	}
}

// TestWinners compares the gradients from the winners with those from all elements, bit by bit, in every variant: of
// no, some and all windows dead, of batches whose last images do not count.
func TestWinners(t *testing.T) {
	for _, k := range Variants() {
		for _, s := range winnerShapes() {
			for _, dead := range []float64{0, 0.4, 0.75, 1} {
				name := fmt.Sprintf("%s/%dx%dx%d→%d,%dx%d/dead=%g", k.Name(), s.H, s.W, s.C, s.O, s.R, s.S, dead)
				t.Run(name, func(t *testing.T) { compareWinners(t, k, s, dead) })
			}
		}
	}
}

func compareWinners(t *testing.T, k Kernels[float32], s ConvShape, dead float64) {
	r := rand.New(rand.NewPCG(uint64(s.H*s.C), uint64(1000*dead)))
	e := NewExec(k, nil)
	x, w := fractions(r, s.K*s.B*s.xLen()), fractions(r, s.K*s.wLen())
	gy, arg := fractions(r, s.K*s.B*s.yLen()), make([]uint8, s.K*s.B*s.argLen())
	for i := range arg {
		arg[i] = uint8(r.IntN(4))
		if r.Float64() < dead {
			arg[i] = Dead
		}
	}
	for i := range x { // what ReLU leaves
		x[i] = max(0, x[i])
	}
	s.clearBorder(x)
	for i := range gy {
		switch r.IntN(40) {
		case 0:
			gy[i] = 0
		case 1:
			gy[i] = float32(r.IntN(2)*2-1) * 1e-42 // subnormal
		}
	}
	ragged := (s.B*2 + 2) / 3 // images of the last client that count
	for i := (s.K-1)*s.B + ragged; i < s.K*s.B; i++ {
		clear(gy[i*s.yLen():][:s.yLen()])
	}
	for _, input := range []bool{true, false} {
		gradients := func() (dx, dw, db []float32) {
			if input {
				dx = make([]float32, len(x))
			}
			return dx, make([]float32, len(w)), make([]float32, s.K*s.O)
		}
		var sparse, dense ConvBackward[float32]
		gotX, gotW, gotB := gradients()
		sparse.Run(e, s, gotX, gotW, gotB, x, w, gy, arg)
		wantX, wantW, wantB := gradients()
		(&denseGradients[float32]{ConvBackward: &dense}).run(e, s, wantX, wantW, wantB, x, w, gy, arg)
		wantSame(t, "dx", gotX, wantX)
		wantSame(t, "dw", gotW, wantW)
		wantSame(t, "db", gotB, wantB)
	}
}

// byOutputs computes y and arg with outputs in the lanes, whatever the shape.
type byOutputs struct{ *ConvForward[float32] }

// Chunk implements [Task].
func (d byOutputs) Chunk(_, i int, s *Scratch[float32]) {
	k, lo, hi := imagesOf(i, d.B)
	for n := k*d.B + lo; n < k*d.B+hi; n++ {
		d.byOutputs(s, k, n)
	}
}

// TestByPixels compares convolutions with pixels in the lanes with those that have outputs there, bit by bit.
func TestByPixels(t *testing.T) {
	for _, k := range Variants() {
		for _, s := range append(winnerShapes(),
			ConvShape{K: 2, B: 3, H: 30, W: 34, C: 1, R: 3, S: 3, O: 11, Pad: 1, OutPad: 1},
			ConvShape{K: 1, B: 2, H: 10, W: 50, C: 4, R: 3, S: 5, O: 5, Pad: 2},
			ConvShape{K: 1, B: 2, H: 6, W: 15, C: 3, R: 3, S: 2, O: 13},
		) {
			if !s.byPixels() {
				continue
			}
			name := fmt.Sprintf("%s/%dx%dx%d→%d,%dx%d", k.Name(), s.H, s.W, s.C, s.O, s.R, s.S)
			t.Run(name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(s.H), uint64(s.O)))
				e := NewExec(k, nil)
				x, w, b := fractions(r, s.K*s.B*s.xLen()), fractions(r, s.K*s.wLen()), fractions(r, s.K*s.O)
				x[r.IntN(len(x))] = float32(math.Inf(1))
				s.clearBorder(x)
				run := func(how func(y []float32, arg []uint8)) ([]float32, []uint8) {
					y, arg := make([]float32, s.K*s.B*s.yLen()), make([]uint8, s.K*s.B*s.argLen())
					how(y, arg)
					return y, arg
				}
				var f ConvForward[float32]
				got, gotArg := run(func(y []float32, arg []uint8) { f.Run(e, s, y, arg, x, w, b) })
				want, wantArg := run(func(y []float32, arg []uint8) {
					f.y, f.arg = y, arg
					e.For(byOutputs{&f}, 0, s.K*imageChunks(s.B))
				})
				wantSame(t, "y", got, want)
				wantSameBytes(t, "arg", gotArg, wantArg)
			})
		}
	}
}
