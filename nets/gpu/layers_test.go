//go:build gpu && linux && cgo

package gpu

import (
	"math"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models/modelstest"
)

// In fp32 one step of a random net is as on the CPU. No number of these cases is near to where a ReLU changes sides, so
// that the limits are closer than those of TestTrainAgainstCPU: 1e-5 of the largest update, and 1e-4 in nets with batch
// normalisation, which multiplies rounding errors.
func TestRandomNets(t *testing.T) {
	gputest.Need(t, "kernels")
	count := 50
	if gputest.Long() {
		count = 200
	}
	for seed := range count {
		c := modelstest.Draw(uint64(seed))
		t.Run(c.Text, func(t *testing.T) {
			m := c.Model
			g := must.Get(openEngine(m, c.Samples, nil, Options{Precision: FP32, Batch: modelstest.Batch}))(t)
			defer func() { must.OK(t, g.Close()) }()
			e := must.Get(cpu.Open(m, c.Samples, nil, cpu.Options{Threads: 2, Batch: modelstest.Batch}))(t)
			defer func() { must.OK(t, e.Close()) }()
			gotLoss, got := step(t, g, c)
			wantLoss, want := step(t, e, c)
			if math.Abs(gotLoss-wantLoss) > 1e-5*max(1, wantLoss) {
				t.Errorf("loss %g, want %g", gotLoss, wantLoss)
			}
			limit := 1e-5
			if m.Trained < m.P {
				limit = 1e-4
			}
			if d := apart(got, want); d > limit {
				t.Errorf("seed %d, %v: differs by %.2g of the largest update, limit %g", seed, m.Shape, d, limit)
			}
		})
	}
}

// step returns the loss and the update of one step of a case.
func step(t *testing.T, e nets.Engine, c *modelstest.Case) (loss float64, update []float32) {
	t.Helper()
	b := must.Get(e.NewBank(2))(t)
	start, end := nets.Row{Bank: b}, nets.Row{Bank: b, Index: 1}
	must.OK(t, e.Load(start, c.Weights))
	d := modelstest.Draw0
	losses := must.Get(e.Train(t.Context(), nets.LocalWork{
		Round: int(d.Round), Seed: d.Seed, LR: 1,
		Clients: []nets.ClientWork{{Client: int(d.Client), Start: start, End: end, Plan: modelstest.Plan()}},
	}))(t)
	update = load(t, e, end)
	for i, w := range c.Weights {
		update[i] -= w
	}
	return float64(losses[0]), update
}
