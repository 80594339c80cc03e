// Package progress tells people how a command gets on that trains one run or many.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"rollcall/results"
)

// Run is told how one run gets on, by the goroutine that makes it.
type Run interface {
	// Start is called once the data and the engine are open, before the first evaluation.
	Start(rounds int)
	// Resumed says, after Start, that the run goes on after so many rounds, which took no time here.
	Resumed(done int)
	Round(done, active int)
	Evaluated(row results.CurveRow)
	// Stop is called once, however the run ended.
	Stop()
}

// Work is what a run costs, beside other runs of the same command.
type Work struct {
	Round      float64 // FLOP of a round in which everybody is there
	Evaluation float64 // FLOP of an evaluation
	Evaluates  func(round int) bool
	Rounds     int
}

// Command is what one command shows of its runs. It is the log of the command as well.
type Command struct{ w io.Writer }

// New returns what fits w: on a terminal a line that is rewritten, else a line per evaluation.
func New(w io.Writer) *Command { return &Command{w} }

// Write writes to the log.
func (c *Command) Write(p []byte) (int, error) { return c.w.Write(p) }

// Run adds a run; label names it among several.
func (c *Command) Run(label string, _ Work) Run {
	if f, ok := c.w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &barProgress{w: c.w, label: label}
	}
	return &lineProgress{w: c.w, label: label}
}

// lineProgress writes one line per evaluation.
type lineProgress struct {
	w      io.Writer
	label  string
	rounds int
}

func (p *lineProgress) Start(rounds int) { p.rounds = rounds }

func (p *lineProgress) Resumed(int) {}

func (p *lineProgress) Round(int, int) {}

func (p *lineProgress) Stop() {}

func (p *lineProgress) Evaluated(row results.CurveRow) {
	_, _ = fmt.Fprintf(p.w, "%s: round %d/%d, %d active, %s, %.1f s\n", p.label, row.Round, p.rounds, row.Active, Reached(row),
		row.ElapsedSec)
}

// Reached reads "test acc 34.5 % loss 1.812, train acc 34.1 % loss 1.823".
func Reached(row results.CurveRow) string {
	text := fmt.Sprintf("test acc %.2f %% loss %.4f", 100*row.TestAcc.Value, row.TestLoss.Value)
	if row.TrainAcc.Valid {
		text += fmt.Sprintf(", train acc %.2f %% loss %.4f", 100*row.TrainAcc.Value, row.TrainLoss.Value)
	}
	return text
}

// barProgress draws a bar of rounds, with what the last evaluation found.
type barProgress struct {
	w     io.Writer
	label string
	bar   *progressbar.ProgressBar
	last  string
}

func (p *barProgress) Start(rounds int) {
	p.bar = progressbar.NewOptions(rounds,
		progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.label), progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("rounds"), progressbar.OptionShowIts(), progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	_ = p.bar.RenderBlank() // an error here is the terminal's; the run goes on
}

func (p *barProgress) Resumed(done int) { _ = p.bar.Set(done) }

func (p *barProgress) Round(done, active int) {
	p.bar.Describe(fmt.Sprintf("%s, %d active%s", p.label, active, p.last))
	_ = p.bar.Set(done)
}

func (p *barProgress) Evaluated(row results.CurveRow) {
	p.last = fmt.Sprintf(", test acc %.2f %%", 100*row.TestAcc.Value)
	p.bar.Describe(p.label + p.last)
}

func (p *barProgress) Stop() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
