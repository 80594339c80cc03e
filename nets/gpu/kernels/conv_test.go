//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/nets/cpu"
)

// convCase is a convolution: K clients, B images H×W×C without border, R×S windows, O outputs, pad zeros around.
type convCase struct{ K, B, H, W, C, R, S, O, pad int }

func (c convCase) String() string {
	return fmt.Sprintf("K=%d_B=%d_%dx%dx%d_%dx%d_O=%d_pad=%d", c.K, c.B, c.H, c.W, c.C, c.R, c.S, c.O, c.pad)
}

// convCases are the convolutions of the nets, and sizes that are multiples of nothing.
var convCases = []convCase{
	{1, 2, 32, 32, 3, 3, 3, 32, 1},  // cnn-cifar10, first
	{3, 5, 16, 16, 32, 3, 3, 32, 1}, // and second
	{1, 3, 14, 14, 32, 5, 5, 64, 0}, // cnn-cafed, second: weights streamed, two tiles of outputs
	{1, 2, 32, 32, 3, 5, 5, 6, 0},   // lenet5, first
	{3, 5, 14, 14, 6, 5, 5, 16, 0},  // and second
	{3, 1, 4, 4, 1, 3, 3, 1, 1},     // one channel, one output
	{1, 9, 4, 4, 40, 3, 3, 33, 1},   // several images in a tile, a last output tile of one
	{1, 5, 9, 7, 5, 2, 4, 7, 0},     // an odd image and a window that is not square
	{3, 1, 6, 130, 4, 3, 3, 8, 1},   // a row longer than a tile
	{1, 2, 5, 5, 8, 2, 2, 10, 0},    // an even window
	{1, 3, 7, 9, 16, 4, 2, 12, 0},   // border of dY wider than high
	{1, 2, 6, 6, 200, 5, 5, 36, 2},  // tiles cut for want of shared memory
	{1, 1, 4, 4, 2, 1, 1, 3, 0},     // no window at all
	{1, 7, 2, 2, 48, 3, 3, 20, 1},   // an image of one pooling window
	{1, 9, 8, 10, 4, 3, 3, 5, 1},    // three images in a tile, four in a partial sum
	{1, 97, 16, 16, 1, 3, 3, 4, 1},  // so many tiles that a block has several
	{1, 2, 10, 6, 12, 3, 3, 132, 1}, // five tiles of outputs
}

func (c convCase) pooled() (h, w int) {
	return (c.H + 2*c.pad - c.R + 1) / 2, (c.W + 2*c.pad - c.S + 1) / 2
}
func (c convCase) x() int { return c.H * c.W * c.C }
func (c convCase) w() int { return c.R * c.S * c.C * c.O }
func (c convCase) y() int { h, w := c.pooled(); return h * w * c.O }

// convData are the inputs of the three kernels, for K clients.
type convData struct {
	x, w, bias, gy []float32 // [K,B,H,W,C], [K,R,S,C,O], [K,O], [K,B,HP,WP,O]
	arg            []uint8   // [K,B,HP,WP,O]
}

// convResult is what the kernels write; dw and db are the sums of the partial sums.
type convResult struct {
	y, dx, dw, db []float64
	arg           []uint8
}

