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

// mostAtOnce is the largest --pack: CUDA runs the streams of so many engines at the same time.
const mostAtOnce = 32

// ValidateAtOnce is [Machine.Validate] for commands with --pack, which it checks too.
func (m *Machine) ValidateAtOnce() error {
	if m.AtOnce < 1 || m.AtOnce > mostAtOnce {
		return settings.Usagef("--pack %d: want 1 … %d, as many streams as a card takes up at a time",
			m.AtOnce, mostAtOnce)
	}
	return m.Validate()
}

// Pool is the sessions that make the runs of a table or figure, each one run at a time.
type Pool struct {
	Sessions []*Session
	Stderr   io.Writer
	Keep     Keep
	Watch    claim.Watch // claims runs, and sees the claims of other processes

	progress *progress.Command // the writer behind Stderr, which shows the progress of the runs
}

// NewPool returns a pool of Machine.AtOnce sessions.
func NewPool(stderr io.Writer, machine Machine, keep Keep) *Pool {
	p, shared := &Pool{progress: progress.New(stderr), Keep: keep}, &sharedData{}
	p.Stderr = p.progress
	for range machine.AtOnce {
		p.Sessions = append(p.Sessions, &Session{Machine: machine, Stderr: p.Stderr, shared: shared})
	}
	return p
}

// Close closes all sessions.
func (p *Pool) Close() (err error) {
	for _, l := range p.Sessions {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Job is one run to be found or made in a session.
type Job struct {
	Run string // names the run; two jobs of one run are never at work at the same time
	Do  func(ctx context.Context, l *Session) error
	Err error // the last error of Do, once the job is done
}

// Run does the jobs of all cells and calls finish for every cell in order, as soon as its jobs are done and the cells
// before it are finished. So a table prints its cells in order while later ones are at work.
//
// A job that fails is tried again [Keep].Retries times, after all other jobs have begun. A run that another process
// makes is waited for after all others; with [Keep].NoWait its job ends with an *[ElsewhereError] instead. A session
// that finds too little memory beside the others leaves its job to them and stops.
//
// An error of finish ends all jobs, and Run returns it. When ctx ends no more jobs begin and the cells that have begun
// are finished; Run returns ctx's error if a cell has not begun.
func (p *Pool) Run(ctx context.Context, cells [][]*Job, finish func(cell int) error) error {
	ctx, cancel := context.WithCancel(ctx) // an error of finish cancels the jobs at work
	defer cancel()
	w := &poolRun{
		cells: cells, finish: finish, cancel: cancel,
		stderr: p.Stderr, keep: p.Keep, named: map[string]bool{},
	}
	var runs []string
	for _, jobs := range cells {
		for _, j := range jobs {
			w.jobs, runs = append(w.jobs, j), append(runs, j.Run)
		}
	}
	w.queue, w.workers = queue.New(firstPause, runs), min(len(p.Sessions), len(runs))
	w.changed.L = &w.lock
	// A worker that waits for a job does not see by itself that ctx has ended.
	defer context.AfterFunc(ctx, w.wake)()
	var workers sync.WaitGroup
	for _, l := range p.Sessions[:w.workers] {
		l.engines = w.workers
		workers.Go(func() { w.work(ctx, l) })
	}
	workers.Wait()
	w.update(func(time.Time) { w.finishReady(ctx) }) // when ctx has ended, the cells without a begun job are left
	if w.err == nil && w.leftOut {
		return ctx.Err()
	}
	return w.err
}

// poolRun is the state that the workers of one call of [Pool.Run] share.
type poolRun struct {
	cells  [][]*Job
	jobs   []*Job // the jobs of all cells, in order
	finish func(cell int) error
	cancel func()
	stderr io.Writer
	keep   Keep

	lock     sync.Mutex // guards all fields below, and is held while finish is called
	changed  sync.Cond  // wakes the workers that wait for a job
	queue    *queue.Queue
	finished int             // how many cells are finished
	before   int             // how many jobs the finished cells have
	leftOut  bool            // a cell did not begin because ctx ended
	workers  int             // how many workers there are
	named    map[string]bool // processes that a line has named as waited for
	err      error           // the first error of finish
}

// wake makes the waiting workers look again whether they can begin a job.
func (w *poolRun) wake() { w.update(func(time.Time) {}) }

// update changes the shared state and wakes the workers that wait for a job.
func (w *poolRun) update(change func(now time.Time)) {
	w.lock.Lock()
	defer w.lock.Unlock()
	change(time.Now())
	w.changed.Broadcast()
}

// work does jobs in a session until there are no more, or until the session finds too little memory beside the others.
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
		if err := l.Close(); err != nil { // its engine and data set leave their memory to the other sessions
			Logf(w.stderr, "rollcall: %s\n", settings.OneLine(err))
		}
		w.update(func(time.Time) { w.queue.Return(n) })
		return
	}
}

