//go:build gpu && linux && cgo

package kernels

import (
	"math/rand/v2"
	"testing"
)

// The logits are (0, x), in float32 in every precision, and dx is the second of each pair of gradients: both are
// copied.
func TestLogOdds(t *testing.T) {
	eachBatch(t, []int{1, 5, 128, 1030}, func(r *rig, rnd *rand.Rand, p precision, K, n int) {
		w := plain(K)
		x, gy := numbers(rnd, w.room()*n), p.rounded(numbers(rnd, 2*w.room()*n))
		a := LogOddsArgs{
			Work: r.work(w), X: upload(r, x), Y: blank[float32](r, 2*w.room()*n), GY: p.upload(r, gy),
			DX: p.blank(r, w.room()*n), N: uint32(n),
		}
		launch(r, "log_odds", a.Forward(FP32), w.room(), &a)
		launch(r, "log_odds_backward_"+p.name, a.Backward(p.kind()), w.room(), &a)
		y, dx := make([]float32, 2*K*n), make([]float32, K*n)
		for i := range dx {
			y[2*i+1], dx[i] = x[i], gy[2*i+1]
		}
		same(r.t, "y", download[float32](r, a.Y, len(y)), y)
		same(r.t, "dx", p.download(r, a.DX, K*n), dx)
		r.untouched("y of the slot not in use", a.Y+uint64(4*len(y)), 8*n)
		r.untouched("dx of the slot not in use", a.DX+uint64(K*n*p.bytes), n*p.bytes)
	})
}
