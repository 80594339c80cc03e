package run

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"rollcall/bench/run/claim"
	"rollcall/bench/run/progress"
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

	progress *progress.Command // Stderr, which shows how the runs get on
	watch    claim.Watch
	made     sync.Map // folders of the runs that were made, not kept
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

	state  jobState
	failed int       // attempts
	again  time.Time // when a job is tried again that another process does
	Err    error     // of a job that is done
}

type jobState int

const (
	jobWaits jobState = iota
	jobRuns
	jobElsewhere // another process does it, as far as is known
	jobDone
)

// Run does the jobs of the cells, begun in order, and calls finish for one cell after the other, as soon as its jobs
// are done and all cells before it are finished. A job that fails is tried again once all others have been begun, as
// often as [Keep] has it. One that another process does is waited for, after all others, or is done with an
// *[ElsewhereError] where nobody is to wait. An error of finish ends all. When ctx ends no more jobs are begun, and the
// cells that have begun are finished; Run returns the reason if a cell has not.
func (p *Pool) Run(ctx context.Context, cells [][]*Job, finish func(cell int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	total := 0
	for _, jobs := range cells {
		total += len(jobs)
	}
	q := &queue{
		cells: cells, finish: finish, cancel: cancel, workers: min(len(p.Sessions), total), stderr: p.Stderr,
		keep: p.Keep,
	}
	q.changed.L = &q.lock
	defer context.AfterFunc(ctx, q.wake)()
	var workers sync.WaitGroup
	for _, l := range p.Sessions[:q.workers] {
		l.engines = q.workers
		workers.Go(func() { q.work(ctx, l) })
	}
	workers.Wait()
	q.finishReady(ctx) // those left when ctx ended before a job of theirs was begun
	if q.err == nil && q.leftOut {
		return ctx.Err()
	}
	return q.err
}

// queue is the jobs of a pool.
type queue struct {
	cells  [][]*Job
	finish func(cell int) error
	cancel func()
	stderr io.Writer

	keep Keep

	lock     sync.Mutex // of all below, and while a cell is finished
	changed  sync.Cond  // wakes who waits for a job
	finished int        // cells
	leftOut  bool       // cells that ctx kept from being begun
	workers  int        // that have a session
	err      error      // of finish
}

func (q *queue) wake() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.changed.Broadcast()
}

// work does jobs in a session until there are no more.
func (q *queue) work(ctx context.Context, l *Session) {
	for {
		j := q.begin(ctx)
		if j == nil {
			return
		}
		err := j.Do(ctx, l)
		left := 0
		if ctx.Err() == nil && (gpu.OutOfMemory(err) || noRoomBeside(err)) {
			left = q.retire()
		}
		if left == 0 {
			if !q.later(ctx, j, err) {
				q.end(ctx, j, err)
			}
			continue
		}
		Logf(q.stderr, "rollcall: %s: %s at a time from now on\n", settings.OneLine(err), Count(left, "run"))
		if err := l.Close(); err != nil {
			Logf(q.stderr, "rollcall: %s\n", settings.OneLine(err))
		}
		q.again(j)
		return
	}
}

// begin waits for a job that can be done; nil: there will be none.
func (q *queue) begin(ctx context.Context) *Job {
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

// pick returns the first job that can be begun, those that failed before and those of other processes last; if there is
// none, whether there may be later.
func (q *queue) pick() (_ *Job, later bool) {
	busy := map[string]bool{}
	for j := range q.jobs {
		if j.state == jobRuns {
			busy[j.Run], later = true, true
		}
	}
	for _, ready := range []func(*Job) bool{
		func(j *Job) bool { return j.state == jobWaits && j.failed == 0 },
		func(j *Job) bool { return j.state == jobWaits },
		func(j *Job) bool { return j.state == jobElsewhere && !time.Now().Before(j.again) },
	} {
		for j := range q.jobs {
			if ready(j) && !busy[j.Run] {
				return j, true
			}
		}
	}
	for j := range q.jobs {
		if j.state == jobElsewhere {
			time.AfterFunc(time.Until(j.again), q.wake)
			return nil, true
		}
	}
	return nil, later
}

// jobs yields all jobs in order.
func (q *queue) jobs(yield func(*Job) bool) {
	for _, jobs := range q.cells {
		for _, j := range jobs {
			if !yield(j) {
				return
			}
		}
	}
}

// later puts a job off that did not come to its end, and reports whether it did so.
func (q *queue) later(ctx context.Context, j *Job, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	if isElsewhere(err) {
		if q.keep.NoWait {
			return false
		}
		q.lock.Lock()
		j.state, j.again = jobElsewhere, time.Now().Add(turn)
		q.lock.Unlock()
		q.wake()
		return true
	}
	if j.failed++; j.failed > q.keep.Retries || isFinal(err) {
		return false
	}
	Logf(q.stderr, "rollcall: %s: %s: tried again later\n", j.Run, settings.OneLine(err))
	q.again(j)
	return true
}

// end notes what became of a job.
func (q *queue) end(ctx context.Context, j *Job, err error) {
	q.lock.Lock()
	j.state, j.Err = jobDone, err
	q.lock.Unlock()
	q.finishReady(ctx)
	q.wake()
}

// retire takes a worker away, whose session finds no memory beside the others', and returns how many are left; 0: the
// worker is the last one, and stays.
func (q *queue) retire() (left int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.workers == 1 {
		return 0
	}
	q.workers--
	return q.workers
}

// again has a job wait for another session.
func (q *queue) again(j *Job) {
	q.lock.Lock()
	j.state = jobWaits
	q.lock.Unlock()
	q.wake()
}

// finishReady finishes the cells that are ready.
func (q *queue) finishReady(ctx context.Context) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for ; q.finished < len(q.cells) && q.err == nil; q.finished++ {
		jobs := q.cells[q.finished]
		begun := false
		for _, j := range jobs {
			begun = begun || j.state != jobWaits
			if j.state == jobRuns || j.state != jobDone && ctx.Err() == nil {
				return
			}
		}
		if !begun {
			q.leftOut = true
			continue
		}
		for _, j := range jobs {
			if j.state != jobDone {
				j.Err = ctx.Err()
			}
		}
		if q.err = q.finish(q.finished); q.err != nil {
			q.cancel()
		}
	}
}
