//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestAdd(t *testing.T) {
	for _, p := range precisions {
		for _, K := range clientCounts {
			for _, n := range flatSizes {
				for _, into := range []string{"y", "a", "b"} {
					t.Run(fmt.Sprintf("%s/K=%d_n=%d_into=%s", p.name, K, n, into), func(t *testing.T) {
						r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(n), uint64(K)))
						w := wave{Slots: make([]Slot, K), E: 1, B: 1}
						all := w.room() * n
						x, y := p.rounded(numbers(rnd, all)),
							p.rounded(append(numbers(rnd, all-all/3), oddNumbers(rnd, all/3, 5)...))
						a := AddArgs{Work: r.work(w), A: p.upload(r, x), B: p.upload(r, y), N: uint32(n)}
						before := []float32(nil)
						switch into {
						case "a":
							a.Y, before = a.A, x
						case "b":
							a.Y, before = a.B, y
						default:
							a.Y = p.blank(r, all)
							before = p.download(r, a.Y, all)
						}
						want := append([]float32{}, before...) // y of the slot not in use
						for i := range K * n {
							want[i] = p.round(x[i] + y[i])
						}
						launch(r, "add_"+p.name, a.Launch(p.kind()), w.room(), &a)
						same(t, "y", p.download(r, a.Y, all), want)
					})
				}
			}
		}
	}
}
