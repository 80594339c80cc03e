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

// CPU is the engine that runs the graphs on the cores of the processor, op by op. It trains clients
// in slots, each with one client at a time and one thread. When there are fewer clients than threads, the idle threads
// help inside the layers.
type CPU struct {
	model   *Model
	parts   [2]*plan.Samples // Train, Test
	choice  cpu.Choice
	how     cpu.Precision // of matrix products
	pool    *cpu.Pool[float32]
	exec    *cpu.Exec[float32] // runs Combine
	slots   []*slot
	batch   int
	normals [2]*cpu.Normal[float32] // how the bytes of each part become numbers; nil for a part of features
	combine combineTask
}

// CPUOptions says how a CPU engine works.
type CPUOptions struct {
	Threads   int           // 0: one per core that Go uses (GOMAXPROCS)
	Batch     int           // B, the batch size of all plans, at least 1
	Precision cpu.Precision // of matrix products; empty: cpu.FP32
}

// choose returns the variants of kernels that an engine with these options uses.
func (o *CPUOptions) choose() (cpu.Choice, error) {
	how, err := cpu.ParsePrecision(string(o.Precision))
	if err != nil {
		return cpu.Choice{}, fmt.Errorf("nets: %w", err)
	}
	c, err := cpu.Select(how)
	if err != nil {
		return cpu.Choice{}, fmt.Errorf("nets: %w", err)
	}
	return c, nil
}

// NewCPU opens an engine for a model on a data set. test may be nil if nothing is evaluated on it.
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
	choice, err := o.choose()
	if err != nil {
		return nil, err
	}
	e := &CPU{
		model: m, parts: [2]*plan.Samples{train, test}, choice: choice, how: cmp.Or(o.Precision, cpu.FP32),
		batch: o.Batch,
	}
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
	e.exec = choice.NewExec(e.pool)
	for range o.Threads {
		e.slots = append(e.slots, &slot{engine: e, exec: choice.NewExec(e.pool), row: make([]float32, m.P)})
	}
	return e, nil
}

// CPURevision is the revision of the numbers of the CPU engine, see [Info]. All variants of the kernels share it, in
// all precisions.
const CPURevision = 1

// Info implements [Engine].
func (e *CPU) Info() Info {
	engine, precision := "cpu-"+e.choice.Name(), string(e.how)
	return Info{
		Engine: engine, Device: cpu.Model(), Precision: precision, Params: e.model.P,
		Numerics: Numerics(engine, precision), Revision: CPURevision,
	}
}

// Lost returns why the engine does not multiply with AMX although the processor has it. It is empty if nothing is
// amiss.
func (e *CPU) Lost() string { return e.choice.Lost }

// Close implements [Engine].
func (e *CPU) Close() error {
	e.pool.Close()
	return nil
}

// each runs jobs 0 … n−1 on the slots. It returns the error of the failed job with the lowest number, which does not
// depend on the threads: jobs start in order, no job starts after a failure is seen, and the call waits for all
// that have started.
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
