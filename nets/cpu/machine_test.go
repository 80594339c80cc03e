package cpu

import (
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/datasets/rng"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
	"rollcall/nets/ops"
)

// TestTapeMachine compares our calls of the ops with Gorgonia's tape machine: the same bytes, in training and in
// evaluation, with other inputs in every run, whose buffers the run before has filled.
func TestTapeMachine(t *testing.T) {
	for _, name := range models.Names() {
		B := 6
		if name == "resnet18" {
			B = 2
		}
		for what, train := range map[string]bool{"training": true, "evaluation": false} {
			t.Run(name+"/"+what, func(t *testing.T) {
				if name == "resnet18" {
					longtest.Only(t, "the ops of resnet20, eleven times as long")
				}
				compareWithTape(t, name, B, train)
			})
		}
	}
}

func compareWithTape(t *testing.T, name string, B int, train bool) {
	model, choice := must.Get(models.New(name))(t), must.Get(kernels.Select(kernels.FP32))(t)
	ours := machineOf(t, model, choice.NewExec(nil), 1, B, train)
	theirs := machineOf(t, model, choice.NewExec(nil), 1, B, train)
	tape := G.NewTapeMachine(theirs.graph.X.Graph())
	defer func() { must.OK(t, tape.Close()) }()
	for run := range 3 {
		fill(ours, run)
		fill(theirs, run)
		must.OK(t, ours.run())
		must.OK(t, tape.RunAll())
		tape.Reset()
		same(t, "logits", ours.Logits, floats(theirs.graph.Logits.Value()))
		if !train {
			continue
		}
		same(t, "loss", ours.Loss, floats(theirs.graph.Loss.Value()))
		for i, p := range model.Params {
			same(t, p.Name, ours.Grads[i], floats(theirs.graph.Grads[i].Value()))
		}
	}
}

// A sum of Gorgonia's own that no convolution computes is an error, and not a wrong number.
func TestSums(t *testing.T) {
	g := &models.Graph{K: 1, B: 2}
	g.X = G.NewTensor(G.NewGraph(), tensor.Float32, 3, G.WithShape(1, 2, 3), G.WithName("x"))
	g.Logits = must.Get(G.Add(g.X, must.Get(ops.NewView[float32](g.X, 1, 2, 3))(t)))(t)
	err := must.Get(newMachine(g, nil))(t).run()
	if err == nil || !strings.Contains(err.Error(), "want a sum of two gradients") {
		t.Errorf("%v, want an error about the sum", err)
	}
}

// fill sets the inputs of a machine for one client: the same for equal runs, others for other runs.
func fill(m *machine, run int) {
	g := m.graph
	stream := rng.Key{Seed: 1, Purpose: rng.Generated}.Stream(run, 0, 0)
	s, inside := g.X.Shape(), func(at, n int) bool { return at >= g.Border && at < n-g.Border }
	for i := range m.X { // [1,B,H,W,C] or [1,B,1,1,C]
		if m.X[i] = 0; inside(i/(s[3]*s[4])%s[2], s[2]) && inside(i/s[4]%s[3], s[3]) {
			m.X[i] = float32(stream.Normal())
		}
	}
	for i := range m.Labels {
		m.Labels[i] = int32(stream.IntN(g.Logits.Shape()[2]+1)) - 1 // −1: does not count
	}
	for i := range m.Draw {
		m.Draw[i] = int32(stream.Uint32())
	}
	for i := range g.Weights {
		w := weightsOf(m, i)
		for j := range w {
			w[j] = float32(stream.Float64()) / 8 // a variance must not be negative
		}
	}
}

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

// Nothing allocates once the buffers are made: neither gathering a batch nor a run of the graph nor an update.
func TestStepAllocatesNothing(t *testing.T) {
	longtest.Numbers(t)
	for _, net := range models.Names() {
		if net == "resnet18" && !longtest.On() {
			continue // the same ops as resnet20's, eleven times as long
		}
		t.Run(net, func(t *testing.T) {
			e, job, m := trained(t, net, 5)
			s := e.slots[0]
			allocates := func(what string, run func()) {
				t.Helper()
				if got := testing.AllocsPerRun(10, run); got != 0 {
					t.Errorf("%s: %g allocations a call, want none", what, got)
				}
			}
			allocates("load", func() { s.load(m, job, 0) })
			allocates("step", func() { s.step(m, job) })
			e.pool.Enter() // as training does, or an idle thread would help, and make its own buffers
			defer e.pool.Leave()
			allocates("run", func() { must.OK(t, m.run()) })
		})
	}
}
