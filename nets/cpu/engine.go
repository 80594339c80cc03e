package cpu

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

// Engine is the engine that runs the graphs on the cores of the processor, op by op. It trains clients in slots, each
// with one client at a time and one thread. When there are fewer clients than threads, the idle threads help inside the
// layers.
type Engine struct {
	model   *models.Model
	parts   [2]*plan.Samples // Train, Test
	choice  kernels.Choice
	how     kernels.Precision // of matrix products
	pool    *kernels.Pool[float32]
	exec    *kernels.Exec[float32] // runs Combine
	slots   []*slot
	batch   int
	rowsDir string                      // folder for banks in files; empty: they are in memory
	normals [2]*kernels.Normal[float32] // how the bytes of each part become numbers; nil for a part of features
	combine combineTask
}

// Options says how an engine works.
type Options struct {
	Threads   int               // 0: one per core that Go uses (GOMAXPROCS)
	Batch     int               // B, the batch size of all plans, at least 1
	Precision kernels.Precision // of matrix products; empty: cpu.FP32
	RowsDir   string            // folder for files with the rows, see NewBank; empty: they are in memory
}

// choose returns the variants of kernels that an engine with these options uses.
func (o *Options) choose() (kernels.Choice, error) {
	how, err := kernels.ParsePrecision(string(o.Precision))
	if err != nil {
		return kernels.Choice{}, fmt.Errorf("nets: %w", err)
	}
	c, err := kernels.Select(how)
	if err != nil {
		return kernels.Choice{}, fmt.Errorf("nets: %w", err)
	}
	return c, nil
}

// Open opens an engine for a model on a data set. test may be nil if nothing is evaluated on it.
func Open(m *models.Model, train, test *plan.Samples, o Options) (*Engine, error) {
	if o.Batch < 1 {
		return nil, fmt.Errorf("nets: batch of %d samples, want at least 1", o.Batch)
	}
	if o.Threads < 0 {
		return nil, fmt.Errorf("nets: %d threads, want at least 1", o.Threads)
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	choice, err := o.choose()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		model: m, parts: [2]*plan.Samples{train, test}, choice: choice, how: cmp.Or(o.Precision, kernels.FP32),
		batch: o.Batch, rowsDir: o.RowsDir,
	}
	for i, s := range e.parts {
		if s == nil {
			continue
		}
		if err := m.Fits(s); err != nil {
			return nil, err
		}
		if s.Images != nil {
			e.normals[i] = kernels.NewNormal[float32](s.Mean, s.Std)
		}
	}
	e.pool = kernels.NewPool[float32](o.Threads)
	e.exec = choice.NewExec(e.pool)
	for range o.Threads {
		e.slots = append(e.slots, &slot{engine: e, exec: choice.NewExec(e.pool), row: make([]float32, m.P)})
	}
	return e, nil
}

// Revision is the revision of the numbers of the CPU engine, see [nets.Info]. All variants of the kernels share it, in
// all precisions.
const Revision = 1

// Info implements [nets.Engine].
func (e *Engine) Info() nets.Info {
	engine, precision := "cpu-"+e.choice.Name(), string(e.how)
	return nets.Info{
		Engine: engine, Device: kernels.Model(), Precision: precision, Params: e.model.P,
		Buffers: e.model.Buffers(), Numerics: nets.Numerics(engine, precision), Revision: Revision,
	}
}

// Lost returns why faster instructions of the processor are not used. It is empty if nothing is amiss.
func (e *Engine) Lost() string { return e.choice.Lost }

// Close implements [nets.Engine].
func (e *Engine) Close() error {
	e.pool.Close()
	return nil
}

// each runs jobs 0 … n−1 on the slots. It returns the error of the failed job with the lowest number, which does not
// depend on the threads: jobs start in order, no job starts after a failure is seen, and the call waits for all
// that have started.
func (e *Engine) each(n int, run func(s *slot, i int) error) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		wg     sync.WaitGroup
		errs   = make([]error, n)
	)
	for _, s := range e.slots[:min(n, len(e.slots))] {
		e.pool.Enter()
		wg.Go(func() {
			defer e.pool.Leave()
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = run(s, i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}
