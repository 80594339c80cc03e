package nets

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"rollcall/datasets/plan"
	"rollcall/nets/cpu"
)

// CPU is the engine that runs the graphs with Gorgonia's tape machine on the processor's cores. Clients are trained in
// slots, one client and one thread each; threads without a slot help the others inside their layers.
type CPU struct {
	model   *Model
	parts   [2]*plan.Samples // Train, Test
	kernels cpu.Kernels[float32]
	pool    *cpu.Pool[float32]
	exec    *cpu.Exec[float32] // of the row algebra
	slots   []*slot
	batch   int
	normals [2]*cpu.Normal[float32] // how the parts' bytes become numbers; nil for features
	combine combineTask
}

// CPUOptions says how a CPU engine works. The zero value uses every core.
type CPUOptions struct {
	Threads int // 0: as many as Go uses (GOMAXPROCS)
	Batch   int // B of the training graphs; plans must have it
}

// NewCPU opens an engine for a model on a data set. test may be nil if it is never evaluated on.
func NewCPU(m *Model, train, test *plan.Samples, o CPUOptions) (*CPU, error) {
	if o.Batch < 1 {
		return nil, fmt.Errorf("nets: batch of %d samples, want at least 1", o.Batch)
	}
	if o.Threads < 0 {
		return nil, fmt.Errorf("nets: %d threads, want at least 1", o.Threads)
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	kernels, err := cpu.Select()
	if err != nil {
		return nil, fmt.Errorf("nets: %w", err)
	}
	e := &CPU{model: m, parts: [2]*plan.Samples{train, test}, kernels: kernels, batch: o.Batch}
	for i, s := range e.parts {
		if s == nil {
			continue
		}
		if err := m.Fits(s); err != nil {
			return nil, err
		}
		if s.Images != nil {
			e.normals[i] = cpu.NewNormal[float32](s.Mean, s.Std)
		}
	}
	e.pool = cpu.NewPool[float32](o.Threads)
	e.exec = cpu.NewExec(e.kernels, e.pool)
	for range o.Threads {
		e.slots = append(e.slots, &slot{engine: e, exec: cpu.NewExec(e.kernels, e.pool), row: make([]float32, m.P)})
	}
	return e, nil
}

// CPURevision is the revision of this engine's numbers, in all classes.
const CPURevision = 1

// Info implements [Engine].
func (e *CPU) Info() Info {
	engine, precision := "cpu-"+e.kernels.Name(), "fp32"
	return Info{
		Engine: engine, Device: cpu.Model(), Precision: precision, Params: e.model.P,
		Numerics: Numerics(engine, precision), Revision: CPURevision,
	}
}

// Close implements [Engine].
func (e *CPU) Close() error {
	var first error
	for _, s := range e.slots {
		first = cmp.Or(first, s.close())
	}
	e.pool.Close()
	return first
}

// each runs jobs 0 … n−1 on the slots. The error returned is that of the first job that failed, whatever the threads:
// jobs start in order, and those started before a failure is seen are waited for.
func (e *CPU) each(n int, run func(s *slot, i int) error) error {
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
