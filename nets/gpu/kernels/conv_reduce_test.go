//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestConvReduce(t *testing.T) {
	for _, c := range []struct{ n, O, chunks int }{
		{27 * 32, 32, 1},
		{27 * 32, 32, 7},
		{9 * 32 * 32, 32, 16},
		{75, 6, 3},
		{6 * 25 * 16, 16, 64},
		{4, 6, 9},
		{1, 1, 2},
		{511, 1, 2},
		{512, 4, 2},
		{3, 4, 5},
		{48, 0, 5},
		{9, 0, 3},
	} {
		for _, K := range clientCounts {
			t.Run(fmt.Sprintf("n=%d_O=%d_chunks=%d_K=%d", c.n, c.O, c.chunks, K), func(t *testing.T) {
				r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(c.n), uint64(K)))
				const E, step, offset = 2, 1, 64
				gap := (c.n + 63) / 64 * 64
				P, size := offset+gap+(c.O+63)/64*64, c.n+c.O
				w := wave{Slots: make([]Slot, K), E: E, B: 2, Index: make([]int32, K*E*2)}
				if K > 1 {
					w.Index[(1*E+step)*2], w.Index[(1*E+step)*2+1] = -1, -1 // client 1 has no sample
				}
				partial := numbers(rnd, w.room()*c.chunks*size)
				a := ConvReduceArgs{
					Work: r.work(w), Partial: upload(r, partial), Grad: blank[float32](r, w.room()*P), WOffset: offset,
					BOffset: uint32(offset + gap), N: uint32(c.n), O: uint32(c.O), Chunks: uint32(c.chunks),
					P: uint32(P), Step: step, E: E,
				}
				launch(r, "conv_reduce", a.Launch(FP32), w.room(), &a)
				grad := download[float32](r, a.Grad, w.room()*P)
				unsetRow := download[float32](r, blank[float32](r, P), P)
				for k := range w.room() {
					want := append([]float32{}, unsetRow...)
					for i := range size {
						if k == K || k == 1 && K > 1 {
							break // not in use, or nothing to do
						}
						sum := float32(0)
						for ch := range c.chunks {
							sum += partial[(k*c.chunks+ch)*size+i]
						}
						if i < c.n {
							want[offset+i] = sum
						} else {
							want[offset+gap+i-c.n] = sum
						}
					}
					same(t, fmt.Sprintf("gradient of client %d, nothing but w and bias written", k),
						grad[k*P:][:P], want)
				}
			})
		}
	}
}