// convOnCard returns what the three kernels compute on the device.
func convOnCard(t *testing.T, c convCase, p precision, d convData) convResult {
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
	room, x, y := w.room(), c.B*c.x(), c.B*c.y()
	a := ConvArgs{
		Work: r.work(w), X: p.upload(r, d.x), Y: p.blank(r, room*y), Arg: blank[uint8](r, room*y),
		DX: p.blank(r, room*x), GY: p.upload(r, d.gy),
		WOffset: before, BOffset: uint32(b), B: uint32(c.B), H: uint32(c.H), W: uint32(c.W), C: uint32(c.C),
		R: uint32(c.R), S: uint32(c.S),
		O: uint32(c.O), Pad: uint32(c.pad),
	}
	a.Images = a.ChunkImages()
	chunks, n := (c.B+int(a.Images)-1)/int(a.Images), c.w()+c.O
	a.Partial = blank[float32](r, room*chunks*n)
	kind := Precision(p.name)
	if !a.Fits(kind) {
		t.Fatal("does not fit")
	}

	launch(r, "conv_forward_"+p.name, a.Forward(kind), room, &a)
	got := convResult{y: doubles(p.download(r, a.Y, c.K*y)), arg: download[uint8](r, a.Arg, c.K*y)}
	r.untouched("y of the slot not in use", a.Y+uint64(c.K*y*p.bytes), y*p.bytes)
	r.untouched("arg of the slot not in use", a.Arg+uint64(c.K*y), y)

	a.Arg = upload(r, d.arg)
	launch(r, "conv_backward_data_"+p.name, a.BackwardData(kind), room, &a)
	got.dx = doubles(p.download(r, a.DX, c.K*x))
	r.untouched("dx of the slot not in use", a.DX+uint64(c.K*x*p.bytes), x*p.bytes)

	launch(r, "conv_backward_filter_"+p.name, a.BackwardFilter(kind), room, &a)
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

func doubles(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// convOnCPU returns what the CPU engine computes in float64.
func convOnCPU(c convCase, d convData) convResult {
	e := cpu.NewExec(cpu.Generic[float64](), nil)
	s := cpu.ConvShape{K: c.K, B: c.B, H: c.H + 2*c.pad, W: c.W + 2*c.pad, C: c.C, R: c.R, S: c.S, O: c.O, Pad: c.pad}
	y := c.K * c.B * c.y()
	want := convResult{
		y: make([]float64, y), arg: make([]uint8, y), dx: make([]float64, c.K*c.B*c.x()),
		dw: make([]float64, c.K*c.w()), db: make([]float64, c.K*c.O),
	}
	x, w, gy := make([]float64, c.K*c.B*s.H*s.W*c.C), doubles(d.w), doubles(d.gy)
	dx := make([]float64, len(x))
	// inside calls f with the offset of every row of pixels, in maps without border and with it.
	inside := func(f func(plain, bordered int)) {
		for i := range c.K * c.B * c.H {
			f(i*c.W*c.C, ((i/c.H*s.H+i%c.H+c.pad)*s.W+c.pad)*c.C)
		}
	}
	inside(func(plain, bordered int) { copy(x[bordered:][:c.W*c.C], doubles(d.x[plain:][:c.W*c.C])) })
	new(cpu.ConvForward[float64]).Run(e, s, want.y, want.arg, x, w, doubles(d.bias))
	new(cpu.ConvBackward[float64]).Run(e, s, dx, want.dw, want.db, x, w, gy, d.arg)
	inside(func(plain, bordered int) { copy(want.dx[plain:][:c.W*c.C], dx[bordered:]) })
	return want
}

// draw returns inputs whose numbers value draws. A gradient arrives at any of the four places of its window, or at
// none, as in a net.
func (c convCase) draw(rnd *rand.Rand, value func() float32) convData {
	fill := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = value()
		}
		return x
	}
	y := c.K * c.B * c.y()
	d := convData{
		x: fill(c.K * c.B * c.x()), w: fill(c.K * c.w()), bias: fill(c.K * c.O), gy: fill(y),
		arg: make([]uint8, y),
	}
	for i := range d.arg {
		d.arg[i] = uint8(rnd.IntN(5))
	}
	return d
}

// With numbers −1, 0 and 1 all sums are small integers, which every precision adds without rounding: the kernels agree
// with the CPU engine exactly, and take the same one of equal maxima.
func TestConvExact(t *testing.T) {
	for _, c := range convCases {
		for _, p := range precisions {
			t.Run(c.String()+"/"+p.name, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(uint64(c.C), uint64(c.O)))
				d := c.draw(rnd, func() float32 { return float32(rnd.IntN(3) - 1) })
				compareConv(t, convOnCard(t, c, p, d), convOnCPU(c, d), p)
			})
		}
	}
}

// compareConv fails unless the results are the same, with y and dx of want rounded to the precision.
func compareConv(t *testing.T, got, want convResult, p precision) {
	t.Helper()
	kept := func(x []float64) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = float64(p.round(float32(v)))
		}
		return y
	}
	exactly := func(int) float64 { return 0 }
	const why = "all sums are small integers"
	near(t, "y", got.y, kept(want.y), exactly, why)
	for i, at := range want.arg {
		if got.arg[i] != at {
			t.Fatalf("arg[%d]: got %d, want %d: the first of equal maxima, 4 where y is 0", i, got.arg[i], at)
		}
	}
	near(t, "dx", got.dx, kept(want.dx), exactly, why)
	near(t, "dw", got.dw, want.dw, exactly, why)
	near(t, "db", got.db, want.db, exactly, why)
}

