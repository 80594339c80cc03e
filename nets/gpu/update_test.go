//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/nets/gpu/gputest"
)

// A bound that no gradient reaches makes the factor of clipping exactly 1. Training with it goes through the rows of
// gradients and sgd; training without clipping updates weights at once. Both give the same bits: weights, momentum and
// running statistics, of clients with and without momentum, drift and samples.
func TestUpdateAtOnce(t *testing.T) {
	far := 1e30
	for _, c := range []struct {
		net          string
		steps, batch int
	}{{"linear-binary", 3, 5}, {"lenet5", 2, 3}, {"resnet20", 1, 1}, {"resnet20", 2, 3}} {
		for _, p := range []Precision{FP32, TF32, BF16} {
			if residual := strings.HasPrefix(c.net, "resnet"); residual && !gputest.Long() &&
				(c.batch > 1 || p != FP32 || testing.Short()) {
				continue // half a minute on the emulator
			}
			t.Run(fmt.Sprintf("%s_%s_E=%d_B=%d", c.net, p, c.steps, c.batch), func(t *testing.T) {
				g, _, m := both(t, c.net, c.batch, Options{Precision: p})
				wantLoss, want := newRound(t, g, m, c.steps, c.batch, &far).train(t)
				gotLoss, got := newRound(t, g, m, c.steps, c.batch, nil).train(t)
				if !slices.Equal(gotLoss, wantLoss) {
					t.Errorf("losses %v, want %v", gotLoss, wantLoss)
				}
				for i := range want {
					for j, v := range want[i] {
						if math.Float32bits(got[i][j]) != math.Float32bits(v) {
							t.Errorf("row %d, element %d: %g at once, %g by way of gradients", i, j, got[i][j], v)
							break
						}
					}
				}
			})
		}
	}
}
