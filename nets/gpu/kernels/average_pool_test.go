//go:build gpu && linux && cgo

package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// y = Σ x / pixels and dx = gy / pixels, against float64.
func TestAveragePool(t *testing.T) {
	eachBatch(t, []cpu.AverageShape{
		{N: 1, H: 1, W: 1, C: 1},
		{N: 5, H: 3, W: 5, C: 3},
		{N: 5, H: 8, W: 8, C: 64},
		{N: 3, H: 4, W: 4, C: 512},
		{N: 5, H: 2, W: 7, C: 33},
		{N: 128, H: 2, W: 2, C: 12},
	}, func(r *rig, rnd *rand.Rand, p precision, K int, s cpu.AverageShape) {
		pixels, out := s.H*s.W, s.N*s.C
		in, w := out*pixels, plain(K)
		x, gy := p.rounded(numbers(rnd, w.room()*in)), p.rounded(numbers(rnd, w.room()*out))
		a := AverageArgs{
			Work: r.work(w), X: p.upload(r, x), Y: p.blank(r, w.room()*out), GY: p.upload(r, gy),
			DX: p.blank(r, w.room()*in), B: uint32(s.N), Pixels: uint32(pixels), C: uint32(s.C),
		}
		launch(r, "average_pool_"+p.name, a.Launch(p.kind()), w.room(), &a)
		launch(r, "average_pool_backward_"+p.name, a.Launch(p.kind()), w.room(), &a)
		exec := cpu.NewExec(cpu.Generic[float64](), nil)
		s.N *= K
		y, dx := make([]float64, K*out), make([]float64, K*in)
		new(cpu.Average[float64]).Forward(exec, s, y, widen(x[:K*in]))
		new(cpu.Average[float64]).Backward(exec, s, dx, widen(gy[:K*out]))
		near(r.t, "y", p.download(r, a.Y, K*out), y, func(i int) float64 {
			return 0x1p-24*float64(pixels+2) + p.half*math.Abs(y[i])
		}, "a sum of numbers below 1 in float32, over their number, rounded")
		near(r.t, "dx", p.download(r, a.DX, K*in), dx,
			func(i int) float64 { return (2*0x1p-24 + p.half) * math.Abs(dx[i]) },
			"1/pixels, a product, and what is stored")
		r.untouched("y of the slot not in use", a.Y+uint64(K*out*p.bytes), out*p.bytes)
		r.untouched("dx of the slot not in use", a.DX+uint64(K*in*p.bytes), in*p.bytes)
	})
}