// begin waits for a job that can be done and returns its number; -1: there will be none.
func (w *poolRun) begin(ctx context.Context) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	for ctx.Err() == nil {
		n, again := w.queue.Begin(time.Now())
		if n >= 0 {
			return n
		}
		others := w.queue.Elsewhere()
		if left := w.leave(others); left {
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

// leave ends the jobs of other processes that have shown a sign of life, if nobody wants to wait for them. A process
// that may be dead is waited for until it is known to live, or until this process can take its run over.
func (w *poolRun) leave(others []int) (left bool) {
	for _, n := range others {
		other, _ := errors.AsType[*ElsewhereError](w.jobs[n].Err)
		if w.keep.NoWait && other != nil && other.Holder != nil && (other.Holder.Alive || other.Holder.Mine) {
			w.queue.Done(n, time.Now()) // its error says which process makes the run
			left = true
		}
	}
	return left
}

// sleep waits until the shared state changes, or until a time; the zero time never comes. The caller holds the lock, so
// that wake cannot come before Wait does.
func (w *poolRun) sleep(until time.Time) {
	if !until.IsZero() {
		defer time.AfterFunc(time.Until(until), w.wake).Stop()
	}
	w.changed.Wait()
}

// sayWaiting names the processes that are waited for, each once.
func (w *poolRun) sayWaiting(jobs []int) {
	var who []string
	for _, n := range jobs {
		other, _ := errors.AsType[*ElsewhereError](w.jobs[n].Err)
		if other == nil || other.Holder == nil {
			continue // this process has just lost the run, and does not know yet to whom
		}
		process := fmt.Sprint(other.Holder.Host, other.Holder.PID)
		if !w.named[process] {
			w.named[process] = true
			who = append(who, other.Holder.String())
		}
	}
	if who != nil {
		what := "waits for"
		if w.keep.NoWait {
			what = "waits for a sign of life of those who make"
		}
		Logf(w.stderr, "rollcall: %s %s of other processes: %s\n", what, Count(len(jobs), "run"),
			strings.Join(who, "; "))
	}
}

// ended notes the outcome of a job: it is done, or it will be tried again.
func (w *poolRun) ended(ctx context.Context, n int, err error, now time.Time) {
	j := w.jobs[n]
	j.Err = err
	switch {
	case isElsewhere(err) && !isOfOtherPart(err):
		w.queue.Found(n, now)
	case err == nil || ctx.Err() != nil || isOfOtherPart(err) || w.queue.Failures(n) >= w.keep.Retries || isFinal(err):
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

// retire removes a worker whose session finds too little memory, and returns how many are left; 0: this is the last
// worker, and it stays.
func (w *poolRun) retire() (left int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.workers == 1 {
		return 0
	}
	w.workers--
	return w.workers
}

// finishReady calls finish for the next cells, as long as all their jobs are done. When ctx has ended, a job that has
// not begun counts as done.
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
