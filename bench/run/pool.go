package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"rollcall/bench/run/claim"
	"rollcall/bench/run/progress"
	"rollcall/bench/run/queue"
	"rollcall/bench/settings"
	"rollcall/nets/gpu"
)

// mostAtOnce bounds --pack: CUDA takes up the streams of so many engines at a time.
const mostAtOnce = 32

// ValidateAtOnce is [Machine.Validate] for several runs at a time: it refuses more of them than a card takes up, too.
func (m *Machine) ValidateAtOnce() error {
	if m.AtOnce < 1 || m.AtOnce > mostAtOnce {
		return settings.Usagef("--pack %d: want 1 … %d, as many streams as a card takes up at a time", m.AtOnce,
			mostAtOnce)
	}
	return m.Validate()
}

// Pool is the sessions in which the runs of a table or figure are trained, one run in each at a time.
type Pool struct {
	Sessions []*Session
	Stderr   io.Writer
	Keep     Keep
	Watch    claim.Watch // of the runs that other processes make

	progress *progress.Command // Stderr, which shows how the runs get on
}

// NewPool returns a pool of as many sessions as the machine is to hold at a time.
func NewPool(stderr io.Writer, machine Machine, keep Keep) *Pool {
	p, shared := &Pool{progress: progress.New(stderr), Keep: keep}, &sharedData{}
	p.Stderr = p.progress
	for range machine.AtOnce {
		p.Sessions = append(p.Sessions, &Session{Machine: machine, Stderr: p.Stderr, shared: shared})
	}
	return p
}

