package nets

import (
	"context"
	"fmt"
	"math"
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

// Info implements [Engine].
func (e *CPU) Info() Info {
	return Info{Engine: "cpu-" + e.kernels.Name, Device: cpu.Model(), Precision: "fp32", Params: e.model.P}
}

// Close implements [Engine].
func (e *CPU) Close() error {
	var first error
	for _, s := range e.slots {
		if err := s.close(); err != nil && first == nil {
			first = err
		}
	}
	e.pool.Close()
	return first
}

// cpuBank is rows of parameters in the kernels' order.
type cpuBank struct {
	engine *CPU
	rows   int
	data   []float32 // [rows,P]
}

func (b *cpuBank) Rows() int { return b.rows }
func (b *cpuBank) Free()     { b.data, b.rows = nil, 0 }

// NewBank implements [Engine].
func (e *CPU) NewBank(rows int) (Bank, error) {
	if rows < 0 || rows > math.MaxInt/4/max(1, e.model.P) {
		return nil, fmt.Errorf("nets: bank of %d rows × %d parameters", rows, e.model.P)
	}
	return &cpuBank{engine: e, rows: rows, data: make([]float32, rows*e.model.P)}, nil
}

// row returns the elements of r.
func (e *CPU) row(what string, r Row) ([]float32, error) {
	b, ok := r.Bank.(*cpuBank)
	if !ok || b.engine != e {
		return nil, fmt.Errorf("nets: %s: row of bank %T, want one of this engine", what, r.Bank)
	}
	if r.Index < 0 || r.Index >= b.rows {
		return nil, fmt.Errorf("nets: %s: row %d, want 0 … %d", what, r.Index, b.rows-1)
	}
	p := e.model.P
	return b.data[r.Index*p : (r.Index+1)*p : (r.Index+1)*p], nil
}

// optional is row, nil for the zero Row.
func (e *CPU) optional(what string, r Row) ([]float32, error) {
	if r.IsNone() {
		return nil, nil
	}
	return e.row(what, r)
}

// Load implements [Engine].
func (e *CPU) Load(r Row, w []float32) error {
	row, err := e.row("load", r)
	if err != nil {
		return err
	}
	if len(w) != len(row) {
		return fmt.Errorf("nets: load: %d parameters, want %d", len(w), len(row))
	}
	e.model.FromTorch(row, w)
	return nil
}

// Store implements [Engine].
func (e *CPU) Store(r Row, w []float32) error {
	row, err := e.row("store", r)
	if err != nil {
		return err
	}
	if len(w) != len(row) {
		return fmt.Errorf("nets: store: %d parameters, want %d", len(w), len(row))
	}
	e.model.ToTorch(w, row)
	return nil
}

// Norm implements [Engine]: the squares are added in float64, block by block in order.
func (e *CPU) Norm(r Row) (float64, error) {
	row, err := e.row("norm", r)
	if err != nil {
		return 0, err
	}
	return math.Sqrt(e.kernels.SumSquares(row)), nil
}

// Combine implements [Engine].
func (e *CPU) Combine(dst Row, c []float64, src []Row) error {
	if len(c) != len(src) {
		return fmt.Errorf("nets: combine: %d coefficients for %d rows", len(c), len(src))
	}
	t := &e.combine
	t.exec, t.c, t.src = e.exec, c, t.src[:0]
	var err error
	if t.dst, err = e.row("combine", dst); err != nil {
		return err
	}
	for _, r := range src {
		row, err := e.row("combine", r)
		if err != nil {
			return err
		}
		t.src = append(t.src, row)
	}
	e.pool.Enter()
	defer e.pool.Leave()
	e.exec.For((len(t.dst)+combineChunk-1)/combineChunk, t)
	t.dst, t.c = nil, nil
	clear(t.src) // or a freed bank would stay in memory
	return nil
}

// combineTask adds up rows piece by piece, each piece in the cache until all its terms are in.
type combineTask struct {
	exec *cpu.Exec[float32]
	dst  []float32
	c    []float64
	src  [][]float32
}

const combineChunk = 4096

// Chunk implements [cpu.Task].
func (t *combineTask) Chunk(i int, s *cpu.Scratch[float32]) {
	lo, hi := i*combineChunk, min((i+1)*combineChunk, len(t.dst))
	sum := s.Buf(0, combineChunk)[:hi-lo] // dst may be among src
	if len(t.src) == 0 {
		clear(sum)
	}
	for j, src := range t.src {
		if j == 0 {
			t.exec.Scale(sum, float32(t.c[j]), src[lo:hi])
		} else {
			t.exec.Axpy(sum, float32(t.c[j]), src[lo:hi])
		}
	}
	copy(t.dst[lo:hi], sum)
}

// Train implements [Engine].
func (e *CPU) Train(ctx context.Context, work LocalWork) ([]float32, error) {
	if err := work.Check(ctx, e.batch, e.parts[Train]); err != nil {
		return nil, err
	}
	jobs := make([]trainJob, len(work.Clients))
	for i := range work.Clients {
		var err error
		if jobs[i], err = e.trainJob(&work, i); err != nil {
			return nil, err
		}
	}
	loss := make([]float32, len(jobs))
	err := e.each(len(jobs), func(s *slot, i int) error {
		var err error
		loss[i], err = s.train(ctx, &jobs[i])
		return err
	})
	return loss, err
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
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// evalUnit is the number of samples that are evaluated in one go; partial sums are added in order, so it is part of the result.
const evalUnit = 512

// Evaluate implements [Engine].
func (e *CPU) Evaluate(ctx context.Context, jobs []EvalJob) ([]EvalResult, error) {
	type unit struct {
		job    int
		lo, hi int
		row    []float32
		result EvalResult
	}
	var units []unit
	for j, job := range jobs {
		n, err := job.Check(j, e.parts[:])
		if err != nil {
			return nil, err
		}
		row, err := e.row("evaluate", job.Row)
		if err != nil {
			return nil, err
		}
		for lo := 0; lo < n; lo += evalUnit {
			units = append(units, unit{job: j, lo: lo, hi: min(lo+evalUnit, n), row: row})
		}
	}
	err := e.each(len(units), func(s *slot, i int) error {
		u := &units[i]
		var err error
		u.result, err = s.evaluate(ctx, jobs[u.job], u.row, u.lo, u.hi)
		return err
	})
	if err != nil {
		return nil, err
	}
	results := make([]EvalResult, len(jobs))
	for _, u := range units { // Loss holds sums here
		r := &results[u.job]
		r.N += u.result.N
		r.Correct += u.result.Correct
		r.Loss += u.result.Loss
	}
	for i := range results {
		if results[i].N > 0 {
			results[i].Loss /= float64(results[i].N)
		}
	}
	return results, nil
}
