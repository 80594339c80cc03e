//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// conv2DCase is a convolution: K clients, B images H×W×C without border, R×S windows, O outputs, stride U, pad zeros
// around.
type conv2DCase struct{ K, B, H, W, C, R, S, O, U, pad int }

func (c conv2DCase) String() string {
	return fmt.Sprintf("K=%d_B=%d_%dx%dx%d_%dx%d_O=%d_stride=%d_pad=%d",
		c.K, c.B, c.H, c.W, c.C, c.R, c.S, c.O, c.U, c.pad)
}

// conv2DCases are layers of the residual nets on small images, and sizes that are multiples of nothing.
var conv2DCases = []conv2DCase{
	{1, 2, 16, 16, 3, 3, 3, 64, 1, 1},  // resnet18: the first, element by element
	{2, 3, 9, 8, 64, 3, 3, 64, 1, 1},   // the first stage; a tile of windows and a part
	{1, 2, 8, 8, 64, 3, 3, 128, 2, 1},  // between stages
	{3, 3, 8, 8, 64, 1, 1, 128, 2, 0},  // and the shortcut: no tap at three of four pixels
	{1, 2, 4, 4, 128, 3, 3, 256, 1, 1}, // two tiles of outputs, groups of channels
	{1, 3, 4, 4, 192, 3, 3, 72, 1, 1},  // half a tile of outputs, three groups of channels and more
	{3, 5, 8, 8, 3, 3, 3, 16, 1, 1},    // resnet20: the first
	{1, 3, 8, 8, 16, 3, 3, 32, 2, 1},   // between stages: taps that share a stage
	{1, 3, 9, 7, 16, 3, 3, 33, 2, 1},   // an odd image, one output too many for a tile
	{1, 3, 9, 8, 72, 3, 3, 40, 2, 1},   // a stride, and many channels of the input
	{1, 2, 5, 4, 128, 3, 3, 72, 2, 1},  // and many weights
	{3, 1, 7, 9, 33, 1, 1, 65, 2, 0},   // channels and outputs element by element, in the last tile one
	{1, 2, 11, 6, 5, 5, 3, 7, 2, 2},    // a window that is not square, with a wide border
	{1, 3, 5, 5, 8, 5, 5, 40, 1, 2},    // a window as large as the image
	{3, 2, 3, 3, 96, 3, 3, 20, 1, 1},   // groups of channels in float, none in bf16
	{1, 2, 10, 8, 24, 1, 1, 4, 3, 0},   // a stride beyond the window: pixels that nothing reads
	{3, 2, 8, 7, 4, 3, 3, 5, 3, 1},     // classes in another order than their first pixels
	{1, 17, 6, 6, 2, 2, 2, 130, 2, 0},  // an even window
	{1, 70, 4, 4, 16, 3, 3, 16, 1, 1},  // partial sums of three images, the last of one
	{3, 1, 1, 1, 1, 1, 1, 1, 1, 0},     // one of everything
}

func (c conv2DCase) shape() cpu.Conv2DShape {
	return cpu.Conv2DShape{
		K: c.K, B: c.B, H: c.H + 2*c.pad, W: c.W + 2*c.pad, C: c.C, R: c.R, S: c.S, O: c.O,
		Stride: c.U, Border: c.pad, Pad: c.pad,
	}
}
func (c conv2DCase) x() int { return c.H * c.W * c.C }
func (c conv2DCase) w() int { return c.R * c.S * c.C * c.O }
func (c conv2DCase) y() int { h, w := c.shape().Out(); return h * w * c.O }

// onCard returns what the three kernels compute on the device.
func (c conv2DCase) onCard(t *testing.T, p precision, d convData) convResult {
	t.Helper()
	r := newRig(t)
	const before = 64
	rows := make([][]float32, c.K)
	for k := range rows {
		rows[k] = make([]float32, before+c.w())
		copy(rows[k][before:], d.w[k*c.w():][:c.w()])
	}
	w := wave{Slots: r.slots(p, rows...), E: 1, B: c.B}
	room, x, y := w.room(), c.B*c.x(), c.B*c.y()
	a := Conv2DArgs{
		Work: r.work(w), X: p.upload(r, d.x), Y: p.blank(r, room*y), DX: p.blank(r, room*x), GY: p.upload(r, d.gy),
		WOffset: before, B: uint32(c.B), H: uint32(c.H), W: uint32(c.W), C: uint32(c.C), R: uint32(c.R), S: uint32(c.S),
		O: uint32(c.O), U: uint32(c.U), Pad: uint32(c.pad), E: 1,
	}
	a.Images = a.ChunkImages(p.kind())
	chunks := (c.B + int(a.Images) - 1) / int(a.Images)
	n := chunks * c.w()
	stride := n + 3 // so that dw of the second client is not aligned
	a.DW, a.DWStride = blank[float32](r, room*stride), uint32(stride)
	if !a.Fits() {
		t.Fatal("does not fit")
	}

	launch(r, "conv2d_forward_"+p.name, a.Forward(p.kind()), room, &a)
	got := convResult{y: widen(p.download(r, a.Y, c.K*y))}
	r.untouched("y of the slot not in use", a.Y+uint64(c.K*y*p.bytes), y*p.bytes)

	launch(r, "conv2d_backward_data_"+p.name, a.BackwardData(p.kind()), room, &a)
	got.dx = widen(p.download(r, a.DX, c.K*x))
	r.untouched("dx of the slot not in use", a.DX+uint64(c.K*x*p.bytes), x*p.bytes)

	launch(r, "conv2d_backward_filter_"+p.name, a.BackwardFilter(p.kind()), room, &a)
	r.untouched("dw of the slot not in use", a.DW+uint64(c.K*stride*4), stride*4)
	got.dw = make([]float64, c.K*c.w())
	for k := range c.K {
		r.untouched("what is behind dw", a.DW+uint64((k*stride+n)*4), (stride-n)*4)
		for i, v := range download[float32](r, a.DW+uint64(k*stride*4), n) {
			got.dw[k*c.w()+i%c.w()] += float64(v)
		}
	}
	return got
}

