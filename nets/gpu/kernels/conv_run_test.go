//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// convCase is a convolution: K clients, B images H×W×C without border, R×S windows, O outputs, pad zeros around.
type convCase struct{ K, B, H, W, C, R, S, O, pad int }

func (c convCase) String() string {
	return fmt.Sprintf("K=%d_B=%d_%dx%dx%d_%dx%d_O=%d_pad=%d", c.K, c.B, c.H, c.W, c.C, c.R, c.S, c.O, c.pad)
}

// convCases are the convolutions of the nets, and sizes that are multiples of nothing.
var convCases = []convCase{
	{1, 2, 32, 32, 3, 3, 3, 32, 1},  // cnn-cifar10, first
	{3, 2, 16, 16, 32, 3, 3, 32, 1}, // and second
	{1, 1, 14, 14, 32, 5, 5, 64, 0}, // cnn-cafed, second: weights streamed, two tiles of outputs
	{1, 2, 32, 32, 3, 5, 5, 6, 0},   // lenet5, first
	{3, 5, 14, 14, 6, 5, 5, 16, 0},  // and second
	{3, 1, 4, 4, 1, 3, 3, 1, 1},     // one channel, one output
	{1, 9, 4, 4, 40, 3, 3, 33, 1},   // several images in a tile, a last output tile of one
	{1, 5, 9, 7, 5, 2, 4, 7, 0},     // an odd image and a window that is not square
	{3, 1, 6, 130, 4, 3, 3, 8, 1},   // a row longer than a tile
	{1, 2, 5, 5, 8, 2, 2, 10, 0},    // an even window
	{1, 3, 7, 9, 16, 4, 2, 12, 0},   // border of dY wider than high
	{1, 1, 6, 6, 200, 5, 5, 36, 2},  // tiles cut for want of shared memory
	{1, 1, 4, 4, 2, 1, 1, 3, 0},     // no window at all
	{1, 7, 2, 2, 48, 3, 3, 20, 1},   // an image of one pooling window
	{1, 9, 8, 10, 4, 3, 3, 5, 1},    // three images in a tile, four in a partial sum
	{1, 97, 16, 16, 1, 3, 3, 4, 1},  // so many tiles that a block has several
	{1, 2, 10, 6, 12, 3, 3, 132, 1}, // five tiles of outputs
	{3, 3, 10, 6, 16, 3, 3, 32, 1},  // a slice of the depth, two backwards; in bf16 one backwards
	{1, 1, 6, 132, 32, 3, 3, 64, 0}, // two slices, and a row longer than a tile; in bf16 one, two backwards
}

func (c convCase) pooled() (h, w int) {
	return (c.H + 2*c.pad - c.R + 1) / 2, (c.W + 2*c.pad - c.S + 1) / 2
}
func (c convCase) x() int { return c.H * c.W * c.C }
func (c convCase) w() int { return c.R * c.S * c.C * c.O }
func (c convCase) y() int { h, w := c.pooled(); return h * w * c.O }

// convolution is a case of one of the two families of convolutions: with bias, ReLU and pooling, or with nothing.
type convolution interface {
	String() string
	draw(rnd *rand.Rand, value func() float32) convData
	onCard(t *testing.T, p precision, d convData) convResult
	onCPU(d convData) convResult
	last(d convData) (convolution, convData) // the last client alone
	terms() (ofY, ofDX, ofGradient int)      // of the sums that an element is, or of the sums that are added up in turn
	products() int                           // of one kernel
}

// convData are the inputs of the three kernels of a family, for K clients. Those of conv2d have no bias and no arg.
type convData struct {
	x, w, bias, gy []float32 // [K,B,H,W,C], [K,R,S,C,O], [K,O], [K,B,HP,WP,O]
	arg            []uint8   // [K,B,HP,WP,O]
}

// convResult is what the kernels write; dw and db are the sums of the partial sums. conv2d has no db and no arg.
type convResult struct {
	y, dx, dw, db []float64
	arg           []uint8
}

