package progress

import (
	"fmt"
	"time"

	"rollcall/results"
)

// run is one run of a command. It implements [Run].
type run struct {
	command *Command
	label   string
	work    Work

	// The command's lock guards these.
	state       state
	evaluations int    // how many evaluations the run has
	rounds      int    // how many rounds Start was called with
	done        int    // how many rounds are done
	evaluated   int    // how many evaluations are done
	accuracy    string // the last one, as the line shows it
	began       time.Time
	last        time.Time // of the last call of a method: the next round or evaluation began then
}

// state is how far a run is.
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
	c.times.ofKind(r.work.Kind).train.add(r.took(), r.work.Round)
	r.done = done
	c.show()
}

// Evaluated implements [Run].
func (r *run) Evaluated(row results.CurveRow) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	c.times.ofKind(r.work.Kind).evaluate.add(r.took(), r.work.Evaluation)
	r.evaluated = min(r.evaluated+1, r.evaluations)
	r.accuracy = fmt.Sprintf("test acc %.2f %%", 100*row.TestAcc.Value)
	if c.width == nil {
		_, _ = fmt.Fprintf(c.w, "%s: round %d/%d, %d active, %s, %.1f s\n", r.label, row.Round, r.rounds, row.Active,
			Reached(row), row.ElapsedSec)
	}
	c.show()
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

// took returns the time since the last call of took.
func (r *run) took() time.Duration {
	now := r.command.now()
	took := now.Sub(r.last)
	r.last = now
	return took
}