// Random numbers, rounded as activations are, against float64 sums of the same numbers. The rest is the rounding of
// partial sums: an addition errs by 2⁻²⁴ of its result, an addition of a tensor core by up to 2⁻²³, because it
// truncates; and y and dx are rounded at the end.
func TestConvRounding(t *testing.T) {
	cases := append([]convCase{{1, 128, 16, 16, 32, 3, 3, 32, 1}}, convCases...)
	for _, c := range cases {
		for _, p := range precisions {
			t.Run(c.String()+"/"+p.name, func(t *testing.T) {
				if c.B == 128 && p.name != "tf32" {
					t.Skip("left out: a full batch is tried with tf32 alone, for time")
				}
				rnd := rand.New(rand.NewPCG(uint64(c.H), uint64(c.R)))
				d := c.draw(rnd, func() float32 { return p.round(rnd.Float32()*2 - 1) })
				got, want := convOnCard(t, c, p, d), convOnCPU(c, d)
				m := d
				m.x, m.w, m.bias, m.gy = magnitudes(d.x), magnitudes(d.w), magnitudes(d.bias), magnitudes(d.gy)
				size := convOnCPU(c, m) // Σ|terms| of each sum; of y, the largest in its window
				h, w := c.pooled()
				tol := func(want, size []float64, terms int, last float64) func(int) float64 {
					return func(i int) float64 { return float64(terms/8+8)*0x1p-23*size[i] + last*math.Abs(want[i]) }
				}
				const why = "2⁻²³ of the sum of magnitudes for every 8 terms, and the rounding of what is kept"
				near(t, "y", got.y, want.y, tol(want.y, size.y, c.R*c.S*c.C, p.half), why)
				near(t, "dx", got.dx, want.dx, tol(want.dx, size.dx, c.R*c.S*c.O, p.half), why)
				images := min(c.B, 16)
				near(t, "dw", got.dw, want.dw, tol(want.dw, size.dw, images*4*h*w, 0), why)
				near(t, "db", got.db, want.db, tol(want.db, size.db, images*4*h*w, 0), why)
				for i, at := range got.arg {
					if (at == 4) != (got.y[i] == 0) || at > 4 {
						t.Fatalf("arg[%d] = %d where y = %g, want 4 exactly where y is 0", i, at, got.y[i])
					}
				}
			})
		}
	}
}

func magnitudes(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(math.Abs(float64(v)))
	}
	return y
}

// A NaN reaches the outputs whose windows see it, and no other; it wins over every number, as on the CPU.
func TestConvNaN(t *testing.T) {
	c := convCase{1, 3, 8, 8, 8, 3, 3, 16, 1}
	for _, p := range precisions {
		t.Run(p.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			d := c.draw(rnd, func() float32 { return float32(rnd.IntN(3) - 1) })
			d.x[(1*c.H+3)*c.W*c.C+5*c.C+2] = float32(math.NaN())
			got, want := convOnCard(t, c, p, d), convOnCPU(c, d)
			nan := 0
			for i, v := range want.y {
				if g := got.y[i]; g != v && (g == g || v == v) || got.arg[i] != want.arg[i] {
					t.Fatalf("y[%d]: got %g at %d, want %g at %d", i, g, got.arg[i], v, want.arg[i])
				}
				if v != v {
					nan++
				}
			}
			if nan == 0 {
				t.Fatal("no output sees the NaN: the case tests nothing")
			}
		})
	}
}

// Two runs give the same bytes, and a client's results do not depend on who else is in the wave.
func TestConvDeterministic(t *testing.T) {
	c := convCase{3, 5, 16, 16, 32, 3, 3, 32, 1}
	for _, p := range precisions {
		t.Run(p.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(3, 4))
			d := c.draw(rnd, func() float32 { return rnd.Float32()*2 - 1 })
			all, again := convOnCard(t, c, p, d), convOnCard(t, c, p, d)
			one := c
			one.K = 1
			x, y := c.B*c.x(), c.B*c.y()
			last := convOnCard(t, one, p, convData{
				x: d.x[2*x:], w: d.w[2*c.w():], bias: d.bias[2*c.O:],
				gy: d.gy[2*y:], arg: d.arg[2*y:],
			})
			exactly := func(int) float64 { return 0 }
			for _, v := range []struct {
				what             string
				got, again, last []float64
			}{
				{"y", all.y, again.y, last.y},
				{"dx", all.dx, again.dx, last.dx},
				{"dw", all.dw, again.dw, last.dw},
				{"db", all.db, again.db, last.db},
			} {
				near(t, v.what+" of a second run", v.again, v.got, exactly, "sums are added in a fixed order")
				near(t, v.what+" of the last client alone", v.last, v.got[len(v.got)-len(v.last):], exactly,
					"clients share nothing")
			}
		})
	}
}
