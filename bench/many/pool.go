package many

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/run/folder"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/files"
)

// Pool is the sessions that train the runs of a table or figure, each one run at a time.
type Pool struct {
	Sessions []*run.Session
	Stderr   io.Writer
	Keep     Keep

	progress *progress.Command // the writer behind Stderr, which shows the progress of the runs
}

// NewPool returns a pool of Machine.AtOnce sessions for each card of Machine.Device, or on the CPU.
func NewPool(stderr io.Writer, machine run.Machine, keep Keep) *Pool {
	p := &Pool{progress: progress.New(stderr), Keep: keep}
	p.Stderr = p.progress
	p.Sessions = run.Sessions(machine, p.Stderr)
	return p
}

// Close closes all sessions, and ends the progress of the runs.
func (p *Pool) Close() (err error) {
	p.progress.Close()
	for _, ses := range p.Sessions {
		err = errors.Join(err, ses.Close())
	}
	return err
}

// Job is one run to be found or trained in a session.
type Job struct {
	Run string // names the run; two jobs of one run are never at work at the same time
	// Work compares jobs: if several sessions work, those with the most of it begin first, so that none is left alone
	// with a long run at the end.
	Work float64
	Do   func(ctx context.Context, ses *run.Session) error
	Err  error // the last error of Do, once the job is done
}

// Run does the jobs of all cells and calls finish for every cell in order, as soon as its jobs are done and the cells
// before it are finished. So a table prints its cells in order while later ones are at work.
//
// A job that fails is tried again [Keep].Retries times, after all other jobs have begun. A run that another worker
// trains is waited for after all others; with [Keep].NoWait its job ends with an *[run.ElsewhereError] instead. A
// session that finds too little memory beside the others leaves its job to them and stops. So do all sessions of a card
// that is lost, whose jobs have not failed; when no card is left, no more jobs begin, and Run returns an error if one
// is not done.
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
	if out := p.Sessions[0].Machine.Out; out != "" {
		if _, err := os.Stat(out); err == nil {
			w.out = out
		}
	}
	var runs []string
	var work []float64
	for _, jobs := range cells {
		for _, j := range jobs {
			w.jobs, runs, work = append(w.jobs, j), append(runs, j.Run), append(work, j.Work)
		}
	}
	sessions := p.workers(len(runs))
	w.queue, w.crew = newQueue(run.FirstPause, runs), newCrew(sessions)
	if len(sessions) > 1 {
		w.queue.MostFirst(work)
	}
	w.changed.L = &w.lock
	// A worker that waits for a job does not see by itself that ctx has ended.
	defer context.AfterFunc(ctx, w.wake)()
	var workers sync.WaitGroup
	for _, ses := range sessions {
		workers.Go(func() { w.work(ctx, ses) })
	}
	workers.Wait()
	w.update(func(time.Time) { w.finishReady(ctx) }) // when ctx has ended, the cells without a begun job are left
	p.dropLost(&w.crew)
	switch {
	case w.err != nil:
		return w.err
	case w.leftOut && ctx.Err() != nil:
		return ctx.Err()
	case w.undone:
		return w.over
	}
	return nil
}

