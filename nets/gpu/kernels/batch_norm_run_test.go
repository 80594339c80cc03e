//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// normSizes are sizes around what a thread, a warp and a block take: channels that are no multiple of 4, lanes without
// channels, several tiles, more chunks than the warps that add them up, chunks that end within an image, and one row
// short of a whole chunk.
var normSizes = []struct{ B, H, W, C int }{
	{5, 3, 5, 1},
	{1, 1, 2, 12},
	{5, 9, 7, 3},
	{5, 23, 20, 16},
	{5, 29, 17, 33},
	{5, 3, 17, 128},
	{1, 5, 5, 36},
	{5, 16, 15, 64},
	{3, 10, 10, 512},
	{128, 2, 3, 20},
}

// normKinds are the variants of a batch normalisation: with an addition, with ReLU, and with a gradient of y that comes
// in two parts.
var normKinds = []struct{ add, relu, parts bool }{
	{false, true, false},
	{true, true, true},
	{true, true, false},
	{false, false, false},
	{false, true, true},
	{true, false, false},
}

// norm is a batch normalisation of one to three clients. All samples of the first client count, every other one of the
// second, beginning with its second, and none of the third. Samples that do not count hold NaN.
type norm struct {
	*rig
	p                    precision
	args                 *NormArgs // apart, since the driver gets its address
	wave                 wave
	shape                cpu.NormShape
	add                  bool
	room                 int       // slots, one of them not in use
	n, P                 int       // elements of the maps of a slot, and of a row
	x, more, gy, gy2     []float32 // [K,B,H,W,C], rounded
	labels               []int32   // [K,B]
	row                  [][]float32
	weight, bias         []float64 // [K,C]
	mean, variance       []float64 // [K,C] running
	stats                *cpu.NormStats[float64]
	forward              cpu.NormForward[float64]
	exec                 *cpu.Exec[float64]
	wide, wideMore, want []float64
}

// newNorm returns a norm with random numbers around an offset that is far larger than their deviation.
func newNorm(t *testing.T, p precision, K, B, H, W, C int, add, relu, parts bool) *norm {
	t.Helper()
	rnd := rand.New(rand.NewPCG(uint64(B*C), uint64(H)))
	const E, step = 2, 1
	c := &norm{
		rig: newRig(t), p: p, add: add, room: K + 1, n: B * H * W * C, exec: cpu.NewExec(cpu.Generic[float64](), nil),
	}
	c.shape = cpu.NormShape{K: K, B: B, H: H, W: W, C: C, ReLU: relu}
	gap := (C + 63) / 64 * 64
	c.P = 5 * gap
	nan := float32(math.NaN())
	samples := H * W * C
	for k := range K {
		row := numbers(rnd, c.P)
		for i := range C {
			row[4*gap+i] = float32(math.Abs(float64(row[4*gap+i]))) + 0.1
			c.weight, c.bias = append(c.weight, float64(row[gap+i])), append(c.bias, float64(row[2*gap+i]))
			c.mean, c.variance = append(c.mean, float64(row[3*gap+i])), append(c.variance, float64(row[4*gap+i]))
		}
		c.row = append(c.row, row)
		for range E {
			for b := range B {
				index := int32(b)
				if k == 1 && b%2 == 0 || k == 2 {
					index = -1
				}
				c.wave.Index = append(c.wave.Index, index)
			}
		}
		c.labels = append(c.labels, c.wave.Index[len(c.wave.Index)-B:]...)
		offset := numbers(rnd, C)
		for _, index := range c.wave.Index[len(c.wave.Index)-B:] {
			x, more, gy, gy2 := numbers(rnd, samples), numbers(rnd, samples),
				numbers(rnd, samples), numbers(rnd, samples)
			for i := range samples {
				x[i] += 20 * offset[i%C]
				if index < 0 {
					x[i], more[i], gy[i], gy2[i] = nan, nan, nan, nan
				}
			}
			c.x, c.more, c.gy, c.gy2 = append(c.x, p.rounded(x)...), append(c.more, p.rounded(more)...),
				append(c.gy, p.rounded(gy)...), append(c.gy2, p.rounded(gy2)...)
		}
	}
	if !add {
		c.more = nil
	}
	if !parts {
		c.gy2 = nil
	}
	c.wave.Slots, c.wave.E, c.wave.B = c.slots(p, c.row...), E, B
	a := &NormArgs{
		WOffset: uint32(gap), BOffset: uint32(2 * gap), MeanOffset: uint32(3 * gap), VarianceOffset: uint32(4 * gap),
		B: uint32(B), Pixels: uint32(H * W), C: uint32(C), P: uint32(c.P), Step: step, E: E,
	}
	if relu {
		a.ReLU = 1
	}
	a.Split()
	a.Work, a.X, a.Y, a.Labels = c.work(c.wave), c.maps(c.x), p.blank(c.rig, c.room*c.n), upload(c.rig, c.labels)
	if add {
		a.Add = c.maps(c.more)
	}
	a.Partial, a.Stats = blank[float64](c.rig, c.room*a.Partials()), blank[float32](c.rig, c.room*a.Statistics())
	c.args, c.wide, c.want = a, widen(c.x), make([]float64, K*c.n)
	if add {
		c.wideMore = widen(c.more)
	}
	return c
}

