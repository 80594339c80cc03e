//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
)

// biasReLUNets are nets of convolutions with bias and ReLU, on odd maps too, with and without pooling.
func biasReLUNets(t *testing.T) []*models.Model {
	t.Helper()
	return []*models.Model{
		must.Get(models.Describe("strided: conv 8 3x3 stride 2 pad 1, conv 16 3x3 pad 1 pool", // 7×7, 3×3
			plan.Shape{H: 14, W: 14, C: 3, Classes: 10}))(t),
		must.Get(models.Describe("mixed: conv 5 5x3 pad 2 pool, conv 6 2x3, conv 4 4x2 pad 1, "+ // 8×7, 7×5, 6×6
			"conv 7 3x3 pool", plan.Shape{H: 17, W: 13, C: 1, Classes: 3}))(t), // the fused layer: 2×2
	}
}

// In fp32 the CUDA engine agrees with the CPU engine: tolerances as in TestTrainAgainstCPU. In every precision a round
// has the same bytes with one client at a time, and with a bound of clipping that no gradient reaches.
func TestBiasReLUNets(t *testing.T) {
	far := 1e30
	for _, m := range biasReLUNets(t) {
		for _, p := range []Precision{FP32, TF32, BF16} {
			t.Run(fmt.Sprintf("%s_%s", m.Name, p), func(t *testing.T) {
				g, c, _ := bothOf(t, m, 5, Options{Precision: p})
				wantLoss, want := newRound(t, g, m, 1, 5, nil).train(t)
				if p == FP32 {
					_, exact := newRound(t, c, m, 1, 5, nil).train(t)
					for i := range exact {
						if d := apart(want[i], exact[i]); d > 1e-5 {
							t.Errorf("row %d: %.2g of the largest element off the CPU's, tolerance 1e-5", i, d)
						}
					}
					testEvaluations(t, m, g, c)
				}
				one, _, _ := bothOf(t, m, 5, Options{Precision: p, MaxClients: 1})
				for what, e := range map[string]*Engine{"one at a time": one, "by way of gradients": g} {
					var clip *float64
					if e == g {
						clip = &far
					}
					loss, got := newRound(t, e, m, 1, 5, clip).train(t)
					if !slices.Equal(loss, wantLoss) {
						t.Errorf("%s: losses %v, want %v", what, loss, wantLoss)
					}
					for i := range want {
						if !slices.Equal(got[i], want[i]) {
							t.Errorf("%s: row %d differs", what, i)
						}
					}
				}
			})
		}
	}
}

// testEvaluations compares an evaluation of initial weights on both engines. A loss is a sum of logarithms of float32
// logits: 1e-5 of it.
func testEvaluations(t *testing.T, m *models.Model, engines ...nets.Engine) {
	t.Helper()
	var loss []float64
	for _, e := range engines {
		b := must.Get(e.NewBank(1))(t)
		must.OK(t, e.Load(nets.Row{Bank: b}, m.Init(models.Torch, 3)))
		results := must.Get(e.Evaluate(t.Context(), []nets.EvalJob{{Row: nets.Row{Bank: b}, Part: nets.Test}}))(t)
		loss = append(loss, results[0].Loss)
	}
	if d := loss[0]/loss[1] - 1; !(d < 1e-5 && d > -1e-5) {
		t.Errorf("%s: evaluated losses %g and %g, want them equal to 1e-5", m.Name, loss[0], loss[1])
	}
}
