package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

var (
	testMean = []float32{0.5, 0.4375, 0.375}
	testStd  = []float32{1, 1.125, 0.875}
)

// newTest opens an engine on 40 training and 70 test samples.
func newTest(t *testing.T, net string, threads, batch int) *Engine {
	t.Helper()
	m := must.Get(models.New(net))(t)
	test := rest(hashedSamples(m, 110, testMean, testStd), 40)
	e := must.Get(Open(m, hashedSamples(m, 40, testMean, testStd), test, Options{Threads: threads, Batch: batch}))(t)
	t.Cleanup(func() { must.OK(t, e.Close()) })
	return e
}

// rows returns a bank whose rows hold copies of w, row i scaled by 1 − i/16.
func rows(t *testing.T, e *Engine, n int, w []float32) nets.Bank {
	t.Helper()
	b := must.Get(e.NewBank(n))(t)
	for i := range n {
		scaled := make([]float32, len(w))
		for j, v := range w {
			scaled[j] = v * (1 - float32(i)/16)
		}
		must.OK(t, e.Load(rowOf(b, i), scaled))
	}
	return b
}

func load(t *testing.T, e nets.Engine, r nets.Row) []float32 {
	t.Helper()
	w := make([]float32, e.Info().Params)
	must.OK(t, e.Store(r, w))
	return w
}

// same reports the first element whose bits differ.
func same(t *testing.T, name string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", name, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: element %d: got %g, want %g, bit for bit", name, i, got[i], want[i])
			return
		}
	}
}

// crowd is work for five clients: from one start row and from their own, with and without momentum and drift, with a
// ragged plan and an empty one. It returns the rows that are written.
func crowd(t *testing.T, e *Engine, steps int) (nets.LocalWork, []nets.Row) {
	w := hashedWeights(e.model)
	start, drift := rows(t, e, 2, w), rows(t, e, 1, w)
	end, momentum := must.Get(e.NewBank(5))(t), must.Get(e.NewBank(2))(t)
	clip := 2.0
	work := nets.LocalWork{Round: 4, Seed: 8, LR: 0x1p-4, WeightDecay: 0x1p-6, Momentum: 0.75, Clip: &clip}
	counts := []int{e.batch, e.batch - 2, e.batch, 0, e.batch}
	for i, count := range counts {
		c := nets.ClientWork{
			Client: 3 * i, Start: rowOf(start, i%2), End: rowOf(end, i), Plan: hashedPlan(i, steps, e.batch, count, 40),
		}
		if i < 2 {
			c.Momentum = rowOf(momentum, i)
		}
		if i%3 == 1 {
			c.Drift = rowOf(drift, 0)
		}
		work.Clients = append(work.Clients, c)
	}
	written := []nets.Row{rowOf(momentum, 0), rowOf(momentum, 1)}
	for i := range 5 {
		written = append(written, rowOf(end, i))
	}
	return work, written
}

// Clients at once equal each client alone, whatever the threads; 17 samples are two chunks of the convolutions' work
// and three of the first dropout layer's.
func TestClientsTogether(t *testing.T) {
	for _, c := range []struct {
		net          string
		batch, steps int
	}{
		{"cnn-svhn", 17, 1},
		{"cnn-svhn", 4, 2},
		{"cnn-cinic10", 3, 2},
		{"cnn-cinic10", 17, 1},
		{"lenet5", 17, 2},
		{"linear-synthetic", 4, 2},
		{"linear-binary", 17, 3},
		{"resnet20", 17, 2},
		{"resnet18", 4, 1},
	} {
		if c.net == "resnet18" && !longtest.On() {
			continue // the same ops as resnet20's, eleven times as long
		}
		if testing.Short() && c.net != "lenet5" && c.net != "linear-binary" {
			continue // the race detector sees the same threads in the smallest nets
		}
		t.Run(fmt.Sprintf("%s_B=%d", c.net, c.batch), func(t *testing.T) {
			alone := newTest(t, c.net, 1, c.batch)
			work, written := crowd(t, alone, c.steps)
			var losses []float32
			for i := range work.Clients {
				one := work
				one.Clients = work.Clients[i : i+1]
				losses = append(losses, must.Get(alone.Train(t.Context(), one))(t)...)
			}
			if losses[0] == losses[1] || losses[0] <= 0 || losses[3] != 0 {
				t.Errorf("losses %v: want positive, different ones, and 0 for the client without samples", losses)
			}
			for _, threads := range []int{1, 2, 7} {
				e := newTest(t, c.net, threads, c.batch)
				together, rows := crowd(t, e, c.steps)
				name := fmt.Sprintf("%d threads: ", threads)
				same(t, name+"loss", must.Get(e.Train(t.Context(), together))(t), losses)
				for i, r := range rows {
					same(t, fmt.Sprintf("%srow %d", name, i), load(t, e, r), load(t, alone, written[i]))
				}
			}
		})
	}
}

