//go:build gpu && linux && cgo

package gpu

import (
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

func TestMain(m *testing.M) { gputest.Main(m, "kernels", false) }

// both opens a CUDA engine and a CPU engine for the same net of the catalogue and the same samples.
func both(t *testing.T, net string, batch int, o Options) (*Engine, nets.Engine, *models.Model) {
	t.Helper()
	return bothOf(t, must.Get(models.New(net))(t), batch, o)
}

// bothOf is both for a net that need not be of the catalogue.
func bothOf(t *testing.T, m *models.Model, batch int, o Options) (*Engine, nets.Engine, *models.Model) {
	t.Helper()
	gputest.Need(t, "kernels")
	train, test := crowd.Samples(m, crowd.TrainSamples, 1), crowd.Samples(m, crowd.TestSamples, 2)
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

// round is the work of [crowd.Work] and its rows.
type round struct {
	engine                      nets.Engine
	model                       *models.Model
	start, end, momentum, drift nets.Bank
	work                        nets.LocalWork
}

func newRound(t *testing.T, e nets.Engine, m *models.Model, steps, batch int, clip *float64) *round {
	t.Helper()
	c := &round{engine: e, model: m}
	c.start, c.end = must.Get(e.NewBank(2))(t), must.Get(e.NewBank(crowd.Clients))(t)
	c.momentum, c.drift = must.Get(e.NewBank(crowd.WithMomentum))(t), must.Get(e.NewBank(1))(t)
	for i, b := range []nets.Bank{c.start, c.momentum, c.drift} {
		for r := range b.Rows() {
			w := m.Init(models.Kaiming, uint32(10*i+r))
			for j := range w {
				w[j] *= []float32{1, 1. / 8, 1. / 8}[i]
			}
			must.OK(t, e.Load(nets.Row{Bank: b, Index: r}, w))
		}
	}
	c.work = crowd.Work(c.start, c.end, c.momentum, c.drift, steps, batch, clip)
	return c
}

// train trains a round. It returns the losses, and for each client the update and the momentum, running statistics as
// rows of their own.
func (c *round) train(t *testing.T) (loss []float32, rows [][]float32) {
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
func (c *round) split(rows [][]float32, row []float32) [][]float32 {
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