// poolRun is the state that the workers of one call of [Pool.Run] share.
type poolRun struct {
	cells  [][]*Job
	jobs   []*Job // the jobs of all cells, in order
	finish func(cell int) error
	cancel func()
	stderr io.Writer
	keep   Keep
	out    string // the output folder; "": it is not there yet

	lock     sync.Mutex // guards all fields below, and is held while finish is called
	changed  sync.Cond  // wakes the workers that wait for a job
	queue    *queue
	finished int  // how many cells are finished
	before   int  // how many jobs the finished cells have
	leftOut  bool // a cell did not begin because ctx ended, or no card is left
	crew     crew
	over     error           // why no more jobs begin though ctx has not ended; nil: they do
	undone   bool            // a job is not done because of over
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

// work does jobs in a session until there are no more, or until the worker [poolRun.leaves].
func (w *poolRun) work(ctx context.Context, ses *run.Session) {
	for {
		n := w.begin(ctx, ses)
		if n < 0 {
			w.closeLost(ses)
			return
		}
		err := w.gone()
		if err == nil {
			err = w.jobs[n].Do(ctx, ses)
		}
		line, leaves := w.leaves(ctx, ses, n, err)
		if !leaves {
			w.update(func(now time.Time) { w.ended(ctx, n, err, now) })
			continue
		}
		if line != "" {
			run.Logf(w.stderr, "rollcall: %s\n", line)
		}
		w.close(ses)
		w.update(func(now time.Time) { w.giveBack(ctx, n, err, now) })
		return
	}
}

// gone returns an error that wraps [folder.ErrGone] if the output folder was there, and is not any more.
func (w *poolRun) gone() error {
	if w.out == "" {
		return nil
	}
	if _, err := os.Stat(w.out); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return fmt.Errorf("%s: %w", w.out, folder.ErrGone)
}

// begin waits for a job that can be done and returns its number; -1: there will be none for this session.
func (w *poolRun) begin(ctx context.Context, ses *run.Session) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	for ctx.Err() == nil && !w.crew.lost[ses.Machine.Device] {
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

// leave ends the jobs of other processes, if nobody wants to wait for them.
func (w *poolRun) leave(others []int) (left bool) {
	if !w.keep.NoWait {
		return false
	}
	for _, n := range others {
		w.queue.Done(n, time.Now()) // its error says which process makes the run
	}
	return len(others) > 0
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
		other, _ := errors.AsType[*run.ElsewhereError](w.jobs[n].Err)
		if other == nil {
			continue // another process has just finished it
		}
		process := fmt.Sprint(other.Holder.Host, other.Holder.PID)
		if !w.named[process] {
			w.named[process] = true
			who = append(who, other.Holder.String())
		}
	}
	if who != nil {
		run.Logf(w.stderr, "rollcall: waits for %s of other workers: %s\n", files.Count(len(jobs), "run"),
			strings.Join(who, "; "))
	}
}

// ended notes the outcome of a job: it is done, or it will be tried again.
func (w *poolRun) ended(ctx context.Context, n int, err error, now time.Time) {
	j := w.jobs[n]
	j.Err = err
	if errors.Is(err, folder.ErrGone) && w.gone() != nil {
		w.err = cmp.Or(w.err, err) // the other runs would make the folder again
		w.cancel()
	}
	switch {
	case IsElsewhere(err) && !isOfOtherPart(err):
		w.queue.Found(n, now)
	case err == nil || ctx.Err() != nil || isOfOtherPart(err) || run.IsFinal(err) ||
		w.queue.jobs[n].failed >= w.keep.Retries:
		w.queue.Done(n, now)
	default:
		what := settings.ErrorLine(err)
		if !strings.Contains(what, j.Run) {
			what = j.Run + ": " + what
		}
		run.Logf(w.stderr, "rollcall: %s: tried again later\n", what)
		w.queue.Failed(n, now)
	}
	w.finishReady(ctx)
}

// finishReady calls finish for the next cells, as long as all their jobs are done. When ctx has ended or no card is
// left, a job that has not begun counts as done.
func (w *poolRun) finishReady(ctx context.Context) {
	why := cmp.Or(ctx.Err(), w.over)
	for ; w.finished < len(w.cells) && w.err == nil; w.finished++ {
		jobs := w.cells[w.finished]
		begun := false
		for k := range jobs {
			n := w.before + k
			j := &w.queue.jobs[n]
			begun = begun || j.begun
			if j.state == jobRuns || j.state != jobDone && why == nil {
				return
			}
			if j.state != jobDone {
				w.jobs[n].Err, w.undone = why, w.over != nil
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

// Keep says which finished runs a command keeps, which it makes, and how it deals with runs that fail or that others
// make. The zero value keeps the runs that this program and this machine would make again, and waits for others.
type Keep struct {
	run.Keep
	Retries int  // how often a failed run is tried again
	NoWait  bool // do not wait for runs that other processes make
	Part    Part // make the runs of this part alone
}

// Validate reports the first impossible flag.
func (k *Keep) Validate() error {
	if k.Retries < 0 {
		return settings.Usagef("--retries %d: want 0 or more", k.Retries)
	}
	return k.Keep.Validate()
}

// LackingError says that a figure lacks lines, of which other processes make runs that were not waited for.
type LackingError struct{ Runs, Lines int }

func (e *LackingError) Error() string {
	return fmt.Sprintf("other workers train %s of %s", files.Count(e.Runs, "run"), files.Count(e.Lines, "line"))
}

// IsElsewhere reports whether a run is missing only because it is another process's to make.
func IsElsewhere(err error) bool { return run.IsElsewhere(err) || isOfOtherPart(err) }

// ErrHeld says that a command with [Keep].NoWait leaves runs of its own to other processes, which make them.
var ErrHeld = errors.New("other workers train runs that were not waited for: repeat the command to resume")
