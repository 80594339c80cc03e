//go:build gpu && linux && cgo

package gpu

import (
	"math"
	"testing"

	"gorgonia.org/cu"

	"rollcall/datasets/plan"
	"rollcall/nets"
)

// estimate is [Engine.estimate] of an engine that is not opened.
func estimate(t *testing.T, m *nets.Model, train, test *plan.Samples, o Options, clients, steps, rows int) memoryUse {
	t.Helper()
	o.Precision = must(ParsePrecision(string(o.Precision)))(t)
	e := &Engine{model: m, layout: newLayout(m), options: o, samples: [2]*plan.Samples{train, test}, programs: map[programKey]*program{}}
	return must(e.estimate(clients, steps, rows))(t)
}

// What a run will take is known before, within 10 %.
func TestEstimate(t *testing.T) {
	g, _, m := both(t, "lenet5", 4, Options{EvalBatch: 4})
	before := used(t, g)
	newCrowd(t, g, m, 2, 4, nil).train(t)
	var units []nets.EvalJob
	b := must(g.NewBank(1))(t)
	for range evalRoom {
		units = append(units, nets.EvalJob{Row: nets.Row{Bank: b}, Part: nets.Test})
	}
	must(g.Evaluate(t.Context(), units))(t)
	got := used(t, g) - before
	m2 := must(g.estimate(4, 2, 10))(t)
	if want := m2.waves + m2.banks; math.Abs(float64(got-want)) > 0.1*float64(want) {
		t.Errorf("a run took %s, the estimate is %s, want it within 10 %%", size(got), size(want))
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
