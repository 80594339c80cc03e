// Package progress shows people how far a command with one or many runs is: on a terminal in one line that is rewritten
// in place, elsewhere in a line now and then, see [LogEvery]:
//
//	log := progress.New(os.Stderr)
//	defer log.Close()
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
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"rollcall/internal/files"
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
	w        io.Writer
	terminal io.Writer  // that w writes to, for what is drawn on it
	width    func() int // the columns of the terminal; nil: there is none
	now      func() time.Time

	lock     sync.Mutex // guards all fields below and the writes to w
	runs     []*run
	expected []*run // that will be added later
	times    times
	drawn    bool      // the line is on the terminal
	within   bool      // the log ends in the middle of a line, which must not be drawn over
	drawnAt  time.Time // when the line was last drawn
	saidAt   time.Time // when the log last got a line
	unsaid   bool      // something has happened since
}

// LogEvery is the least time between two lines in a log that is no terminal. Tests that wait for an evaluation make it
// 0: then each has a line.
var LogEvery = 10 * time.Second

const (
	redrawAfter = 100 * time.Millisecond // the least time between two drawings of the line
	roundEvery  = time.Second            // the least time between two lines for rounds without an evaluation
)

// New returns the progress of a command whose log is w. To a terminal nothing else may write while a run is at work.
func New(w io.Writer) *Command {
	c := &Command{w: w, terminal: w, now: time.Now}
	if f, is := files.Terminal(w); is {
		c.terminal = f
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
	r := newRun(c, label, work)
	c.lock.Lock()
	defer c.lock.Unlock()
	c.runs = append(c.runs, r)
	return r
}

// Expect replaces the runs that are expected: those that [Command.Run] is to add once others have ended. They count
// among all runs of the command.
func (c *Command) Expect(work []Work) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.expected = nil
	for _, w := range work {
		c.expected = append(c.expected, newRun(c, "", w))
	}
}

// Close removes the line from a terminal, and writes how far the command has come to a log, unless its last line says
// so. It does not close the log.
func (c *Command) Close() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.clear()
	if c.width != nil || !c.unsaid {
		return
	}
	c.unsaid = false
	r := c.newest()
	if len(c.runs) > 1 {
		r = nil
	}
	line := append(c.where(r), "after "+Duration(c.now().Sub(c.times.begun)))
	_, _ = fmt.Fprintln(c.w, strings.Join(line, between))
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

// show draws the line on a terminal, or writes a line to a log if the last one is long enough ago. r is the run that
// something has happened in.
func (c *Command) show(r *run, every time.Duration) {
	c.unsaid = true
	now := c.now()
	switch {
	case c.width != nil && now.Sub(c.drawnAt) >= redrawAfter:
		c.draw()
	case c.width == nil && now.Sub(c.saidAt) >= every:
		c.saidAt, c.unsaid = now, false
		_, _ = fmt.Fprintln(c.w, strings.Join(append(c.where(r), c.outlook()...), between))
	}
}

// draw draws the line over the last one. It ignores errors: a broken terminal stops no run.
func (c *Command) draw() {
	if c.width == nil || c.within {
		return
	}
	c.clear()
	// The last column stays empty: some terminals move to the next line when a character is there.
	line := fit(slices.Concat(c.place(), c.outlook(), c.reached()), c.doneFrac(), c.width()-1)
	_, err := io.WriteString(c.terminal, files.Printable(line))
	c.drawn, c.drawnAt = err == nil, c.now()
}

// clear removes the line from the terminal.
func (c *Command) clear() {
	if c.drawn {
		_, _ = io.WriteString(c.terminal, "\r\x1b[2K")
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
	text := fmt.Sprintf("test acc %.2f %% loss %s", 100*row.TestAcc.Value, Loss(row.TestLoss.Value))
	if row.TrainAcc.Valid {
		text += fmt.Sprintf(", train acc %.2f %% loss %s", 100*row.TrainAcc.Value, Loss(row.TrainLoss.Value))
	}
	return text
}

// Loss returns a loss as text: with four decimals, or in powers of ten where that would be too long to read.
func Loss(loss float64) string {
	if math.Abs(loss) >= 1e6 {
		return fmt.Sprintf("%.4g", loss)
	}
	return fmt.Sprintf("%.4f", loss)
}

func newRun(c *Command, label string, work Work) *run {
	r := &run{command: c, label: label, work: work, evaluation: work.evaluation(work.Rounds)}
	if work.From > 0 { // otherwise the first evaluation, before round 1, is the run's own
		r.earlier = work.evaluation(work.From)
	}
	return r
}

// run is one run of a command. It implements [Run].
type run struct {
	command *Command
	label   string
	work    Work

	// The command's lock guards these.
	state      state
	evaluation float64 // FLOP of all evaluations
	earlier    float64 // FLOP of those up to Work.From
	rounds     int     // how many rounds Start was called with
	done       int     // how many rounds are done
	evaluated  float64 // FLOP of the evaluations that are done
	accuracy   string  // the last one, as the line shows it
	began      time.Time
	last       time.Time // of the last call of a method: the next round or evaluation began then
}

// state is how far a run is.
type state int

const (
	waits state = iota
	isAtWork
	hasEnded
)

func (r *run) Start(rounds int) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	r.state, r.rounds, r.done, r.evaluated, r.accuracy, r.began = isAtWork, rounds, 0, 0, "", c.now()
	r.last = r.began
	if c.times.begun.IsZero() {
		c.times.begun, c.saidAt = r.began, r.began
	}
	c.unsaid = true
	c.draw()
}

