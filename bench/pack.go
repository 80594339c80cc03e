package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/spf13/pflag"

	"rollcall/nets/gpu"
)

// mostPacked bounds --pack: CUDA takes up the streams of so many engines at a time.
const mostPacked = 32

// registerPack adds --pack.
func (m *machineFlags) registerPack(fs *pflag.FlagSet) {
	fs.IntVar(&m.Pack, "pack", 1, "runs trained at a time, each with an engine of its own, for a card that one leaves idle; on the CPU they share the threads; results do not depend on it")
}

func (m *machineFlags) validatePack() error {
	if m.Pack < 1 || m.Pack > mostPacked {
		return usagef("--pack %d: want 1 … %d, as many streams as a card takes up at a time", m.Pack, mostPacked)
	}
	return nil
}

// pack is the labs in which the runs of a table or figure are trained, one in each at a time.
type pack struct {
	labs   []*lab
	stderr io.Writer
}

func (a *app) newPack(machine machineFlags) *pack {
	p, shared := &pack{stderr: a.stderr}, &shelf{}
	if machine.Pack > 1 {
		p.stderr = &sharedLog{w: a.stderr}
	}
	for range machine.Pack {
		p.labs = append(p.labs, &lab{machine: machine, stderr: p.stderr, shelf: shared})
	}
	return p
}

func (p *pack) close() (err error) {
	for _, l := range p.labs {
		err = errors.Join(err, l.close())
	}
	return err
}

// job is something to be done in a lab.
type job struct {
	run string // which run it makes: the same one is not made twice at the same time
	do  func(ctx context.Context, l *lab) error

	state jobState
	err   error // of a job that is done
}

type jobState int

const (
	jobWaits jobState = iota
	jobRuns
	jobDone
)

// run does the jobs of the cells, begun in order, and settles cell after cell, one at a time, as soon as those before it are. A job
// that fails keeps those after it in its cell from being begun. An error of settle ends all. When ctx ends nothing more is begun,
// and of the cells those are settled that have begun; run returns the reason if that leaves any out.
func (p *pack) run(ctx context.Context, cells [][]*job, settle func(cell int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	total := 0
	for _, jobs := range cells {
		total += len(jobs)
	}
	q := &queue{cells: cells, settle: settle, cancel: cancel, workers: min(len(p.labs), total), stderr: p.stderr}
	q.changed.L = &q.lock
	defer context.AfterFunc(ctx, q.wake)()
	var workers sync.WaitGroup
	for _, l := range p.labs[:q.workers] {
		l.beside = q.workers
		workers.Go(func() { q.work(ctx, l) })
	}
	workers.Wait()
	q.settleReady(ctx) // those left when ctx ended before a job of theirs was begun
	if q.err == nil && q.leftOut {
		return ctx.Err()
	}
	return q.err
}

// queue is the jobs of a pack.
type queue struct {
	cells  [][]*job
	settle func(cell int) error
	cancel func()
	stderr io.Writer

	lock    sync.Mutex // of all below, and while a cell is settled
	changed sync.Cond  // tells who waits for a job
	settled int        // cells
	leftOut bool       // cells that ctx kept from being begun
	workers int        // that have a lab
	err     error      // of settle
}

func (q *queue) wake() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.changed.Broadcast()
}

// work does jobs in a lab until there are no more.
func (q *queue) work(ctx context.Context, l *lab) {
	for {
		j := q.begin(ctx)
		if j == nil {
			return
		}
		err := j.do(ctx, l)
		left := 0
		if ctx.Err() == nil && gpu.OutOfMemory(err) {
			left = q.retire()
		}
		if left == 0 {
			q.end(ctx, j, err)
			continue
		}
		logf(q.stderr, "rollcall: %s: %s at a time from now on\n", oneLine(err), count(left, "run"))
		if err := l.close(); err != nil {
			logf(q.stderr, "rollcall: %s\n", oneLine(err))
		}
		q.again(j)
		return
	}
}

// begin waits for a job that can be done; nil: there will be none.
func (q *queue) begin(ctx context.Context) *job {
	q.lock.Lock()
	defer q.lock.Unlock()
	for ctx.Err() == nil {
		j, later := q.pick()
		if j != nil {
			j.state = jobRuns
			return j
		}
		if !later {
			return nil
		}
		q.changed.Wait()
	}
	return nil
}

// pick returns the first job that can be begun; if there is none, whether there may be later.
func (q *queue) pick() (_ *job, later bool) {
	busy := map[string]bool{}
	for _, jobs := range q.cells {
		for _, j := range jobs {
			if j.state == jobRuns {
				busy[j.run], later = true, true
			}
		}
	}
	for _, jobs := range q.cells {
		for _, j := range counted(jobs) {
			if j.state == jobWaits && !busy[j.run] {
				return j, true
			}
		}
	}
	return nil, later
}

// counted returns the jobs of a cell up to the first that has failed.
func counted(jobs []*job) []*job {
	for i, j := range jobs {
		if j.state == jobDone && j.err != nil {
			return jobs[:i]
		}
	}
	return jobs
}

// end notes what became of a job.
func (q *queue) end(ctx context.Context, j *job, err error) {
	q.lock.Lock()
	j.state, j.err = jobDone, err
	q.lock.Unlock()
	q.settleReady(ctx)
	q.wake()
}

// retire takes a worker away, whose lab finds no memory beside the others', and returns how many are left; 0: it is the last one, and
// stays.
func (q *queue) retire() (left int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.workers == 1 {
		return 0
	}
	q.workers--
	return q.workers
}

// again has a job wait for another lab.
func (q *queue) again(j *job) {
	q.lock.Lock()
	j.state = jobWaits
	q.lock.Unlock()
	q.wake()
}

// settleReady settles the cells that are ready.
func (q *queue) settleReady(ctx context.Context) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for ; q.settled < len(q.cells) && q.err == nil; q.settled++ {
		jobs := q.cells[q.settled]
		begun := false
		for _, j := range jobs {
			begun = begun || j.state != jobWaits
			if j.state == jobRuns {
				return
			}
		}
		for _, j := range counted(jobs) {
			if j.state == jobWaits && ctx.Err() == nil {
				return
			}
		}
		if !begun {
			q.leftOut = true
			continue
		}
		for _, j := range counted(jobs) {
			if j.state == jobWaits {
				j.err = ctx.Err()
			}
		}
		if q.err = q.settle(q.settled); q.err != nil {
			q.cancel()
		}
	}
}

// sharedLog is a log of several writers; what one writes at once stays together.
type sharedLog struct {
	lock sync.Mutex
	w    io.Writer
}

func (s *sharedLog) Write(p []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.w.Write(p)
}
