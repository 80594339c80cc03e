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

// logging keeps apart what a run says and what is said of its files, which are written beside it.
var logging sync.Mutex

// Logf writes to a log. That it cannot is no reason to stop.
func Logf(w io.Writer, format string, args ...any) {
	logging.Lock()
	defer logging.Unlock()
	_, _ = fmt.Fprintf(w, format, args...)
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
	progress.Run
	log    *events.Log // nil: none
	stderr io.Writer
}

// followed returns a run's progress, with an event file in its folder where --events asks for it, which begins with the
// rows so far. One that is there already is replaced.
func (l *Session) withEvents(
	p progress.Run, dir string, started time.Time, rows []results.CurveRow,
) *eventProgress {
	e := &eventProgress{Run: p, stderr: l.Stderr}
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

func (e *eventProgress) failed(err error) {
	if err != nil {
		Logf(e.stderr, "rollcall: %s: the run goes on without events\n", settings.OneLine(err))
	}
}

func (e *eventProgress) Evaluated(row results.CurveRow) {
	e.Run.Evaluated(row)
	if err := e.log.Row(row); err != nil {
		e.failed(errors.Join(err, e.log.Close()))
		e.log = nil
	}
}

func (e *eventProgress) Stop() {
	e.Run.Stop()
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