// onCPU returns what the CPU engine computes in float64.
func (c conv2DCase) onCPU(d convData) convResult {
	e, s := cpu.NewExec(cpu.Generic[float64](), nil), c.shape()
	x := make([]float64, c.K*c.B*s.H*s.W*c.C)
	dx := make([]float64, len(x))
	want := convResult{
		y: make([]float64, c.K*c.B*c.y()), dx: make([]float64, c.K*c.B*c.x()), dw: make([]float64, c.K*c.w()),
	}
	inside(c.K*c.B, c.H, c.W, c.C, c.pad, func(plain, bordered int) {
		copy(x[bordered:][:c.W*c.C], widen(d.x[plain:][:c.W*c.C]))
	})
	w, gy := widen(d.w), widen(d.gy)
	new(cpu.Conv2DForward[float64]).Run(e, s, want.y, x, w)
	new(cpu.Conv2DInput[float64]).Run(e, s, dx, w, gy)
	new(cpu.Conv2DWeights[float64]).Run(e, s, want.dw, x, gy)
	inside(c.K*c.B, c.H, c.W, c.C, c.pad, func(plain, bordered int) {
		copy(want.dx[plain:][:c.W*c.C], dx[bordered:])
	})
	return want
}

// draw returns inputs whose numbers value draws.
func (c conv2DCase) draw(_ *rand.Rand, value func() float32) convData {
	return convData{x: fill(c.K*c.B*c.x(), value), w: fill(c.K*c.w(), value), gy: fill(c.K*c.B*c.y(), value)}
}

func (c conv2DCase) last(d convData) (convolution, convData) {
	one := convData{x: d.x[(c.K-1)*c.B*c.x():], w: d.w[(c.K-1)*c.w():], gy: d.gy[(c.K-1)*c.B*c.y():]}
	c.K = 1
	return c, one
}

func (c conv2DCase) terms() (ofY, ofDX, ofGradient int) {
	return c.R * c.S * c.C, c.R * c.S * c.O, c.B * c.y() / c.O
}

func (c conv2DCase) products() int { return c.K * c.B * c.y() * c.R * c.S * c.C }

func TestConv2DExact(t *testing.T) { exactConvs(t, conv2DCases) }

func TestConv2DRounding(t *testing.T) {
	roundedConvs(t, []conv2DCase{conv2DCases[0], conv2DCases[1], conv2DCases[2], conv2DCases[8], conv2DCases[11]})
}

func TestConv2DDeterministic(t *testing.T) {
	deterministicConv(t, conv2DCase{3, 5, 8, 6, 24, 3, 3, 40, 2, 1})
}

// A NaN in x or gy reaches the results that depend on it, and no other.
func TestConv2DNaN(t *testing.T) {
	for _, c := range []conv2DCase{{1, 3, 8, 8, 16, 3, 3, 72, 1, 1}, {1, 3, 8, 8, 64, 1, 1, 16, 2, 0}} {
		for _, p := range precisions {
			t.Run(c.String()+"/"+p.name, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(1, 2))
				d := c.draw(rnd, func() float32 { return float32(rnd.IntN(3) - 1) })
				d.x[(c.H+2)*c.W*c.C+4*c.C+2] = float32(math.NaN()) // image 1, pixel (2,4), channel 2
				d.gy[len(d.gy)/2+3] = float32(math.NaN())
				got, want := c.onCard(t, p, d), c.onCPU(d)
				for _, v := range []struct {
					what      string
					got, want []float64
				}{{"y", got.y, want.y}, {"dx", got.dx, want.dx}, {"dw", got.dw, want.dw}} {
					nan := 0
					for i, w := range v.want {
						if g := v.got[i]; (g != g) != (w != w) {
							t.Fatalf("%s[%d]: got %g, want %g", v.what, i, g, w)
						}
						if w != w {
							nan++
						}
					}
					if nan == 0 || nan == len(v.want) {
						t.Fatalf("%s: %d of %d depend on the NaN: the case tests nothing", v.what, nan, len(v.want))
					}
				}
			})
		}
	}
}
