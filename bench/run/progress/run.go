package progress

import (
	"fmt"
	"time"

	"rollcall/results"
)

// run is one run of a command.
type run struct {
	command *Command
	label   string
	work    Work

	// Of these the command's lock is held.
	state       state
	evaluations int // in all
	rounds      int // that it was started with
	done        int // rounds
	evaluated   int // evaluations done
	accuracy    string
	began       time.Time
	last        time.Time // of what was told last: what comes next took from then on
}

type state int

const (
	waits state = iota
	isAtWork
	hasEnded
)

// Start implements [Run].
func (r *run) Start(rounds int) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	r.state, r.rounds, r.done, r.evaluated, r.accuracy, r.began = isAtWork, rounds, 0, 0, "", c.now()
	r.last = r.began
	if c.times.begun.IsZero() {
		c.times.begun, c.saidAt = r.began, r.began
	}
	c.draw()
}

// Resumed implements [Run].
func (r *run) Resumed(done int) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	r.done, r.evaluated, r.last = done, r.work.evaluations(done), c.now()
	c.draw()
}

// Round implements [Run].
func (r *run) Round(done, _ int) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	c.times.of(r.work.Kind).train.add(r.took(), r.work.Round)
	r.done = done
	c.tell()
}

// Evaluated implements [Run].
func (r *run) Evaluated(row results.CurveRow) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	c.times.of(r.work.Kind).evaluate.add(r.took(), r.work.Evaluation)
	r.evaluated = min(r.evaluated+1, r.evaluations)
	r.accuracy = fmt.Sprintf("test acc %.2f %%", 100*row.TestAcc.Value)
	if c.width == nil {
		_, _ = fmt.Fprintf(c.w, "%s: round %d/%d, %d active, %s, %.1f s\n", r.label, row.Round, r.rounds, row.Active,
			Reached(row), row.ElapsedSec)
	}
	c.tell()
}

// Stop implements [Run].
func (r *run) Stop() {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	r.state = hasEnded
	if _, atWork := c.count(); atWork == 0 {
		c.clear()
		return
	}
	c.draw()
}

// took returns how long it is since this was asked last.
func (r *run) took() time.Duration {
	now := r.command.now()
	took := now.Sub(r.last)
	r.last = now
	return took
}
