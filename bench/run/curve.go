package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/events"
)

// curveFile writes a run's curve.csv anew with every evaluation. It does not append, because a run that is killed while
// it writes must leave whole rows, and [results.WriteCurve] makes a file appear whole. It writes while the run goes on,
// so that a slow file system does not hold up training. If it is slower than the evaluations, versions are skipped: the
// writer always takes the newest. An error is logged only, because the next version has the same rows and more.
type curveFile struct {
	writeRows func(rows []results.CurveRow) error // writes a version
	path      string                              // for messages
	log       io.Writer
	next      chan []results.CurveRow // the newest version until the writer takes it; capacity 1
	done      chan struct{}

	// The writer owns these, and close does after the writer has ended.
	last []results.CurveRow // the last version that was begun
	err  error              // the error of writing it
	said string             // the error that was logged last; empty: writing works
}

// newCurveFile returns a curve file and starts its writer, which ends with close.
func newCurveFile(write func(rows []results.CurveRow) error, path string, log io.Writer) *curveFile {
	f := &curveFile{
		writeRows: write, path: path, log: log,
		next: make(chan []results.CurveRow, 1), done: make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		for f.last = range f.next {
			f.write()
		}
	}()
	return f
}

// write writes the last version, and logs an error when it is a new one, and that writing works again.
func (f *curveFile) write() {
	f.err = f.writeRows(f.last)
	if isOver(f.err) {
		return // the run ends, and reports it
	}
	text := ""
	if f.err != nil {
		text = settings.ErrorLine(f.err)
	}
	switch {
	case text == f.said:
	case text != "":
		Logf(f.log, "rollcall: %s: the run continues, and tries again at every evaluation\n", text)
	default:
		Logf(f.log, "rollcall: %s: written again, with all rows\n", f.path)
	}
	f.said = text
}

// put hands a version to the writer. The caller does not change these rows any more.
func (f *curveFile) put(rows []results.CurveRow) {
	select {
	case <-f.next: // the writer has not begun this version, and the new one has its rows too
	default:
	}
	f.next <- rows // there is room: nobody else puts
}

// close waits until the newest version is written, after a few attempts, and returns the error of that version.
func (f *curveFile) close(ctx context.Context) error {
	close(f.next)
	<-f.done
	first := true // the writer has made the first attempt
	return WithRetries(ctx, func() error {
		if !first {
			f.write()
		}
		first = false
		return f.err
	})
}

// pauses are the waits before the second and the third attempt of withRetries.
var pauses = []time.Duration{time.Second, 3 * time.Second}

// WithRetries calls write up to three times, until it succeeds. It is for files without which a run is lost: a full or
// remote file system often recovers within seconds. When ctx ends it does not wait any more.
func WithRetries(ctx context.Context, write func() error) error {
	err := write()
	for _, pause := range pauses {
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		err = write()
	}
	return err
}

// logging keeps lines of different goroutines apart: runs, and the writers of their files.
var logging sync.Mutex

// Logf writes to a log. It ignores errors, since a log that cannot be written is no reason to stop.
func Logf(w io.Writer, format string, args ...any) {
	logging.Lock()
	defer logging.Unlock()
	_, _ = fmt.Fprintf(w, format, args...)
}

// eventProgress is a run's progress that also writes every evaluation to an event file. An error is logged and ends the
// events, but not the run.
type eventProgress struct {
	progress.Run
	log    *events.Log // nil: no event file, and its methods do nothing
	stderr io.Writer
}

// withEvents returns a run's progress with an event file in its folder, if --events asks for one. The file begins with
// the settings in info and the rows up to now, and replaces an older file.
func (ses *Session) withEvents(
	p progress.Run, dir string, info results.RunInfo, rows []results.CurveRow,
) *eventProgress {
	e := &eventProgress{Run: p, stderr: ses.Stderr}
	var err error
	if ses.Machine.Events {
		e.log, err = events.Create(dir, info)
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
		Logf(e.stderr, "rollcall: %s: the run continues without events\n", settings.ErrorLine(err))
	}
}

func (e *eventProgress) Evaluated(row results.CurveRow) {
	e.Run.Evaluated(row)
	e.check(e.log.Row(row))
}

// check logs an error of writing events, if there is one, and ends them.
func (e *eventProgress) check(err error) {
	if err != nil {
		e.failed(errors.Join(err, e.log.Close()))
		e.log = nil
	}
}

// ended writes how the run has ended, as its run.json says.
func (e *eventProgress) ended(info results.RunInfo, rows []results.CurveRow) {
	e.check(e.log.End(info, rows))
}

// close closes the event file.
func (e *eventProgress) close() {
	e.failed(e.log.Close())
	e.log = nil
}

// KeptEvents writes the event file of a finished run that is kept, if --events asks for one.
func (ses *Session) KeptEvents(r *results.Run) {
	if !ses.Machine.Events {
		return
	}
	if err := events.Write(r.Dir, *r.Info, r.Curve); err != nil {
		Logf(ses.Stderr, "rollcall: %s: kept without events\n", settings.ErrorLine(err))
	}
}