// onCard returns what the three kernels compute on the device.
func (c convCase) onCard(t *testing.T, p precision, d convData) convResult {
	t.Helper()
	r := newRig(t)
	whole := func(n int) int { return (n + 63) / 64 * 64 }
	const before = 64
	b := before + whole(c.w())
	rows := make([][]float32, c.K)
	for k := range rows {
		rows[k] = make([]float32, b+whole(c.O))
		copy(rows[k][before:], d.w[k*c.w():][:c.w()])
		copy(rows[k][b:], d.bias[k*c.O:][:c.O])
	}
	w := wave{Slots: r.slots(p, rows...), E: 1, B: c.B}
	pixel := int(ConvPixel(uint32(c.C)))
	room, x, y := w.room(), c.B*c.x(), c.B*c.y()
	a := ConvArgs{
		Work: r.work(w), X: p.upload(r, pixels(d.x, c.C, pixel)), Y: p.blank(r, room*y), Arg: blank[uint8](r, room*y),
		DX: p.blank(r, room*x), GY: p.upload(r, d.gy),
		WOffset: before, BOffset: uint32(b), B: uint32(c.B), H: uint32(c.H), W: uint32(c.W), C: uint32(c.C),
		R: uint32(c.R), S: uint32(c.S), Pixel: uint32(pixel),
		O: uint32(c.O), Pad: uint32(c.pad),
	}
	a.Images = a.ChunkImages()
	chunks, n := (c.B+int(a.Images)-1)/int(a.Images), c.w()+c.O
	a.Partial = blank[float32](r, room*chunks*n)
	kind := Precision(p.name)
	if !a.Fits(kind) {
		t.Fatal("does not fit")
	}

	launch(r, a.ForwardKernel(kind)+"_"+p.name, a.Forward(kind, room), room, &a)
	got := convResult{y: widen(p.download(r, a.Y, c.K*y)), arg: download[uint8](r, a.Arg, c.K*y)}
	r.untouched("y of the slot not in use", a.Y+uint64(c.K*y*p.bytes), y*p.bytes)
	r.untouched("arg of the slot not in use", a.Arg+uint64(c.K*y), y)

	a.Arg = upload(r, d.arg)
	launch(r, a.BackwardDataKernel(kind)+"_"+p.name, a.BackwardData(kind, room), room, &a)
	got.dx = widen(p.download(r, a.DX, c.K*x))
	r.untouched("dx of the slot not in use", a.DX+uint64(c.K*x*p.bytes), x*p.bytes)

	launch(r, a.FilterKernel(kind)+"_"+p.name, a.BackwardFilter(kind), room, &a)
	r.untouched("partial sums of the slot not in use", a.Partial+uint64(c.K*chunks*n*4), chunks*n*4)
	partial := download[float32](r, a.Partial, c.K*chunks*n)
	got.dw, got.db = make([]float64, c.K*c.w()), make([]float64, c.K*c.O)
	for k := range c.K {
		for i := range chunks {
			sums := partial[(k*chunks+i)*n:][:n]
			for j, v := range sums[:c.w()] {
				got.dw[k*c.w()+j] += float64(v)
			}
			for j, v := range sums[c.w():] {
				got.db[k*c.O+j] += float64(v)
			}
		}
	}
	return got
}

// pixels returns x, of C channels, with as many zeros behind every pixel as make it so long.
func pixels(x []float32, C, length int) []float32 {
	y := make([]float32, len(x)/C*length)
	for i, v := range x {
		y[i/C*length+i%C] = v
	}
	return y
}

// inside calls f with the offset of every row of pixels in n maps H×W×C, without border and with pad zeros around.
func inside(n, H, W, C, pad int, f func(plain, bordered int)) {
	for i := range n * H {
		f(i*W*C, ((i/H*(H+2*pad)+i%H+pad)*(W+2*pad)+pad)*C)
	}
}

// onCPU returns what the CPU engine computes in float64.
func (c convCase) onCPU(d convData) convResult {
	e := cpu.NewExec(cpu.Generic[float64](), nil)
	s := cpu.ConvShape{K: c.K, B: c.B, H: c.H + 2*c.pad, W: c.W + 2*c.pad, C: c.C, R: c.R, S: c.S, O: c.O, Pad: c.pad}
	y := c.K * c.B * c.y()
	want := convResult{
		y: make([]float64, y), arg: make([]uint8, y), dx: make([]float64, c.K*c.B*c.x()),
		dw: make([]float64, c.K*c.w()), db: make([]float64, c.K*c.O),
	}
	x, w, gy := make([]float64, c.K*c.B*s.H*s.W*c.C), widen(d.w), widen(d.gy)
	dx := make([]float64, len(x))
	inside(c.K*c.B, c.H, c.W, c.C, c.pad, func(plain, bordered int) {
		copy(x[bordered:][:c.W*c.C], widen(d.x[plain:][:c.W*c.C]))
	})
	new(cpu.ConvForward[float64]).Run(e, s, want.y, want.arg, x, w, widen(d.bias))
	new(cpu.ConvBackward[float64]).Run(e, s, dx, want.dw, want.db, x, w, gy, d.arg)
	inside(c.K*c.B, c.H, c.W, c.C, c.pad, func(plain, bordered int) {
		copy(want.dx[plain:][:c.W*c.C], dx[bordered:])
	})
	return want
}

// draw returns inputs whose numbers value draws. A gradient arrives at any of the four places of its window, or at
// none, as in a net.
func (c convCase) draw(rnd *rand.Rand, value func() float32) convData {
	y := c.K * c.B * c.y()
	d := convData{
		x: fill(c.K*c.B*c.x(), value), w: fill(c.K*c.w(), value), bias: fill(c.K*c.O, value), gy: fill(y, value),
		arg: make([]uint8, y),
	}
	for i := range d.arg {
		d.arg[i] = uint8(rnd.IntN(5))
	}
	return d
}

func (c convCase) last(d convData) (convolution, convData) {
	x, y := (c.K-1)*c.B*c.x(), (c.K-1)*c.B*c.y()
	one := convData{x: d.x[x:], w: d.w[(c.K-1)*c.w():], bias: d.bias[(c.K-1)*c.O:], gy: d.gy[y:], arg: d.arg[y:]}
	c.K = 1
	return c, one
}

func (c convCase) terms() (ofY, ofDX, ofGradient int) {
	h, w := c.pooled()
	return c.R * c.S * c.C, c.R * c.S * c.O, min(c.B, 16) * 4 * h * w
}

func (c convCase) products() int { return c.K * c.B * c.H * c.W * c.C * c.R * c.S * c.O }

// fill returns n numbers that value draws.
func fill(n int, value func() float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = value()
	}
	return x
}
