//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

// estimate returns the bytes that an engine will take by [Engine.estimate], plus so many rows of parameters. It needs
// no card.
func estimate(t *testing.T, m *models.Model, train, test *plan.Samples, o Options, clients, steps, rows int) int64 {
	t.Helper()
	o.Precision = must.Get(ParsePrecision(string(o.Precision)))(t)
	e := &Engine{
		model: m, layout: newLayout(m), options: o,
		samples: [2]*plan.Samples{train, test}, programs: map[programKey]*program{},
	}
	samples, waves, err := e.estimate(clients, steps)
	must.OK(t, err)
	return samples + waves + int64(rows)*e.rowBytes()
}

// paged is the environment variable of the emulator that sets the size of its pages.
const paged = "ROLLCALL_EMULATOR_PAGE"

// The estimate made before a run is within 10 % of the memory that the run takes, or within what a card's pages and the
// driver's own needs add.
func TestEstimate(t *testing.T) {
	g, _, m := both(t, "lenet5", 4, Options{EvalBatch: 4, Precision: FP32})
	before := used(t, g)
	newRound(t, g, m, 2, 4, nil).train(t)
	var units []nets.EvalJob
	b := must.Get(g.NewBank(1))(t)
	for range maxEvalSlots {
		units = append(units, nets.EvalJob{Row: nets.Row{Bank: b}, Part: nets.Test})
	}
	must.Get(g.Evaluate(t.Context(), units))(t)
	got := used(t, g) - before
	_, waves, err := g.estimate(4, 2)
	must.OK(t, err)
	want := waves + 10*g.rowBytes()
	tolerance := want / 10
	if gputest.Real() || os.Getenv(paged) != "" {
		tolerance = max(tolerance, 32<<20) // a dozen of pages, and as much again
	}
	if diff := got - want; max(diff, -diff) > tolerance {
		t.Errorf("a run took %s, the estimate is %s, want it within %s",
			driver.Size(got), driver.Size(want), driver.Size(tolerance))
	}
}

// The tests that measure memory pass on a card that hands it out in pages of 2 MiB and takes such a page for every
// graph and module.
func TestPages(t *testing.T) {
	longtest.Only(t, "tests of memory once more, with pages of 2 MiB")
	if os.Getenv(paged) != "" {
		t.Skip("left out: this is the process with pages")
	}
	out, err := gputest.Child(t, "kernels", false, "^(TestEstimate|TestMemoryStaysFlat)$",
		fmt.Sprintf("%s=%d", paged, 2<<20)).CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Test") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The engine takes as much memory on the card after many rounds as after one.
func TestMemoryStaysFlat(t *testing.T) {
	g, _, m := both(t, "linear-mnist", 2, Options{EvalBatch: 4})
	b := must.Get(g.NewBank(4))(t)
	row := func(i int) nets.Row { return nets.Row{Bank: b, Index: i} }
	must.OK(t, g.Load(row(0), m.Init(models.Kaiming, 1)))
	round := func(i int) {
		extra := must.Get(g.NewBank(1 + i%3))(t)
		defer extra.Free()
		work := nets.LocalWork{LR: 0x1p-6, Round: i}
		for c := range 1 + i%3 {
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: c, Start: row(0), End: row(1 + c), Plan: crowd.Plan(c, 1+i%2, 2, 2),
			})
		}
		must.Get(g.Train(t.Context(), work))(t)
		must.OK(t, g.Combine(row(0), []float64{0.5, 0.5}, []nets.Row{row(0), row(1)}))
		if i%50 == 0 {
			must.Get(g.Evaluate(t.Context(), []nets.EvalJob{{Row: row(0), Part: nets.Test}}))(t)
		}
	}
	rounds := 300
	if gputest.Real() {
		rounds = 10_000
	}
	for i := range 60 {
		round(i)
	}
	before := used(t, g)
	for i := range rounds {
		round(i)
	}
	// A card also counts what other processes take and free meanwhile, and the driver's own needs.
	slack := int64(0)
	if gputest.Real() {
		slack = 16 << 20
	}
	if after := used(t, g); after-before > slack {
		t.Errorf("%d rounds took the memory in use from %d to %d bytes, want at most %d more",
			rounds, before, after, slack)
	}
}

func used(t *testing.T, g *Engine) (bytes int64) {
	t.Helper()
	must.OK(t, g.do(func() error {
		free, total, err := g.device.FreeMemory()
		bytes = total - free
		return err
	}))
	return bytes
}