func (r *run) Resumed(done int) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	r.done, r.evaluated, r.last = done, r.work.evaluation(done), c.now()
	c.draw()
}

func (r *run) Round(done, _ int) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	c.times.ofKind(r.work.Kind).train.add(r.took(), r.work.Round)
	r.done = done
	c.show(r, max(LogEvery, roundEvery))
}

func (r *run) Evaluated(row results.CurveRow) {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	if r.work.Evaluation != nil {
		flop := r.work.Evaluation(row.Round)
		c.times.ofKind(r.work.Kind).evaluate.add(r.took(), flop)
		r.evaluated += flop
	}
	r.accuracy = fmt.Sprintf("test acc %.2f %%", 100*row.TestAcc.Value)
	c.show(r, LogEvery)
}

func (r *run) Stop() {
	c := r.command
	c.lock.Lock()
	defer c.lock.Unlock()
	if r.state == isAtWork {
		c.unsaid = true
	}
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

// newest returns the run at work that started last, or the one that started last of all if none is at work; nil: none
// has started.
func (c *Command) newest() (newest *run) {
	for _, r := range c.runs {
		if r.began.IsZero() {
			continue
		}
		works := r.state == isAtWork
		if newest == nil || works && newest.state != isAtWork ||
			works == (newest.state == isAtWork) && r.began.After(newest.began) {
			newest = r
		}
	}
	return newest
}

// ofAll returns "run 3/32" if there are several runs.
func (c *Command) ofAll() (parts []string) {
	if n := len(c.runs) + len(c.expected); n > 1 {
		ended, atWork := c.count()
		parts = append(parts, fmt.Sprintf("run %d/%d", ended+atWork, n))
	}
	return parts
}

// place returns the first parts of the line on a terminal: "run 3/32" and "round 120/2000".
func (c *Command) place() []string {
	parts := c.ofAll()
	if r := c.newest(); r != nil {
		parts = append(parts, fmt.Sprintf("round %d/%d", r.done, r.rounds))
	}
	return parts
}

// where returns the first parts of a line in a log: "run 3/32", "fedawe seed 3: round 120/2000" and "test acc 45.10 %".
// r is the run; nil: none is named.
func (c *Command) where(r *run) []string {
	parts := c.ofAll()
	if r != nil {
		if parts = append(parts, fmt.Sprintf("%s: round %d/%d", r.label, r.done, r.rounds)); r.accuracy != "" {
			parts = append(parts, r.accuracy)
		}
	}
	return parts
}

// outlook returns the next parts of the line, as far as they are known: "64 %" and "2 h 10 min left".
func (c *Command) outlook() (parts []string) {
	if done := c.doneFrac(); !math.IsNaN(done) {
		parts = append(parts, fmt.Sprintf("%d %%", int(100*done)))
	}
	if left, ok := c.left(); ok {
		parts = append(parts, Duration(left)+" left")
	}
	return parts
}

// reached returns the last accuracy, if the command has only one run.
func (c *Command) reached() []string {
	if len(c.runs)+len(c.expected) > 1 || c.runs[0].accuracy == "" {
		return nil
	}
	return []string{c.runs[0].accuracy}
}

const (
	between = " · " // separates the parts of a line
	least   = 10    // the fewest columns of a bar
)

// fit returns a line for a terminal of so many columns: the first parts that fit, and a bar in the rest if there is
// enough room. doneFrac is the share of the bar, NaN for no bar.
func fit(parts []string, doneFrac float64, columns int) string {
	line := ""
	for i, part := range parts {
		if i > 0 {
			part = between + part
		}
		if utf8.RuneCountInString(line+part) > columns {
			return line
		}
		line += part
	}
	if room := columns - utf8.RuneCountInString(line) - 1; room >= least && !math.IsNaN(doneFrac) {
		line += " " + bar(doneFrac, room)
	}
	return line
}

// bar returns a bar of so many columns: "|███  |".
func bar(doneFrac float64, columns int) string {
	var text strings.Builder
	drawn := progressbar.NewOptions(100, progressbar.OptionSetWriter(&text), progressbar.OptionSetWidth(columns-2),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	if percent := int(100 * doneFrac); percent > 0 {
		_ = drawn.Set(percent) // writing to a string never fails
	} else {
		_ = drawn.RenderBlank()
	}
	_, after, _ := strings.Cut(text.String(), "|") // the text before the bar repeats the percent
	within, _, _ := strings.Cut(after, "|")
	return "|" + within + "|"
}