// machineOf returns a machine for graphs of K clients, with weights of its own.
func machineOf(t *testing.T, m *models.Model, exec *kernels.Exec[float32], K, B int, train bool) *machine {
	t.Helper()
	g := must.Get(m.Graph(exec, K, B, train))(t)
	var weights [][]float32
	for _, p := range m.Params {
		weights = append(weights, make([]float32, K*p.Size))
	}
	return must.Get(newMachine(g, weights))(t)
}

// weightsOf returns the buffer [K,…] of parameter i.
func weightsOf(m *machine, i int) []float32 { return m.graph.Weights[i].Value().Data().([]float32) }

// A graph of three clients, one with a ragged batch and one without samples, computes what three graphs of one compute,
// and so it does with other inputs where the run before has left its own.
func TestClientsInOneGraph(t *testing.T) {
	const K = 3
	for net, B := range map[string]int{"cnn-cinic10": 17, "resnet20": 5} {
		e := newTest(t, net, 2, B)
		all, one := machineOf(t, e.model, e.exec, K, B, true), machineOf(t, e.model, e.exec, 1, B, true)
		inputs := func(k, run int) { // of client k, for one
			fill(one, K*run+k)
			row := make([]float32, e.model.P)
			e.model.FromTorch(row, e.model.Init(models.Kaiming, uint32(k)))
			for i, p := range e.model.Params {
				copy(weightsOf(one, i), row[p.At:][:p.Size])
			}
			for b := range B {
				if one.Labels[b] = int32(b % 10); k == 2 || k == 1 && b%3 == 2 {
					one.Labels[b] = kernels.Ignore
				}
			}
		}
		for run := range 2 {
			for k := range K {
				inputs(k, run)
				copy(all.X[k*len(one.X):], one.X)
				copy(all.Labels[k*B:], one.Labels)
				copy(all.Draw[k*len(one.Draw):], one.Draw)
				for i, p := range e.model.Params {
					copy(weightsOf(all, i)[k*p.Size:], weightsOf(one, i))
				}
			}
			must.OK(t, all.run())
			for k := range K {
				inputs(k, run)
				must.OK(t, one.run())
				name := fmt.Sprintf("%s: client %d: ", net, k)
				same(t, name+"loss", all.Loss[k:k+1], one.Loss)
				same(t, name+"logits", all.Logits[k*B*10:][:B*10], one.Logits)
				for i, p := range e.model.Params {
					same(t, name+p.Name, all.Grads[i][k*p.Size:][:p.Size], one.Grads[i])
					if trains := slices.Max(one.Grads[i]) > 0; !p.Buffer && trains != (k < 2) ||
						k == 2 && slices.Min(one.Grads[i]) != 0 {
						t.Errorf("%s%s: all of the gradient 0: %t, want %t", name, p.Name, !trains, k == 2)
					}
				}
			}
		}
	}
}

// The row a client starts from may be the one it ends in.
func TestStartIsEnd(t *testing.T) {
	e := newTest(t, "cnn-svhn", 2, 4)
	b := rows(t, e, 3, hashedWeights(e.model))
	must.OK(t, e.Combine(rowOf(b, 1), []float64{1}, []nets.Row{rowOf(b, 0)}))
	l := hashedPlan(0, 2, 4, 4, 40)
	must.Get(e.Train(t.Context(), nets.LocalWork{LR: 0.1, Clients: []nets.ClientWork{
		{Start: rowOf(b, 0), End: rowOf(b, 2), Plan: l}, {Start: rowOf(b, 1), End: rowOf(b, 1), Plan: l},
	}}))(t)
	same(t, "weights", load(t, e, rowOf(b, 1)), load(t, e, rowOf(b, 2)))
	if slices.Equal(load(t, e, rowOf(b, 2)), load(t, e, rowOf(b, 0))) {
		t.Error("training changed nothing, or changed its start row")
	}
}