// maps uploads the maps of the slots in use, with room for one slot more.
func (c *norm) maps(x []float32) uint64 {
	c.t.Helper()
	return c.p.upload(c.rig, append(append([]float32{}, x...), make([]float32, c.n)...))
}

// train runs the forward pass on the device, and on the CPU in float64.
func (c *norm) train() {
	c.t.Helper()
	for _, l := range []struct {
		kernel string
		l      Launch
	}{
		{"norm_moments_", c.args.Moments(c.p.kind())},
		{"norm_statistics_", c.args.Channels(c.p.kind())},
		{"norm_apply_", c.args.Apply(c.p.kind())},
	} {
		launch(c.rig, l.kernel+c.p.name, l.l, c.room, c.args)
	}
	c.stats = c.forward.Train(c.exec, c.shape, c.want, c.wide, c.wideMore, c.weight, c.bias, c.labels)
}

// stat downloads one statistic of every client and channel, [K,C].
func (c *norm) stat(which int) (v []float32) {
	c.t.Helper()
	all := download[float32](c.rig, c.args.Stats, c.shape.K*c.args.Statistics())
	for k := range c.shape.K {
		v = append(v, all[(8*k+which)*c.shape.C:][:c.shape.C]...)
	}
	return v
}

// sumError bounds the error of a sum in float32 over 32 rows, the roundings of its terms included, as a fraction of the
// sum of the absolute terms.
const sumError = 35 * 0x1p-24

// about returns, for every client and channel, the mean square deviation from the pivot, which norm_moments sums. The
// pivot is x at the first pixel that counts.
func (c *norm) about() []float64 {
	s := c.shape
	squares := make([]float64, s.K*s.C)
	for k := range s.K {
		for ch := range s.C {
			var pivot, sum, n float64
			for i := range s.B * s.H * s.W {
				if c.labels[k*s.B+i/(s.H*s.W)] < 0 {
					continue
				}
				x := c.wide[k*c.n+i*s.C+ch]
				if n == 0 {
					pivot = x
				}
				sum += (x - pivot) * (x - pivot)
				n++
			}
			if n > 0 {
				squares[k*s.C+ch] = sum / n
			}
		}
	}
	return squares
}

// eachNorm runs a test for every size, precision and kind; several clients in every case but one.
func eachNorm(t *testing.T, test func(t *testing.T, c *norm)) {
	for _, p := range precisions {
		for i, s := range normSizes {
			for j, kind := range normKinds {
				if i != j && i != (j+4)%len(normSizes) && s.C != 16 && (s.C != 33 || p.name != "fp32") {
					continue // sizes and kinds have little to do with each other
				}
				K := 3
				if i%4 == 1 {
					K = 1
				}
				name := fmt.Sprintf("%s/K=%d_B=%d_%dx%dx%d_add=%t_relu=%t_parts=%t",
					p.name, K, s.B, s.H, s.W, s.C, kind.add, kind.relu, kind.parts)
				t.Run(name, func(t *testing.T) {
					test(t, newNorm(t, p, K, s.B, s.H, s.W, s.C, kind.add, kind.relu, kind.parts))
				})
			}
		}
	}
}
