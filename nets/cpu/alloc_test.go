package cpu

import (
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"

	G "gorgonia.org/gorgonia"
)

// trained returns an engine of one thread that has trained one client for a step, the client's work, and the slot's
// machine.
func trained(t *testing.T, net string, batch int) (*Engine, *trainJob, *machine) {
	t.Helper()
	e := newTest(t, net, 1, batch)
	start, end := rows(t, e, 2, hashedWeights(e.model)), must.Get(e.NewBank(2))(t)
	clip := 1.0
	work := &nets.LocalWork{LR: 0x1p-6, WeightDecay: 0x1p-6, Momentum: 0.5, Clip: &clip, Clients: []nets.ClientWork{{
		Start: rowOf(start, 0), Drift: rowOf(start, 1), End: rowOf(end, 0), Momentum: rowOf(end, 1),
		Plan: hashedPlan(0, 1, batch, batch, 40),
	}}}
	must.Get(e.Train(t.Context(), *work))(t)
	job := must.Get(e.trainJob(work, 0))(t)
	return e, &job, must.Get(e.slots[0].machine(true))(t)
}

// Nothing allocates once the buffers are made: neither gathering a batch nor a run of the graph nor an update. But the
// sums of Gorgonia's own, which only nets with shortcuts have, make two small objects each.
func TestStepAllocatesNothing(t *testing.T) {
	longtest.Numbers(t)
	for _, net := range models.Names() {
		if net == "resnet18" && !longtest.On() {
			continue // the same ops as resnet20's, eleven times as long
		}
		t.Run(net, func(t *testing.T) {
			e, job, m := trained(t, net, 5)
			s := e.slots[0]
			allocates := func(what string, want float64, run func()) {
				t.Helper()
				if got := testing.AllocsPerRun(10, run); got != want {
					t.Errorf("%s: %g allocations a call, want %g", what, got, want)
				}
			}
			allocates("load", 0, func() { s.load(m, job, 0) })
			allocates("step", 0, func() { s.step(m, job) })
			sums := 0
			for _, c := range m.calls {
				if _, ok := c.node.Op().(G.UnsafeDoer); ok {
					sums++
				}
			}
			e.pool.Enter() // as training does, or an idle thread would help, and make its own buffers
			defer e.pool.Leave()
			allocates("run", float64(2*sums), func() { must.OK(t, m.run()) })
		})
	}
}
