package kernels

import (
	"sync"
	"sync/atomic"

	"rollcall/nets/cpu/kernels/bf16"
)

// Task is work cut into a fixed number of chunks, which may run in any order, at the same time, on any thread. A chunk
// writes nothing that another chunk of the same phase reads or writes, so results do not depend on the threads.
type Task[T Float] interface {
	// Chunk does chunk i of a phase. [Exec.For] chooses both.
	Chunk(phase, i int, s *Scratch[T])
}

// The phases of a layer whose forward pass, and whose backward pass, is a single phase.
const (
	forward = iota
	backward
)

// Scratch holds the kernels and the memory of one thread. The memory is kept from chunk to chunk, so that chunks
// allocate nothing.
type Scratch[T Float] struct {
	Kernels[T]
	Products bf16.Kernels[T] // see [Exec]
	Tile     Tile[T]
	buf      []T
	image    []T // of a gradient, see [Conv2DBackward]
	tiles    TileRow[T]
	product  bf16.Product[T]
	operands [operands]bf16.Operand[T]
	winners  winners[T]
	pixels   pixels[T]
}

// Buf returns the buffer of the thread, n elements with arbitrary contents. The next call returns the same memory.
func (s *Scratch[T]) Buf(n int) []T {
	if cap(s.buf) < n {
		s.buf = make([]T, n)
	}
	return s.buf[:n]
}

// Pool lends threads to the executors of one engine: an executor with a phase to run takes the threads that are idle at
// that moment. At most as many threads work at a time as [NewPool] was given.
type Pool[T Float] struct {
	idle atomic.Int32  // threads that nobody occupies
	work chan *Exec[T] // executors that want help, one entry per helper
	wg   sync.WaitGroup
}

// NewPool returns a pool of threads, at least 1. [Pool.Close] ends its goroutines. Every executor at work occupies one
// thread (see [Pool.Enter]); the pool lends the others.
func NewPool[T Float](threads int) *Pool[T] {
	p := &Pool[T]{work: make(chan *Exec[T], threads)}
	p.idle.Store(int32(threads))
	for range threads {
		p.wg.Go(p.serve)
	}
	return p
}

// Close ends the pool's threads. No executor may be at work.
func (p *Pool[T]) Close() {
	close(p.work)
	p.wg.Wait()
}

// Enter occupies a thread of the pool for the calling goroutine, which is about to run an executor.
func (p *Pool[T]) Enter() { p.idle.Add(-1) }

// Leave returns the thread that [Pool.Enter] occupied.
func (p *Pool[T]) Leave() { p.idle.Add(1) }

// serve is one goroutine of the pool: it helps one executor after the other with the phase that is running.
func (p *Pool[T]) serve() {
	var s Scratch[T]
	for e := range p.work {
		e.run(&s)
		p.idle.Add(1)
		e.helpers.Done()
	}
}

// take reserves up to want idle threads and returns how many it got.
func (p *Pool[T]) take(want int) int {
	for {
		idle := p.idle.Load()
		n := min(idle, int32(want))
		if n <= 0 {
			return 0
		}
		if p.idle.CompareAndSwap(idle, idle-n) {
			return int(n)
		}
	}
}

// Exec runs the tasks of one graph, one after another, on the thread of the caller and on idle threads of a pool.
type Exec[T Float] struct {
	Kernels[T]
	// Products multiplies matrices, with rounded operands. Without it the operands are not rounded, and Kernels do.
	Products bf16.Kernels[T]

	pool    *Pool[T]
	scratch Scratch[T]
	exp     []float64 // the exponentials of one row of logits, see exponentials
	room    []T       // what one layer computes with; see [Exec.Room]

	// The phase that is running, and its next chunk.
	task          Task[T]
	phase, chunks int
	next          atomic.Int32
	helpers       sync.WaitGroup
}

// NewExec returns an executor. If pool is nil, everything runs on the thread of the caller.
func NewExec[T Float](k Kernels[T], pool *Pool[T]) *Exec[T] { return &Exec[T]{Kernels: k, pool: pool} }

// Room returns n elements with arbitrary contents for the layer that runs. The next layer gets the same memory.
func (e *Exec[T]) Room(n int) []T {
	if cap(e.room) < n {
		e.room = make([]T, n)
	}
	return e.room[:n]
}

// For runs chunks 0 … n−1 of a phase of a task, and returns when all are done. Every task numbers its own phases.
func (e *Exec[T]) For(t Task[T], phase, n int) {
	helpers := 0
	if e.pool != nil {
		helpers = e.pool.take(n - 1)
	}
	e.task, e.phase, e.chunks = t, phase, n
	e.next.Store(0)
	e.helpers.Add(helpers)
	for range helpers {
		e.pool.work <- e
	}
	e.run(&e.scratch)
	e.helpers.Wait()
	e.task = nil
}

// run takes one chunk after the other until none is left. The helpers do the same at the same time.
func (e *Exec[T]) run(s *Scratch[T]) {
	s.Kernels, s.Products = e.Kernels, e.Products
	for {
		i := int(e.next.Add(1) - 1)
		if i >= e.chunks {
			return
		}
		e.task.Chunk(e.phase, i, s)
	}
}
