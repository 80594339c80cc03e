//go:build gpu && linux && cgo

package gpu

import (
	"math"
	"testing"

	"gorgonia.org/cu"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/gpu/driver"
)

// estimate returns the bytes that an engine will take by [Engine.estimate], plus so many rows of parameters. It needs
// no card.
func estimate(t *testing.T, m *nets.Model, train, test *plan.Samples, o Options, clients, steps, rows int) int64 {
	t.Helper()
	o.Precision = must(ParsePrecision(string(o.Precision)))(t)
	e := &Engine{
		model: m, layout: newLayout(m), options: o,
		samples: [2]*plan.Samples{train, test}, programs: map[programKey]*program{},
	}
	samples, waves, err := e.estimate(clients, steps)
	ok(t, err)
	return samples + waves + int64(rows)*e.rowBytes()
}

// The estimate made before a run is within 10 % of the memory that the run takes.
func TestEstimate(t *testing.T) {
	g, _, m := both(t, "lenet5", 4, Options{EvalBatch: 4, Precision: FP32})
	before := used(t, g)
	newCrowd(t, g, m, 2, 4, nil).train(t)
	var units []nets.EvalJob
	b := must(g.NewBank(1))(t)
	for range maxEvalSlots {
		units = append(units, nets.EvalJob{Row: nets.Row{Bank: b}, Part: nets.Test})
	}
	must(g.Evaluate(t.Context(), units))(t)
	got := used(t, g) - before
	_, waves, err := g.estimate(4, 2)
	ok(t, err)
	if want := waves + 10*g.rowBytes(); math.Abs(float64(got-want)) > 0.1*float64(want) {
		t.Errorf("a run took %s, the estimate is %s, want it within 10 %%", driver.Size(got), driver.Size(want))
	}
}

func used(t *testing.T, g *Engine) (bytes int64) {
	t.Helper()
	ok(t, g.do(func() error {
		free, total, err := cu.MemInfo()
		bytes = total - free
		return err
	}))
	return bytes
}
