//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// flatSizes are numbers of elements around those that a thread and a block take.
var flatSizes = []int{1, 2, 3, 4, 5, 1023, 1024, 1026, 1028, 5 * 257, 128 * 64}

func TestReLUBackward(t *testing.T) {
	for _, p := range precisions {
		for _, K := range clientCounts {
			for _, n := range flatSizes {
				for _, inPlace := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/K=%d_n=%d_inPlace=%t", p.name, K, n, inPlace), func(t *testing.T) {
						r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(n), uint64(K)))
						w := wave{Slots: make([]Slot, K), E: 1, B: 1}
						all := w.room() * n
						y, gy := p.rounded(oddNumbers(rnd, all, 10)),
							p.rounded(append(numbers(rnd, all-all/2), oddNumbers(rnd, all/2, 5)...))
						a := ReLUArgs{
							Work: r.work(w), Y: p.upload(r, y), GY: p.upload(r, gy), D: p.blank(r, all), N: uint32(n),
						}
						if inPlace {
							a.D = a.GY
						}
						launch(r, "relu_backward_"+p.name, a.Launch(p.kind()), w.room(), &a)
						want, db := make([]float32, K*n), make([]float32, n)
						cpu.Generic[float32]().ReLUGrad(want, db, gy[:K*n], y[:K*n], true)
						got := p.download(r, a.D, all)
						same(t, "d", got[:K*n], want)
						if inPlace {
							same(t, "d of the slot not in use", got[K*n:], gy[K*n:])
						} else {
							r.untouched("d of the slot not in use", a.D+uint64(K*n*p.bytes), n*p.bytes)
						}
						same(t, "y, which is only read", p.download(r, a.Y, all), y)
					})
				}
			}
		}
	}
}
