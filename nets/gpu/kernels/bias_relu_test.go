//go:build gpu && linux && cgo

package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// y, arg and dx are what the CPU computes, exactly, with equal numbers, zeros and NaN in every other window; dbias is
// against float64. The maps are even and odd, of channels that are no multiple of 4, of lanes without channels, several
// tiles, and several chunks, which end within an image.
func TestBiasReLU(t *testing.T) {
	eachBatch(t, []cpu.BiasReLUShape{
		{B: 1, H: 1, W: 1, C: 1},
		{B: 5, H: 3, W: 1, C: 12},
		{B: 5, H: 29, W: 17, C: 33},
		{B: 3, H: 10, W: 9, C: 512},
		{B: 7, H: 32, W: 32, C: 16},
		{B: 1, H: 2, W: 2, C: 4, Pool: true},
		{B: 1, H: 3, W: 3, C: 1, Pool: true},
		{B: 5, H: 28, W: 7, C: 6, Pool: true},
		{B: 5, H: 7, W: 8, C: 64, Pool: true},
		{B: 3, H: 5, W: 11, C: 260, Pool: true},
		{B: 17, H: 33, W: 32, C: 8, Pool: true},
	}, func(r *rig, rnd *rand.Rand, p precision, K int, s cpu.BiasReLUShape) {
		h, width := s.Out()
		in, out := s.B*s.H*s.W*s.C, s.B*h*width*s.C
		const offset = 64
		P := offset + (s.C+63)/64*64
		rows := make([][]float32, K)
		var bias []float32
		for k := range rows {
			rows[k] = eighths(rnd, P)
			bias = append(bias, rows[k][offset:][:s.C]...)
		}
		w := wave{Slots: r.slots(p, rows...), E: 1, B: 1}
		x := eighths(rnd, w.room()*in)
		for i := range x {
			if rnd.IntN(20) == 0 {
				x[i] = float32(math.NaN())
			}
		}
		gy := p.rounded(numbers(rnd, w.room()*out))
		a := BiasReLUArgs{
			Work: r.work(w), X: p.upload(r, x), Y: p.blank(r, w.room()*out), GY: p.upload(r, gy),
			DX: p.blank(r, w.room()*in), BOffset: offset, B: uint32(s.B), H: uint32(s.H), W: uint32(s.W),
			C: uint32(s.C), Side: 1,
		}
		if s.Pool {
			a.Side, a.Arg = 2, blank[uint8](r, w.room()*out)
		}
		a.Split()
		a.Partial = blank[float32](r, w.room()*int(a.Chunks)*s.C)
		reduce := ConvReduceArgs{
			Work: a.Work, Partial: a.Partial, Grad: blank[float32](r, w.room()*P), WOffset: offset, N: a.C,
			Chunks: a.Chunks, P: uint32(P), E: 1,
		}
		launch(r, "bias_relu_"+p.name, a.Forward(p.kind()), w.room(), &a)
		launch(r, "bias_relu_backward_"+p.name, a.Backward(p.kind()), w.room(), &a)
		launch(r, "conv_reduce", reduce.Launch(p.kind()), w.room(), &reduce)

		s.K = K
		y, arg := make([]float32, K*out), make([]uint8, s.ArgLen())
		exec := cpu.NewExec(cpu.Generic[float32](), nil)
		new(cpu.BiasReLUForward[float32]).Run(exec, s, y, arg, x[:K*in], bias)
		y = p.rounded(y)
		dx, db := make([]float64, K*in), make([]float64, K*s.C)
		new(cpu.BiasReLUBackward[float64]).Run(cpu.NewExec(cpu.Generic[float64](), nil), s, dx, db, widen(y),
			widen(gy[:K*out]), arg)
		same(r.t, "y", p.download(r, a.Y, K*out), y)
		if s.Pool && !slices.Equal(download[uint8](r, a.Arg, K*out), arg) {
			r.t.Error("arg: got another than on the CPU")
		}
		near(r.t, "dx", p.download(r, a.DX, K*in), dx, exactly, "copied")
		for k := range K {
			near(r.t, "dbias", download[float32](r, reduce.Grad, w.room()*P)[k*P+offset:][:s.C], db[k*s.C:][:s.C],
				func(int) float64 { return 0x1p-22 * float64(out/s.C) }, "a sum of numbers below 1 in float32")
		}
		r.untouched("y of the slot not in use", a.Y+uint64(K*out*p.bytes), out*p.bytes)
		r.untouched("dx of the slot not in use", a.DX+uint64(K*in*p.bytes), in*p.bytes)
		r.untouched("gradient of the slot not in use", reduce.Grad+uint64(4*K*P), 4*P)
	})
}

// eighths returns n numbers of few values, so that many are equal, none of which a precision rounds.
func eighths(rnd *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rnd.IntN(17)-8) / 8
	}
	return x
}
