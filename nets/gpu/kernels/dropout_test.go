//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// The masks are the masks of the CPU, and the kept elements the same numbers, rounded to the precision.
func TestDropout(t *testing.T) {
	for _, p := range precisions {
		for _, K := range clientCounts {
			for i, n := range flatSizes {
				for _, inPlace := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/K=%d_n=%d_inPlace=%t", p.name, K, n, inPlace), func(t *testing.T) {
						r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(n), uint64(K)))
						rate, layer, step := []float64{0.2, 0.5, 0}[i%3], i%4, 3*i
						scale := float32(1 / (1 - rate))
						slots := make([]Slot, K)
						for k := range slots {
							slots[k].Client = rnd.Uint32()
						}
						w := wave{Slots: slots, E: 1, B: 1, Seed: rnd.Uint32(), Round: rnd.Uint32()}
						all := w.room() * n
						x := p.rounded(oddNumbers(rnd, all, 10))
						if i%2 == 0 {
							x = p.rounded(numbers(rnd, all))
						}
						a := DropoutArgs{
							Work: r.work(w), X: p.upload(r, x), Y: p.blank(r, all), N: uint32(n), Layer: uint32(layer),
							Threshold: cpu.DropThreshold(rate), Step: uint32(step), Scale: scale,
						}
						if inPlace {
							a.Y = a.X
						}
						launch(r, "dropout_"+p.name, a.Launch(p.kind()), w.room(), &a)
						want, mask := make([]float32, K*n), make([]uint8, n)
						for k := range K {
							d := cpu.Draw{Seed: w.Seed, Round: w.Round, Client: slots[k].Client, Step: uint32(step)}
							cpu.Generic[float32]().Dropout(want[k*n:][:n], mask, x[k*n:][:n], 0, d, layer, rate)
						}
						got := p.download(r, a.Y, all)
						same(t, "y", got[:K*n], p.rounded(want))
						if inPlace {
							same(t, "y of the slot not in use", got[K*n:], x[K*n:])
						} else {
							r.untouched("y of the slot not in use", a.Y+uint64(K*n*p.bytes), n*p.bytes)
							same(t, "x, which is only read", p.download(r, a.X, all), x)
						}
					})
				}
			}
		}
	}
}
