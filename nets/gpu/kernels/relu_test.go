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

// d is gy where y is above 0 or NaN, else 0: exactly, also in the place of gy.
func TestReLUBackward(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		t.Run(fmt.Sprintf("inPlace=%t", inPlace), func(t *testing.T) {
			eachBatch(t, flatSizes, func(r *rig, rnd *rand.Rand, p precision, K, n int) {
				w := plain(K)
				all := w.room() * n
				y, gy := p.rounded(oddNumbers(rnd, all, 10)),
					p.rounded(append(numbers(rnd, all-all/2), oddNumbers(rnd, all/2, 5)...))
				a := ReLUArgs{Work: r.work(w), Y: p.upload(r, y), GY: p.upload(r, gy), D: p.blank(r, all), N: uint32(n)}
				if inPlace {
					a.D = a.GY
				}
				want := p.download(r, a.D, all) // d of the slot not in use stays
				cpu.Generic[float32]().ReLUGrad(want[:K*n], make([]float32, n), gy[:K*n], y[:K*n], true)
				launch(r, "relu_backward_"+p.name, a.Launch(p.kind()), w.room(), &a)
				same(r.t, "d", p.download(r, a.D, all), want)
				same(r.t, "y, which is only read", p.download(r, a.Y, all), y)
			})
		})
	}
}
