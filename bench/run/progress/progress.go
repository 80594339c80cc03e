// Package progress shows people how far a command with one or many runs is: on a terminal in one line that is rewritten
// in place, elsewhere in a line per evaluation:
//
//	log := progress.New(os.Stderr)
//	r := log.Run("fedawe seed 3", progress.Work{Kind: "fedawe", Rounds: 2000, Round: flop})
//	defer r.Stop()
//	r.Start(2000)
//	for t := range 2000 {
//		r.Round(t+1, active)
//	}
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

// Run shows the progress of one run. The goroutine that makes the run calls its methods.
type Run interface {
	// Start says that the data and the engine are open and the first evaluation begins. A stopped run may start
	// again, from its beginning.
	Start(rounds int)
	// Resumed says, after Start, that the run resumes after so many rounds. These took no time in this process.
	Resumed(done int)
	// Round says that so many rounds are done, and how many clients were active in the last of them.
	Round(done, active int)
	// Evaluated says that a row of the curve is computed.
	Evaluated(row results.CurveRow)
	// Stop says that the run has ended in whatever way, or that it need not start. It may be called more than once.
	Stop()
}

// Command shows the progress of all runs of one command. It is the command's log too: every text written to it stands
// on lines of its own. Runs may be made at the same time.
type Command struct {
	w     io.Writer
	width func() int // the columns of the terminal w; nil: w is no terminal
	now   func() time.Time

	lock    sync.Mutex // guards all fields below and the writes to w
	runs    []*run
	times   times
	drawn   bool      // the line is on the terminal
	within  bool      // the log ends in the middle of a line, which must not be drawn over
	drawnAt time.Time // when the line was last drawn
	saidAt  time.Time // when the log last got a line about the whole command
}

// The least time between two drawings of the line, and between two lines about the whole command in a log.
const (
	redrawAfter = 100 * time.Millisecond
	sayAfter    = time.Minute
)

// New returns the progress of a command whose log is w. If w is a terminal, nothing else may write to it while a run is
// at work.
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

// Under returns the writer behind a log, for progress that is drawn in place while no run is at work, such as a
// download. While a run is at work it returns the log itself.
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

// Run adds a run to the command. label names it in the log.
func (c *Command) Run(label string, work Work) Run {
	r := &run{command: c, label: label, work: work, evaluations: work.evaluations(work.Rounds)}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.runs = append(c.runs, r)
	return r
}

// Write writes to the log, above the line on the terminal.
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

// show draws the line on a terminal, or writes a line about the whole command to a log, if it is time for one.
func (c *Command) show() {
	now := c.now()
	switch {
	case c.width != nil && now.Sub(c.drawnAt) >= redrawAfter:
		c.draw()
	case c.width == nil && now.Sub(c.saidAt) >= sayAfter:
		c.saidAt = now
		if outlook := c.outlook(); outlook != nil {
			_, _ = fmt.Fprintln(c.w, strings.Join(append(c.where()[:1], outlook...), between))
		}
	}
}

// draw draws the line over the last one. It ignores errors: a broken terminal stops no run.
func (c *Command) draw() {
	if c.width == nil || c.within {
		return
	}
	c.clear()
	// The last column stays empty: some terminals move to the next line when a character is there.
	_, err := io.WriteString(c.w, fit(slices.Concat(c.where(), c.outlook(), c.reached()), c.doneFrac(), c.width()-1))
	c.drawn, c.drawnAt = err == nil, c.now()
}

// clear removes the line from the terminal.
func (c *Command) clear() {
	if c.drawn {
		_, _ = io.WriteString(c.w, "\r\x1b[2K")
		c.drawn = false
	}
}

// count returns how many runs have ended and how many are at work.
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

// Reached returns losses and accuracies as text: "test acc 34.5 % loss 1.812, train acc 34.1 % loss 1.823".
func Reached(row results.CurveRow) string {
	text := fmt.Sprintf("test acc %.2f %% loss %.4f", 100*row.TestAcc.Value, row.TestLoss.Value)
	if row.TrainAcc.Valid {
		text += fmt.Sprintf(", train acc %.2f %% loss %.4f", 100*row.TrainAcc.Value, row.TrainLoss.Value)
	}
	return text
}
