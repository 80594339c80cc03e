//go:build gpu && linux && cgo

package gpu

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

// samplesFor returns n random samples for a net: images, or features if the net's samples have no height.
func samplesFor(m *models.Model, n int, seed uint64) *plan.Samples {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &plan.Samples{
		Name: "random", H: m.H, W: m.W, C: m.C, Classes: m.Classes,
		Images: make([]uint8, n*m.H*m.W*m.C), Labels: make([]uint8, n),
	}
	for i := range s.Images {
		s.Images[i] = uint8(r.IntN(256))
	}
	for i := range s.Labels {
		s.Labels[i] = uint8(r.IntN(m.Classes))
	}
	if m.H == 1 {
		s.Images = nil
		for range n * m.W * m.C {
			s.Features = append(s.Features, float32(r.NormFloat64()))
		}
		return s
	}
	for c := range m.C {
		s.Mean, s.Std = append(s.Mean, 0.5-float32(c)/16), append(s.Std, 0.25+float32(c)/32)
	}
	return s
}

const trainSamples, testSamples = 40, 23

// both opens a CUDA engine and a CPU engine for the same model and the same samples.
func both(t *testing.T, net string, batch int, o Options) (*Engine, nets.Engine, *models.Model) {
	t.Helper()
	gputest.Sources(t, "kernels")
	if gputest.LeftOut != "" {
		t.Skip("left out: " + gputest.LeftOut)
	}
	m := must.Get(models.New(net))(t)
	train, test := samplesFor(m, trainSamples, 1), samplesFor(m, testSamples, 2)
	o.Batch = batch
	if o.EvalBatch == 0 {
		o.EvalBatch = 8
	}
	g := must.Get(openEngine(m, train, test, o))(t)
	t.Cleanup(func() { must.OK(t, g.Close()) })
	c := must.Get(cpu.Open(m, train, test, cpu.Options{Threads: 2, Batch: batch}))(t)
	t.Cleanup(func() { must.OK(t, c.Close()) })
	return g, c, m
}

// planOf returns a plan of random samples, crops and flips. Its batches hold count samples and padding.
func planOf(client, steps, batch, count int) plan.Local {
	r := rand.New(rand.NewPCG(uint64(client), 3))
	l := plan.Local{E: steps, B: batch}
	for range steps {
		for b := range batch {
			i := int32(r.IntN(trainSamples))
			if b >= count {
				i = -1
			}
			l.Index = append(l.Index, i)
			l.Crop = append(l.Crop, uint8(r.IntN(2*plan.Pad+1)), uint8(r.IntN(2*plan.Pad+1)))
			l.Flip = append(l.Flip, uint8(r.IntN(2)))
		}
	}
	return l
}

// crowd is a round of four clients that differ in all they can: they start at two rows, have momentum and drift or not,
// and their plans have full batches, padded batches, a step less and no samples.
type crowd struct {
	engine                      nets.Engine
	model                       *models.Model
	start, end, momentum, drift nets.Bank
	work                        nets.LocalWork
}

func newCrowd(t *testing.T, e nets.Engine, m *models.Model, steps, batch int, clip *float64) *crowd {
	t.Helper()
	c := &crowd{engine: e, model: m}
	c.start, c.end = must.Get(e.NewBank(2))(t), must.Get(e.NewBank(4))(t)
	c.momentum, c.drift = must.Get(e.NewBank(2))(t), must.Get(e.NewBank(1))(t)
	for i, b := range []nets.Bank{c.start, c.momentum, c.drift} {
		for r := range b.Rows() {
			w := m.Init(models.Kaiming, uint32(10*i+r))
			for j := range w {
				w[j] *= []float32{1, 1. / 8, 1. / 8}[i]
			}
			must.OK(t, e.Load(nets.Row{Bank: b, Index: r}, w))
		}
	}
	c.work = nets.LocalWork{Round: 4, Seed: 8, LR: 0x1p-5, WeightDecay: 0x1p-6, Momentum: 0.75, Clip: clip}
	for i, count := range []int{batch, max(1, batch-2), batch, 0} {
		w := nets.ClientWork{
			Client: 3 * i, Start: nets.Row{Bank: c.start, Index: i % 2},
			End: nets.Row{Bank: c.end, Index: i}, Plan: planOf(i, steps, batch, count),
		}
		if i < 2 {
			w.Momentum = nets.Row{Bank: c.momentum, Index: i}
		}
		if i == 1 {
			w.Drift = nets.Row{Bank: c.drift}
		}
		if i == 2 && steps > 1 {
			w.Plan = planOf(i, steps-1, batch, count)
		}
		c.work.Clients = append(c.work.Clients, w)
	}
	return c
}

// train trains a crowd. It returns the losses, and for each client the update and the momentum, running statistics as
// rows of their own.
func (c *crowd) train(t *testing.T) (loss []float32, rows [][]float32) {
	t.Helper()
	loss = must.Get(c.engine.Train(t.Context(), c.work))(t)
	for i, w := range c.work.Clients {
		update := load(t, c.engine, w.End)
		for _, p := range c.model.Params {
			least := slices.Min(update[p.Offset:][:p.Size])
			if strings.HasSuffix(p.Name, "running_var") && !(least >= 0) {
				t.Errorf("client %d: %s: a running variance of %g, want none below 0", w.Client, p.Name, least)
			}
		}
		for j, v := range load(t, c.engine, w.Start) {
			update[j] -= v
		}
		rows = c.split(rows, update)
		if i < 2 {
			rows = c.split(rows, load(t, c.engine, w.Momentum))
		}
	}
	return loss, rows
}

// split appends the weights of a row to rows and, if the net has running statistics, those as another row.
func (c *crowd) split(rows [][]float32, row []float32) [][]float32 {
	var parts [2][]float32
	for _, p := range c.model.Params {
		at := &parts[0]
		if p.Buffer {
			at = &parts[1]
		}
		*at = append(*at, row[p.Offset:][:p.Size]...)
	}
	if parts[1] == nil {
		return append(rows, parts[0])
	}
	return append(rows, parts[:]...)
}

func load(t *testing.T, e nets.Engine, r nets.Row) []float32 {
	t.Helper()
	w := make([]float32, e.Info().Params)
	must.OK(t, e.Store(r, w))
	return w
}

// openEngine calls [Open] and returns the engine with its own type.
func openEngine(m *models.Model, train, test *plan.Samples, o Options) (*Engine, error) {
	e, err := Open(m, train, test, o)
	if err != nil {
		return nil, err
	}
	return e.(*Engine), nil
}
