package run

import (
	"context"
	"io"
	"time"

	"rollcall/bench/settings"
	"rollcall/results"
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
	text := ""
	if f.err != nil && !isLost(f.err) { // a lost run ends, and its caller reports the loss
		text = settings.OneLine(f.err)
	}
	switch {
	case text == f.said:
	case text != "":
		Logf(f.log, "rollcall: %s: the run goes on, and tries again with every evaluation\n", text)
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
	return withRetries(ctx, func() error {
		if !first {
			f.write()
		}
		first = false
		return f.err
	})
}

// pauses are the waits before the second and the third attempt of withRetries.
var pauses = []time.Duration{time.Second, 3 * time.Second}

// withRetries calls write up to three times, until it succeeds. It is for files without which a run is lost: a full or
// remote file system often recovers within seconds. When ctx ends it does not wait any more.
func withRetries(ctx context.Context, write func() error) error {
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
