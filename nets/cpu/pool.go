package cpu

import (
	"sync"
	"sync/atomic"
)

// Task is work cut in a fixed number of chunks that may run in any order, at the same time, on any thread.
// A chunk writes nothing another chunk of the same phase reads or writes, so results do not depend on the threads.
type Task[T Float] interface {
	// Chunk does chunk i of a phase, both as [Exec.For] was told.
	Chunk(phase, i int, s *Scratch[T])
}

// The phases of a layer that goes either way in one.
const (
	forward = iota
	backward
)

// Scratch is what a thread works with: the kernels, and its own memory, kept from chunk to chunk.
type Scratch[T Float] struct {
	Kernels[T]
	Tile Tile[T]
	buf  []T
}

// Buf returns the thread's buffer with n elements, of any content. It is lent until the next call.
func (s *Scratch[T]) Buf(n int) []T {
	if cap(s.buf) < n {
		s.buf = make([]T, n)
	}
	return s.buf[:n]
}

// Pool lends threads to the executors of one engine: whoever has work in chunks takes the threads that are idle at that
// moment. It never has more threads at work than it was made with.
type Pool[T Float] struct {
	idle atomic.Int32
	work chan *Exec[T]
	wg   sync.WaitGroup
}

// NewPool starts a pool of threads, at least one; Close ends it. Every executor at work occupies one thread (see
// [Pool.Enter]), the others wait to be lent.
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

// Enter and Leave frame the work of a goroutine that runs an executor: it occupies a thread of the pool.
func (p *Pool[T]) Enter() { p.idle.Add(-1) }

// Leave gives back what Enter took.
func (p *Pool[T]) Leave() { p.idle.Add(1) }

func (p *Pool[T]) serve() {
	var s Scratch[T]
	for e := range p.work {
		e.run(&s)
		p.idle.Add(1)
		e.helpers.Done()
	}
}

// take reserves up to want idle threads and returns how many.
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

// Exec runs the tasks of one graph, one after another: on the caller's thread, helped by the pool's idle ones.
type Exec[T Float] struct {
	Kernels[T]
	pool    *Pool[T]
	scratch Scratch[T]
	exp     []float64 // of a row, see exponentials

	// The phase of a task that is on its way through the chunks.
	task          Task[T]
	phase, chunks int
	next          atomic.Int32
	helpers       sync.WaitGroup
}

// NewExec returns an executor; without a pool (nil) everything runs on the caller's thread.
func NewExec[T Float](k Kernels[T], pool *Pool[T]) *Exec[T] { return &Exec[T]{Kernels: k, pool: pool} }

// For runs chunks 0 … n−1 of a phase of a task and returns when all are done. Tasks number their phases as they like.
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

// run does chunks as long as there are any.
func (e *Exec[T]) run(s *Scratch[T]) {
	s.Kernels = e.Kernels
	for {
		i := int(e.next.Add(1) - 1)
		if i >= e.chunks {
			return
		}
		e.task.Chunk(e.phase, i, s)
	}
}
