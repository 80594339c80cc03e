//go:build gpu && linux && cgo

package kernels

import (
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// y keeps every Stride-th pixel, with zeros in new channels, and dx is its gradient: exactly, since nothing is
// computed.
func TestSubsample(t *testing.T) {
	eachBatch(t, []cpu.SubsampleShape{
		{N: 1, H: 1, W: 1, C: 1, O: 1, Stride: 1},
		{N: 5, H: 32, W: 32, C: 16, O: 32, Stride: 2},
		{N: 5, H: 7, W: 4, C: 3, O: 6, Stride: 2},
		{N: 3, H: 5, W: 9, C: 4, O: 7, Stride: 2},
		{N: 2, H: 8, W: 11, C: 12, O: 12, Stride: 3},
		{N: 5, H: 3, W: 4, C: 33, O: 64, Stride: 5},
	}, func(r *rig, rnd *rand.Rand, p precision, K int, s cpu.SubsampleShape) {
		h, width := s.Out()
		in, out, w := s.N*s.H*s.W*s.C, s.N*h*width*s.O, plain(K)
		x, gy := p.rounded(oddNumbers(rnd, w.room()*in, 9)), p.rounded(oddNumbers(rnd, w.room()*out, 9))
		a := SubsampleArgs{
			Work: r.work(w), X: p.upload(r, x), Y: p.blank(r, w.room()*out), GY: p.upload(r, gy),
			DX: p.blank(r, w.room()*in), B: uint32(s.N), H: uint32(s.H), W: uint32(s.W), C: uint32(s.C),
			O: uint32(s.O), Stride: uint32(s.Stride),
		}
		launch(r, "subsample_"+p.name, a.Forward(p.kind()), w.room(), &a)
		launch(r, "subsample_backward_"+p.name, a.Backward(p.kind()), w.room(), &a)
		exec := cpu.NewExec(cpu.Generic[float32](), nil)
		s.N *= K
		y, dx := make([]float32, K*out), make([]float32, K*in)
		new(cpu.Subsample[float32]).Forward(exec, s, y, x[:K*in])
		new(cpu.Subsample[float32]).Backward(exec, s, dx, gy[:K*out])
		same(r.t, "y", p.download(r, a.Y, K*out), y)
		same(r.t, "dx", p.download(r, a.DX, K*in), dx)
		r.untouched("y of the slot not in use", a.Y+uint64(K*out*p.bytes), out*p.bytes)
		r.untouched("dx of the slot not in use", a.DX+uint64(K*in*p.bytes), in*p.bytes)
	})
}
