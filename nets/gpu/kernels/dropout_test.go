//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// The masks are the masks of the CPU, and the kept elements the same numbers, rounded to the precision.
func TestDropout(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		t.Run(fmt.Sprintf("inPlace=%t", inPlace), func(t *testing.T) {
			eachBatch(t, flatSizes, func(r *rig, rnd *rand.Rand, p precision, K, n int) {
				i := slices.Index(flatSizes, n)
				rate, layer, step := []float64{0.2, 0.5, 0}[i%3], i%4, 3*i
				w := plain(K)
				w.Seed, w.Round = rnd.Uint32(), rnd.Uint32()
				for k := range w.Slots {
					w.Slots[k].Client = rnd.Uint32()
				}
				all := w.room() * n
				x := p.rounded(oddNumbers(rnd, all, 10))
				if i%2 == 0 {
					x = p.rounded(numbers(rnd, all))
				}
				a := DropoutArgs{
					Work: r.work(w), X: p.upload(r, x), Y: p.blank(r, all), N: uint32(n), Layer: uint32(layer),
					Threshold: cpu.DropThreshold(rate), Step: uint32(step), Scale: float32(1 / (1 - rate)),
				}
				if inPlace {
					a.Y = a.X
				}
				want, mask := p.download(r, a.Y, all), make([]uint8, n) // y of the slot not in use stays
				for k := range K {
					d := cpu.Draw{Seed: w.Seed, Round: w.Round, Client: w.Slots[k].Client, Step: uint32(step)}
					cpu.Generic[float32]().Dropout(want[k*n:][:n], mask, x[k*n:][:n], 0, d, layer, rate)
				}
				launch(r, "dropout_"+p.name, a.Launch(p.kind()), w.room(), &a)
				same(r.t, "y", p.download(r, a.Y, all), p.rounded(want))
				if !inPlace {
					same(r.t, "x, which is only read", p.download(r, a.X, all), x)
				}
			})
		})
	}
}