// Close closes the sessions.
func (p *Pool) Close() (err error) {
	for _, l := range p.Sessions {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Job is something to be done in a session.
type Job struct {
	Run string // which run it makes: the same one is not made twice at the same time
	Do  func(ctx context.Context, l *Session) error
	Err error // of a job that is done
}

// Run does the jobs of the cells, begun in order, and calls finish for one cell after the other, as soon as its jobs
// are done and all cells before it are finished. A job that fails is tried again once all others have been begun, as
// often as [Keep] has it. One that another process does is waited for, after all others, or is done with an
// *[ElsewhereError] where nobody is to wait. An error of finish ends all. When ctx ends no more jobs are begun, and the
// cells that have begun are finished; Run returns the reason if a cell has not.
func (p *Pool) Run(ctx context.Context, cells [][]*Job, finish func(cell int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &poolRun{
		cells: cells, finish: finish, cancel: cancel, stderr: p.Stderr, keep: p.Keep,
		named: map[string]bool{},
	}
	var runs []string
	for _, jobs := range cells {
		for _, j := range jobs {
			w.jobs, runs = append(w.jobs, j), append(runs, j.Run)
		}
	}
	w.queue, w.workers = queue.New(firstPause, runs), min(len(p.Sessions), len(runs))
	w.changed.L = &w.lock
	defer context.AfterFunc(ctx, w.wake)()
	var workers sync.WaitGroup
	for _, l := range p.Sessions[:w.workers] {
		l.engines = w.workers
		workers.Go(func() { w.work(ctx, l) })
	}
	workers.Wait()
	w.update(func(time.Time) { w.finishReady(ctx) }) // those left when ctx ended before a job of theirs was begun
	if w.err == nil && w.leftOut {
		return ctx.Err()
	}
	return w.err
}

// poolRun is what the workers of one call of [Pool.Run] have in common.
type poolRun struct {
	cells  [][]*Job
	jobs   []*Job // of all cells, in order
	finish func(cell int) error
	cancel func()
	stderr io.Writer
	keep   Keep

	lock     sync.Mutex // of all below, and while a cell is finished
	changed  sync.Cond  // wakes who waits for a job
	queue    *queue.Queue
	finished int             // cells
	before   int             // jobs of the finished cells
	leftOut  bool            // cells that ctx kept from being begun
	workers  int             // that have a session
	named    map[string]bool // processes that were said to be waited for
	err      error           // of finish
}

func (w *poolRun) wake() { w.update(func(time.Time) {}) }

// update changes what the workers have in common, and wakes those that wait for a job.
func (w *poolRun) update(change func(now time.Time)) {
	w.lock.Lock()
	defer w.lock.Unlock()
	change(time.Now())
	w.changed.Broadcast()
}

// work does jobs in a session until there are no more.
func (w *poolRun) work(ctx context.Context, l *Session) {
	for {
		n := w.begin(ctx)
		if n < 0 {
			return
		}
		err := w.jobs[n].Do(ctx, l)
		left := 0
		if ctx.Err() == nil && (gpu.OutOfMemory(err) || fitsAlone(err)) {
			left = w.retire()
		}
		if left == 0 {
			w.update(func(now time.Time) { w.ended(ctx, n, err, now) })
			continue
		}
		Logf(w.stderr, "rollcall: %s: %s at a time from now on\n", settings.OneLine(err), Count(left, "run"))
		if err := l.Close(); err != nil {
			Logf(w.stderr, "rollcall: %s\n", settings.OneLine(err))
		}
		w.update(func(time.Time) { w.queue.Return(n) })
		return
	}
}

// begin waits for a job that can be done; -1: there will be none.
func (w *poolRun) begin(ctx context.Context) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	for ctx.Err() == nil {
		n, again := w.queue.Begin(time.Now())
		if n >= 0 {
			return n
		}
		others := w.queue.Elsewhere()
		if len(others) > 0 && w.keep.NoWait {
			for _, n := range others {
				w.queue.Done(n, time.Now()) // its error says who does it
			}
			w.finishReady(ctx)
			w.changed.Broadcast()
			continue
		}
		w.sayWaiting(others)
		if w.queue.Over() {
			return -1
		}
		w.sleep(again)
	}
	return -1
}

// sleep waits until something has changed, or until some time; zero: no time.
func (w *poolRun) sleep(until time.Time) {
	if !until.IsZero() {
		defer time.AfterFunc(time.Until(until), w.wake).Stop()
	}
	w.changed.Wait()
}

// sayWaiting says which processes are waited for, once of each.
func (w *poolRun) sayWaiting(jobs []int) {
	var who []string
	for _, n := range jobs {
		other, _ := errors.AsType[*ElsewhereError](w.jobs[n].Err)
		if other == nil || other.Holder == nil {
			continue // this process has just lost the run, and looks who has it
		}
		process := fmt.Sprint(other.Holder.Host, other.Holder.PID)
		if !w.named[process] {
			w.named[process] = true
			who = append(who, other.Holder.String())
		}
	}
	if who != nil {
		Logf(w.stderr, "rollcall: waits for %s of other processes: %s\n", Count(len(jobs), "run"),
			strings.Join(who, "; "))
	}
}

// ended notes what became of a job: it is done, or it comes again.
func (w *poolRun) ended(ctx context.Context, n int, err error, now time.Time) {
	j := w.jobs[n]
	j.Err = err
	switch {
	case isElsewhere(err):
		w.queue.Found(n, now)
	case err == nil || ctx.Err() != nil || w.queue.Failures(n) >= w.keep.Retries || isFinal(err):
		w.queue.Done(n, now)
	default:
		what := settings.OneLine(err)
		if !strings.Contains(what, j.Run) {
			what = j.Run + ": " + what
		}
		Logf(w.stderr, "rollcall: %s: tried again later\n", what)
		w.queue.Failed(n, now)
	}
	w.finishReady(ctx)
}

// retire takes a worker away, whose session finds no memory beside the others', and returns how many are left; 0: the
// worker is the last one, and stays.
func (w *poolRun) retire() (left int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.workers == 1 {
		return 0
	}
	w.workers--
	return w.workers
}

// finishReady finishes the cells that are ready.
func (w *poolRun) finishReady(ctx context.Context) {
	for ; w.finished < len(w.cells) && w.err == nil; w.finished++ {
		jobs := w.cells[w.finished]
		begun := false
		for k := range jobs {
			n := w.before + k
			begun = begun || w.queue.Begun(n)
			if w.queue.Running(n) || !w.queue.IsDone(n) && ctx.Err() == nil {
				return
			}
			if !w.queue.IsDone(n) {
				w.jobs[n].Err = ctx.Err()
			}
		}
		w.before += len(jobs)
		if !begun {
			w.leftOut = true
		} else if w.err = w.finish(w.finished); w.err != nil {
			w.cancel()
		}
	}
}
