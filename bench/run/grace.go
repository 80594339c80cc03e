package run

import (
	"context"
	"sync"
	"time"
)

// longRound is how long the last round may have taken if the round in progress is to be finished when the run is asked
// to end. Tests make it shorter.
var longRound = 10 * time.Second

// endMargin is how long before the end of its grace a run has to have written its files.
const endMargin = time.Second

// working counts the runs in progress: a process that gets a signal gives them their grace before it ends.
var working struct {
	lock  sync.Mutex
	runs  int
	grace time.Duration // the longest of the runs' graces

	begun, rounds int // runs that were begun since the process started, and rounds that they have trained
	saved         int // runs of these that are complete, and checkpoints that they have written or resumed from
}

// Trained returns how many runs were begun in this process, and how many rounds these have trained.
func Trained() (begun, rounds int) {
	working.lock.Lock()
	defer working.lock.Unlock()
	return working.begun, working.rounds
}

// Saved returns how often a run of this process has left something that a repeated command need not train again: a
// checkpoint, or itself, complete.
func Saved() int {
	working.lock.Lock()
	defer working.lock.Unlock()
	return working.saved
}

func countSaved() {
	working.lock.Lock()
	defer working.lock.Unlock()
	working.saved++
}

// countRound counts a round.
func countRound() {
	working.lock.Lock()
	defer working.lock.Unlock()
	working.rounds++
}

// Working reports whether runs are in progress in this process, and how long they may take to end.
func Working() (grace time.Duration, yes bool) {
	working.lock.Lock()
	defer working.lock.Unlock()
	return working.grace, working.runs > 0
}

// ending is the context of a run that ends in good order when ctx does: it finishes the round in progress if that takes
// seconds, and writes its files before the grace is over.
type ending struct {
	context.Context
	grace time.Duration

	lock  sync.Mutex
	asked time.Time // when the context ended; zero: it has not
}

// beginRun counts a run as in progress until done is called.
func beginRun(ctx context.Context, grace time.Duration) (e *ending, done func()) {
	working.lock.Lock()
	defer working.lock.Unlock()
	if working.runs == 0 { // the graces of earlier runs no longer count
		working.grace = 0
	}
	working.runs++
	working.begun++
	working.grace = max(working.grace, grace)
	e = &ending{Context: ctx, grace: grace}
	stop := context.AfterFunc(ctx, func() { e.askedAt() })
	return e, func() {
		stop()
		working.lock.Lock()
		defer working.lock.Unlock()
		working.runs--
	}
}

// askedAt returns when the context ended. Its first call sets that time.
func (e *ending) askedAt() time.Time {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.asked.IsZero() {
		e.asked = time.Now()
	}
	return e.asked
}

// round returns the context of the next round. last is the time of the last round; 0: there was none. writing is the
// time of the last checkpoint. A round that is likely to be short goes on after the run is asked to end, as long as the
// grace leaves time for another checkpoint.
func (e *ending) round(last, writing time.Duration) (context.Context, context.CancelFunc) {
	// A round that may not end within the grace is dropped at once, so that the checkpoint is written in time.
	if last == 0 || last >= longRound {
		return context.WithCancel(e.Context)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.Context))
	stop := context.AfterFunc(e.Context, func() {
		left := time.Until(e.askedAt().Add(e.grace - 2*writing - endMargin))
		timer := time.AfterFunc(left, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// last returns the context for writing the checkpoint of an interrupted run. It ends half a margin before the grace,
// because curve.csv and run.json are written after the checkpoint.
func (e *ending) last() (context.Context, context.CancelFunc) {
	return context.WithDeadline(context.WithoutCancel(e.Context), e.askedAt().Add(e.grace-endMargin/2))
}
