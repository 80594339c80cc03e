package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/events"
)

// logging keeps apart what a run says and what is said of its files, which are written beside it.
var logging sync.Mutex

// Logf writes to a log. That it cannot is no reason to stop.
func Logf(w io.Writer, format string, args ...any) {
	logging.Lock()
	defer logging.Unlock()
	_, _ = fmt.Fprintf(w, format, args...)
}

// progress tells people how a run is getting on: a bar on a terminal, else a line per evaluation.
type progress interface {
	start(rounds int)
	round(done, active int)
	evaluated(row results.CurveRow)
	stop()
}

// NewProgress returns what fits w; label names the run among several.
func NewProgress(w io.Writer, label string) progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &barProgress{w: w, label: label}
	}
	return &lineProgress{w: w, label: label}
}

// lineProgress writes one line per evaluation.
type lineProgress struct {
	w      io.Writer
	label  string
	rounds int
}

func (p *lineProgress) start(rounds int) { p.rounds = rounds }

func (p *lineProgress) round(int, int) {}

func (p *lineProgress) stop() {}

func (p *lineProgress) evaluated(row results.CurveRow) {
	Logf(p.w, "%s: round %d/%d, %d active, %s, %.1f s\n", p.label, row.Round, p.rounds, row.Active, Reached(row),
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

func (p *barProgress) start(rounds int) {
	p.bar = progressbar.NewOptions(rounds,
		progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.label), progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("rounds"), progressbar.OptionShowIts(), progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	_ = p.bar.RenderBlank() // an error here is the terminal's; the run goes on
}

func (p *barProgress) round(done, active int) {
	p.bar.Describe(fmt.Sprintf("%s, %d active%s", p.label, active, p.last))
	_ = p.bar.Set(done)
}

func (p *barProgress) evaluated(row results.CurveRow) {
	p.last = fmt.Sprintf(", test acc %.2f %%", 100*row.TestAcc.Value)
	p.bar.Describe(p.label + p.last)
}

func (p *barProgress) stop() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// Count reads "1 seed", "3 seeds".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// eventProgress passes every evaluation on to an event file as well. What goes wrong with that is said, and ends the
// events, not the run.
type eventProgress struct {
	progress
	log    *events.Log // nil: none
	stderr io.Writer
}

// followed returns a run's progress, with an event file in its folder where --events asks for it. One that is there
// already is of another run.
func (l *Session) followed(p progress, dir string, started time.Time) *eventProgress {
	e := &eventProgress{progress: p, stderr: l.Stderr}
	err := os.Remove(filepath.Join(dir, events.File))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && l.Machine.Events {
		e.log, err = events.Create(dir, started)
	}
	e.failed(err)
	return e
}

func (e *eventProgress) failed(err error) {
	if err != nil {
		Logf(e.stderr, "rollcall: %s: the run goes on without events\n", settings.OneLine(err))
	}
}

func (e *eventProgress) evaluated(row results.CurveRow) {
	e.progress.evaluated(row)
	if err := e.log.Row(row); err != nil {
		e.failed(errors.Join(err, e.log.Close()))
		e.log = nil
	}
}

func (e *eventProgress) stop() {
	e.progress.stop()
	e.failed(e.log.Close())
}

// KeptEvents writes the event file of a finished run that is kept, where --events asks for it.
func (l *Session) KeptEvents(r *results.Run) {
	if !l.Machine.Events {
		return
	}
	if err := events.WriteCurve(r.Dir, r.Curve, r.Info.Started); err != nil {
		Logf(l.Stderr, "rollcall: %s: kept without events\n", settings.OneLine(err))
	}
}
