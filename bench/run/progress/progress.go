// Package progress tells people how a command gets on that trains one run or many: on a terminal in one line that is
// rewritten in place, elsewhere in a line per evaluation.
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"rollcall/results"
)

// Run is told how one run gets on, by the goroutine that makes it.
type Run interface {
	// Start is called once the data and the engine are open, before the first evaluation. A run that was stopped may
	// start again, from the beginning.
	Start(rounds int)
	// Resumed says, after Start, that the run goes on after so many rounds, which took no time here.
	Resumed(done int)
	Round(done, active int)
	Evaluated(row results.CurveRow)
	// Stop is called when the run has ended, however that came, and for one that need not start. It may be called
	// again.
	Stop()
}

// Command shows how the runs of one command get on. It is the log of the command too: what is written to it stands on
// lines of its own. The runs may be made side by side.
type Command struct {
	w     io.Writer
	width func() int // columns of the terminal that w is; nil: it is none
	now   func() time.Time

	lock    sync.Mutex // of all below, and while w is written to
	runs    []*run
	times   times
	drawn   bool      // a line stands on the terminal
	within  bool      // the log ends within a line, which nothing may be drawn over
	drawnAt time.Time // when the line was drawn last
	saidAt  time.Time // when a log was told last how the command gets on
}

const (
	redrawAfter = 100 * time.Millisecond
	sayAfter    = time.Minute
)

// New returns what fits w. On a terminal nothing else may write to w while a run is at work.
func New(w io.Writer) *Command {
	c := &Command{w: w, now: time.Now}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		c.width = func() int {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil || columns < 1 {
				return 80 // a terminal that does not know its size
			}
			return columns
		}
	}
	return c
}

// Under returns what a log writes to, for lines that are drawn there while no run is at work, such as a download's; the
// log itself while one is.
func Under(log io.Writer) io.Writer {
	c, ok := log.(*Command)
	if !ok {
		return log
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if _, atWork := c.count(); atWork > 0 {
		return c
	}
	return c.w
}

// Run adds a run to those the command makes, with what it costs. label names it in a log.
func (c *Command) Run(label string, work Work) Run {
	r := &run{command: c, label: label, work: work, evaluations: work.evaluations(work.Rounds)}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.runs = append(c.runs, r)
	return r
}

// Write writes to the log.
func (c *Command) Write(p []byte) (int, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	drawn := c.drawn
	c.clear()
	n, err := c.w.Write(p)
	if len(p) > 0 {
		c.within = p[len(p)-1] != '\n'
	}
	if drawn {
		c.draw()
	}
	return n, err
}

// tell draws the line, or says in a log how the command gets on, if it is time.
func (c *Command) tell() {
	now := c.now()
	switch {
	case c.width != nil && now.Sub(c.drawnAt) >= redrawAfter:
		c.draw()
	case c.width == nil && now.Sub(c.saidAt) >= sayAfter:
		c.saidAt = now
		if ahead := c.ahead(); ahead != nil {
			_, _ = fmt.Fprintln(c.w, strings.Join(append(c.where()[:1], ahead...), between))
		}
	}
}

// draw draws the line in place of the one that stands there. What goes wrong with a terminal stops no run.
func (c *Command) draw() {
	if c.width == nil || c.within {
		return
	}
	c.clear()
	// The last column stays free: a terminal may go on in the next line when it is written to.
	_, err := io.WriteString(c.w, fit(slices.Concat(c.where(), c.ahead(), c.reached()), c.doneFrac(), c.width()-1))
	c.drawn, c.drawnAt = err == nil, c.now()
}

// clear takes the line away.
func (c *Command) clear() {
	if c.drawn {
		_, _ = io.WriteString(c.w, "\r\x1b[2K")
		c.drawn = false
	}
}

// count returns how many runs have ended, and how many are at work.
func (c *Command) count() (ended, atWork int) {
	for _, r := range c.runs {
		switch r.state {
		case hasEnded:
			ended++
		case isAtWork:
			atWork++
		}
	}
	return ended, atWork
}

// Reached reads "test acc 34.5 % loss 1.812, train acc 34.1 % loss 1.823".
func Reached(row results.CurveRow) string {
	text := fmt.Sprintf("test acc %.2f %% loss %.4f", 100*row.TestAcc.Value, row.TestLoss.Value)
	if row.TrainAcc.Valid {
		text += fmt.Sprintf(", train acc %.2f %% loss %.4f", 100*row.TrainAcc.Value, row.TrainLoss.Value)
	}
	return text
}
