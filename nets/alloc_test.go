package nets

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"rollcall/internal/longtest"

	G "gorgonia.org/gorgonia"
)

// trained returns an engine of one thread that has trained one client for a step, the client's work, and the slot's
// machine.
func trained(t *testing.T, net string, batch int) (*CPU, *trainJob, *machine) {
	t.Helper()
	e := newTest(t, net, 1, batch)
	start, end := rows(t, e, 2, hashedWeights(e.model)), must(e.NewBank(2))(t)
	clip := 1.0
	work := &LocalWork{LR: 0x1p-6, WeightDecay: 0x1p-6, Momentum: 0.5, Clip: &clip, Clients: []ClientWork{{
		Start: Row{start, 0}, Drift: Row{start, 1}, End: Row{end, 0}, Momentum: Row{end, 1},
		Plan: hashedPlan(0, 1, batch, batch, 40),
	}}}
	must(e.Train(t.Context(), *work))(t)
	job := must(e.trainJob(work, 0))(t)
	return e, &job, must(e.slots[0].machine(true))(t)
}

// Nothing of ours allocates once the buffers are made: no op of the graph, neither gathering a batch nor an update.
func TestStepAllocatesNothing(t *testing.T) {
	longtest.Numbers(t)
	for _, net := range ModelNames() {
		if net == "resnet18" && !longtest.On() {
			continue // the same ops as resnet20's, eleven times as long
		}
		t.Run(net, func(t *testing.T) {
			e, job, m := trained(t, net, 5)
			s := e.slots[0]
			none := func(what string, run func()) {
				t.Helper()
				if got := testing.AllocsPerRun(10, run); got != 0 {
					t.Errorf("%s: %g allocations a call, want 0", what, got)
				}
			}
			none("load", func() { s.load(m, job, 0) })
			none("step", func() { s.step(m, job) })

			ours := 0
			for _, n := range m.graph.g.AllNodes() {
				op := n.Op()
				if op == nil || !strings.Contains(fmt.Sprintf("%T", op), "ops.") {
					continue
				}
				ours++
				var in []G.Value
				for it := m.graph.g.From(n.ID()); it.Next(); {
					in = append(in, it.Node().(*G.Node).Value())
				}
				if _, err := op.Do(in...); err != nil {
					t.Fatalf("%s: %v", n.Name(), err)
				}
				none(fmt.Sprintf("op %v", op), func() { _, _ = op.Do(in...) })
			}
			if want := 2*len(m.graph.params) + 3; ours < want {
				t.Errorf("%d ops of ours in the graph, want at least %d", ours, want)
			}
		})
	}
}

// What Gorgonia's tape machine allocates in a run, slices of inputs, its log's arguments and two channels, is small and
// does not grow with the batch.
func TestMachineAllocations(t *testing.T) {
	longtest.Numbers(t)
	const objects, bytes = 6, 160 // a node of the graph
	for _, net := range ModelNames() {
		if net == "resnet18" && !longtest.On() {
			continue // the same ops as resnet20's, eleven times as long
		}
		var first uint64
		batches := []int{2, 32}
		if m := must(NewModel(net))(t); m.residual() {
			batches = []int{2, 5} // a step of 32 takes long
		}
		for _, batch := range batches {
			e, _, m := trained(t, net, batch)
			e.pool.Enter() // as training does, or an idle thread would help, and make its own buffers
			n, size := allocated(t, m)
			e.pool.Leave()
			t.Logf("%s B=%d: %d objects, %d bytes a run of %d nodes", net, batch, n, size, len(m.graph.g.AllNodes()))
			if nodes := uint64(len(m.graph.g.AllNodes())); n > objects*nodes || size > bytes*nodes {
				t.Errorf("%s B=%d: %d objects of %d bytes a run, want at most %d of %d for each of %d nodes",
					net, batch, n, size, objects, bytes, nodes)
			}
			if first == 0 {
				first = n
			}
			// The longer a run takes the more often the runtime's own few objects fall into every one of the counts.
			if slack := first / 500; max(n, first)-min(n, first) > slack {
				t.Errorf("%s: %d objects a run with B=%d, %d with B=2, want as many, give or take %d",
					net, n, batch, first, slack)
			}
		}
	}
}

// allocated returns what a run allocates: the least of a few counts, as the runtime allocates too at times.
func allocated(t *testing.T, m *machine) (objects, bytes uint64) {
	t.Helper()
	objects, bytes = math.MaxUint64, math.MaxUint64
	for range 5 {
		const runs = 10
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			ok(t, m.run())
		}
		runtime.ReadMemStats(&after)
		objects, bytes = min(objects, (after.Mallocs-before.Mallocs)/runs),
			min(bytes, (after.TotalAlloc-before.TotalAlloc)/runs)
	}
	return objects, bytes
}
