//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

func TestSubsample(t *testing.T) {
	for _, p := range precisions {
		for _, K := range clientCounts {
			for _, s := range []cpu.SubsampleShape{
				{N: 1, H: 1, W: 1, C: 1, O: 1, Stride: 1},
				{N: 5, H: 32, W: 32, C: 16, O: 32, Stride: 2},
				{N: 5, H: 7, W: 4, C: 3, O: 6, Stride: 2},
				{N: 3, H: 5, W: 9, C: 4, O: 7, Stride: 2},
				{N: 2, H: 8, W: 11, C: 12, O: 12, Stride: 3},
				{N: 5, H: 3, W: 4, C: 33, O: 64, Stride: 5},
			} {
				t.Run(fmt.Sprintf("%s/K=%d_B=%d_%dx%dx%d_to_%d_stride=%d", p.name, K, s.N, s.H, s.W, s.C, s.O,
					s.Stride), func(t *testing.T) {
					r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(s.N), uint64(s.C)))
					h, width := s.Out()
					in, out := s.N*s.H*s.W*s.C, s.N*h*width*s.O
					w := wave{Slots: make([]Slot, K), E: 1, B: 1}
					x, gy := p.rounded(oddNumbers(rnd, w.room()*in, 9)), p.rounded(oddNumbers(rnd, w.room()*out, 9))
					a := SubsampleArgs{
						Work: r.work(w), X: p.upload(r, x), Y: p.blank(r, w.room()*out), GY: p.upload(r, gy),
						DX: p.blank(r, w.room()*in), B: uint32(s.N), H: uint32(s.H), W: uint32(s.W), C: uint32(s.C),
						O: uint32(s.O), Stride: uint32(s.Stride),
					}
					launch(r, "subsample_"+p.name, a.Forward(p.kind()), w.room(), &a)
					launch(r, "subsample_backward_"+p.name, a.Backward(p.kind()), w.room(), &a)
					exec, all := cpu.NewExec(cpu.Generic[float32](), nil), s
					all.N = K * s.N
					y, dx := make([]float32, K*out), make([]float32, K*in)
					new(cpu.Subsample[float32]).Forward(exec, all, y, x[:K*in])
					new(cpu.Subsample[float32]).Backward(exec, all, dx, gy[:K*out])
					same(t, "y", p.download(r, a.Y, K*out), y)
					same(t, "dx", p.download(r, a.DX, K*in), dx)
					r.untouched("y of the slot not in use", a.Y+uint64(K*out*p.bytes), out*p.bytes)
					r.untouched("dx of the slot not in use", a.DX+uint64(K*in*p.bytes), in*p.bytes)
				})
			}
		}
	}
}
