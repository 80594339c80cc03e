package run

import (
	"context"
	"io"
	"time"

	"rollcall/bench/settings"
	"rollcall/results"
)

// curveFile writes a run's curve.csv anew with every evaluation, while the run goes on. Where the file system is slower
// than the run, versions are skipped: the one written next is the newest. A version that cannot be written is said, and
// no more: the next one has its rows too.
type curveFile struct {
	writeRows func(rows []results.CurveRow) error // writes a version
	path      string                              // for people
	log       io.Writer
	next      chan []results.CurveRow // the newest version, if it has not been begun; at most one
	done      chan struct{}

	// Of the writer, and of close after it.
	last []results.CurveRow // the version begun last
	err  error              // what went wrong with it
	said string             // what was said to go wrong; empty: nothing does
}

func newCurveFile(write func(rows []results.CurveRow) error, path string, log io.Writer) *curveFile {
	f := &curveFile{
		writeRows: write, path: path, log: log, next: make(chan []results.CurveRow, 1),
		done: make(chan struct{}),
	}
	go func() {
		defer close(f.done)
		for f.last = range f.next {
			f.write()
		}
	}()
	return f
}

// write writes the last version, and says what is new about how that goes.
func (f *curveFile) write() {
	f.err = f.writeRows(f.last)
	text := ""
	if f.err != nil && !isLost(f.err) {
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

// put hands over a version, whose rows stay as they are.
func (f *curveFile) put(rows []results.CurveRow) {
	select {
	case <-f.next:
	default:
	}
	f.next <- rows // there is room: nobody else puts
}

// close waits until the newest version is written, and returns what went wrong with that one. It takes a few attempts.
func (f *curveFile) close(ctx context.Context) error {
	close(f.next)
	<-f.done
	first := true
	return withRetries(ctx, func() error {
		if !first {
			f.write()
		}
		first = false
		return f.err
	})
}

// pauses are before the second and the third attempt to write what a run would be lost without.
var pauses = []time.Duration{time.Second, 3 * time.Second}

// insist does what may fail for a moment, on a file system that is full or far away, up to three times. When ctx ends
// there is no more waiting.
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
