//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestLogOdds(t *testing.T) {
	for _, K := range clientCounts {
		for _, n := range []int{1, 5, 128, 1030} {
			t.Run(fmt.Sprintf("K=%d_n=%d", K, n), func(t *testing.T) {
				r := newRig(t)
				w := wave{Slots: make([]Slot, K), E: 1, B: 1}
				x := numbers(rand.New(rand.NewPCG(uint64(n), uint64(K))), w.room()*n)
				a := LogOddsArgs{Work: r.work(w), X: upload(r, x), Y: blank[float32](r, 2*w.room()*n), N: uint32(n)}
				launch(r, "log_odds", a.Forward(FP32), w.room(), &a)
				want := make([]float32, 2*K*n)
				for i, v := range x[:K*n] {
					want[2*i+1] = v
				}
				same(t, "y", download[float32](r, a.Y, len(want)), want)
				r.untouched("y of the slot not in use", a.Y+uint64(4*len(want)), 8*n)
			})
		}
	}
}

func TestLogOddsBackward(t *testing.T) {
	for _, p := range precisions {
		for _, K := range clientCounts {
			for _, n := range []int{1, 5, 128, 1030} {
				t.Run(fmt.Sprintf("%s/K=%d_n=%d", p.name, K, n), func(t *testing.T) {
					r := newRig(t)
					w := wave{Slots: make([]Slot, K), E: 1, B: 1}
					gy := p.rounded(numbers(rand.New(rand.NewPCG(uint64(n), uint64(K))), 2*w.room()*n))
					a := LogOddsArgs{Work: r.work(w), GY: p.upload(r, gy), DX: p.blank(r, w.room()*n), N: uint32(n)}
					launch(r, "log_odds_backward_"+p.name, a.Backward(p.kind()), w.room(), &a)
					want := make([]float32, K*n)
					for i := range want {
						want[i] = gy[2*i+1]
					}
					same(t, "dx", p.download(r, a.DX, K*n), want)
					r.untouched("dx of the slot not in use", a.DX+uint64(K*n*p.bytes), n*p.bytes)
				})
			}
		}
	}
}
