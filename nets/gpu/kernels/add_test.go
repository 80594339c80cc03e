//go:build gpu && linux && cgo

package kernels

import (
	"math/rand/v2"
	"testing"
)

// y = a + b, rounded once, also where y takes the place of a or b.
func TestAdd(t *testing.T) {
	for _, into := range []string{"y", "a", "b"} {
		t.Run("into="+into, func(t *testing.T) {
			eachBatch(t, flatSizes, func(r *rig, rnd *rand.Rand, p precision, K, n int) {
				w := plain(K)
				all := w.room() * n
				x, y := p.rounded(numbers(rnd, all)),
					p.rounded(append(numbers(rnd, all-all/3), oddNumbers(rnd, all/3, 5)...))
				a := AddArgs{Work: r.work(w), A: p.upload(r, x), B: p.upload(r, y), N: uint32(n)}
				a.Y = map[string]uint64{"y": p.blank(r, all), "a": a.A, "b": a.B}[into]
				want := p.download(r, a.Y, all) // y of the slot not in use stays
				for i := range K * n {
					want[i] = p.round(x[i] + y[i])
				}
				launch(r, "add_"+p.name, a.Launch(p.kind()), w.room(), &a)
				same(r.t, "y", p.download(r, a.Y, all), want)
			})
		})
	}
}
