package run

import (
	"rollcall/results"
)

// curveFile writes a run's curve.csv anew with every evaluation, while the run goes on. Where the file system is slower
// than the run, versions are skipped: the one written next is the newest.
type curveFile struct {
	path   string
	next   chan []results.CurveRow // the newest version, if it has not been begun; at most one
	failed chan error              // the first error, until somebody takes it
	done   chan struct{}
}

func newCurveFile(path string) *curveFile {
	f := &curveFile{
		path: path, next: make(chan []results.CurveRow, 1), failed: make(chan error, 1), done: make(chan struct{}),
	}
	go f.write()
	return f
}

func (f *curveFile) write() {
	defer close(f.done)
	for rows := range f.next {
		if err := results.WriteCurve(f.path, rows); err != nil {
			f.failed <- err
			break
		}
	}
}

// put hands over a version, whose rows stay as they are, and returns what went wrong with an earlier one.
func (f *curveFile) put(rows []results.CurveRow) error {
	select {
	case <-f.next:
	default:
	}
	f.next <- rows // there is room: nobody else puts
	return f.failure()
}

// close waits until the newest version is written, and returns what went wrong if put has not.
func (f *curveFile) close() error {
	close(f.next)
	<-f.done
	return f.failure()
}

func (f *curveFile) failure() error {
	select {
	case err := <-f.failed:
		return err
	default:
		return nil
	}
}