// Plans without steps or samples copy the start row and leave momentum alone.
func TestNothingToTrain(t *testing.T) {
	e := newTest(t, "cnn-svhn", 2, 4)
	w := hashedWeights(e.model)
	b := rows(t, e, 4, w)
	for name, l := range map[string]plan.Local{
		"no steps":   hashedPlan(0, 0, 4, 4, 40),
		"no samples": hashedPlan(0, 3, 4, 0, 40),
	} {
		work := nets.LocalWork{LR: 1, WeightDecay: 1, Momentum: 0.5, Clients: []nets.ClientWork{
			{Start: rowOf(b, 0), End: rowOf(b, 1), Momentum: rowOf(b, 2), Drift: rowOf(b, 3), Plan: l},
		}}
		loss := must.Get(e.Train(t.Context(), work))(t)
		same(t, name+": loss", loss, []float32{0})
		same(t, name+": end", load(t, e, rowOf(b, 1)), w)
		for i, v := range load(t, e, rowOf(b, 2)) {
			if want := w[i] * (1 - 2./16); v != want {
				t.Fatalf("%s: momentum %d: %g, want %g as before", name, i, v, want)
			}
		}
	}
	if loss := must.Get(e.Train(t.Context(), nets.LocalWork{}))(t); len(loss) != 0 {
		t.Errorf("no clients: losses %v, want none", loss)
	}
}

// A step of padding between two others changes nothing: not the weights by decay or drift, not the momentum, not the
// running statistics. The other steps change them all.
func TestPaddedStep(t *testing.T) {
	const batch = 4
	short := hashedPlan(0, 2, batch, batch, 40)
	long := plan.Local{
		E: 3, B: batch,
		Index: slices.Concat(short.Index[:batch], slices.Repeat([]int32{-1}, batch), short.Index[batch:]),
		Crop:  slices.Concat(short.Crop[:2*batch], make([]uint8, 2*batch), short.Crop[2*batch:]),
		Flip:  slices.Concat(short.Flip[:batch], make([]uint8, batch), short.Flip[batch:]),
	}
	for _, net := range []string{"cnn-svhn", "resnet20"} {
		w := hashedWeights(must.Get(models.New(net))(t))
		options := func(work *nets.LocalWork, c *nets.ClientWork, b nets.Bank) {
			work.WeightDecay, work.Momentum, c.Momentum, c.Drift = 0x1p-3, 0.5, rowOf(b, 2), rowOf(b, 0)
		}
		_, want, wantMomentum := trainOnce(t, net, batch, w, options, short)
		_, got, momentum := trainOnce(t, net, batch, w, options, long)
		same(t, net+": weights", got, want)
		same(t, net+": momentum", momentum, wantMomentum)
		for _, p := range must.Get(models.New(net))(t).Params {
			if slices.Equal(want[p.Offset:][:p.Size], w[p.Offset:][:p.Size]) {
				t.Errorf("%s: %s: the steps with samples left it as it was", net, p.Name)
			}
		}
	}
}

// Clipping scales a gradient whose norm is above the limit and leaves one below it alone, bit for bit. The momentum row
// holds the clipped gradient after one step.
func TestClip(t *testing.T) {
	e := newTest(t, "cnn-svhn", 2, 4)
	b := rows(t, e, 2, hashedWeights(e.model))
	grad := must.Get(e.NewBank(4))(t)
	run := func(row int, clip *float64) {
		c := nets.ClientWork{Start: rowOf(b, 0), End: rowOf(b, 1), Momentum: rowOf(grad, row)}
		c.Plan = hashedPlan(0, 1, 4, 4, 40)
		must.Get(e.Train(t.Context(), nets.LocalWork{LR: 0.1, Clip: clip, Clients: []nets.ClientWork{c}}))(t)
	}
	run(0, nil)
	norm := must.Get(nets.Norm(e, rowOf(grad, 0)))(t)
	above, half := 1.0001*norm, norm/2
	run(1, &above)
	run(2, &half)
	free := load(t, e, rowOf(grad, 0))
	same(t, "limit above the norm", load(t, e, rowOf(grad, 1)), free)
	// Dot and the engine's own sum may differ in their last digits, and with them the factor 1/2.
	got := load(t, e, rowOf(grad, 2))
	for i, g := range free {
		if want := g / 2; math.Abs(float64(got[i]-want)) > 1e-6*math.Abs(float64(want)) {
			t.Fatalf("limit at half the norm: element %d: got %g, want %g ± 1e-6 of it", i, got[i], want)
		}
	}
}
