package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/events"
)

// logging keeps lines of different goroutines apart: runs, and the writers of their files.
var logging sync.Mutex

// Logf writes to a log. It ignores errors, since a log that cannot be written is no reason to stop.
func Logf(w io.Writer, format string, args ...any) {
	logging.Lock()
	defer logging.Unlock()
	_, _ = fmt.Fprintf(w, format, args...)
}

// Count returns a number with its noun: "1 seed", "3 seeds".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// eventProgress is a run's progress that also writes every evaluation to an event file. An error is logged and ends the
// events, but not the run.
type eventProgress struct {
	progress.Run
	log    *events.Log // nil: no event file, and its methods do nothing
	stderr io.Writer
}

// withEvents returns a run's progress with an event file in its folder, if --events asks for one. The file begins with
// the rows up to now and replaces an older file.
func (l *Session) withEvents(
	p progress.Run, dir string, started time.Time, rows []results.CurveRow,
) *eventProgress {
	e := &eventProgress{Run: p, stderr: l.Stderr}
	// Without --events an older file goes too, because it would lack the rows to come.
	err := os.Remove(filepath.Join(dir, events.File))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && l.Machine.Events {
		e.log, err = events.Create(dir, started)
	}
	for i := range rows {
		err = cmp.Or(err, e.log.Row(rows[i]))
	}
	e.failed(err)
	return e
}

// failed logs an error, if there is one.
func (e *eventProgress) failed(err error) {
	if err != nil {
		Logf(e.stderr, "rollcall: %s: the run goes on without events\n", settings.OneLine(err))
	}
}

// Evaluated implements [progress.Run].
func (e *eventProgress) Evaluated(row results.CurveRow) {
	e.Run.Evaluated(row)
	if err := e.log.Row(row); err != nil {
		e.failed(errors.Join(err, e.log.Close()))
		e.log = nil
	}
}

// Stop implements [progress.Run].
func (e *eventProgress) Stop() {
	e.Run.Stop()
	e.failed(e.log.Close())
}

// KeptEvents writes the event file of a finished run that is kept, if --events asks for one.
func (l *Session) KeptEvents(r *results.Run) {
	if !l.Machine.Events {
		return
	}
	if err := events.WriteCurve(r.Dir, r.Curve, r.Info.Started); err != nil {
		Logf(l.Stderr, "rollcall: %s: kept without events\n", settings.OneLine(err))
	}
}
