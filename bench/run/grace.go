package run

import (
	"context"
	"sync"
	"time"
)

// longRound is how long the last round may have taken for the one in progress to be finished when a run is to end.
var longRound = 10 * time.Second

// ended is when a run that is to end has to have written what it leaves, before its grace is over.
const endMargin = time.Second

// working are the runs in progress: a process that is asked to end gives them their grace.
var working struct {
	lock  sync.Mutex
	runs  int
	grace time.Duration // of the most patient
}

// Working reports whether runs are in progress in this process, and how long they take to end when they are asked to.
func Working() (grace time.Duration, yes bool) {
	working.lock.Lock()
	defer working.lock.Unlock()
	return working.grace, working.runs > 0
}

// ending is how a run ends when its context does: the round in progress is finished if that is a matter of seconds, and
// what the run leaves is written before the grace is over.
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
	if working.runs == 0 {
		working.grace = 0
	}
	working.runs++
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

// askedAt returns when the context ended.
func (e *ending) askedAt() time.Time {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.asked.IsZero() {
		e.asked = time.Now()
	}
	return e.asked
}

// round returns the context of a round. The last one took so long; 0: there was none. A round that is likely to be
// short goes on when the run is asked to end, as long as the grace leaves time to write as much as took `writing` last.
func (e *ending) round(last, writing time.Duration) (context.Context, context.CancelFunc) {
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

// last returns the context of what a run leaves at its end.
func (e *ending) last() (context.Context, context.CancelFunc) {
	return context.WithDeadline(context.WithoutCancel(e.Context), e.askedAt().Add(e.grace-endMargin/2))
}
