package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rollcall/results/files"
)

// turn is how often a process looks whether another one has finished the run that both want.
const turn = 100 * time.Millisecond

// Alone waits until no other process makes the run, which is finished then as a rule, and keeps others waiting until
// release: two at once would write over each other's curve. Where the file system cannot lock a folder nobody waits.
func (x *Experiment) Alone(ctx context.Context, l *Session) (release func(), err error) {
	for {
		made := missing(x.Dir)
		if os.MkdirAll(x.Dir, 0o777) != nil {
			return func() {}, nil // who writes there says what is wrong
		}
		f, err := os.Open(x.Dir)
		if err != nil {
			return func() {}, nil //nolint:nilerr // likewise
		}
		release = func() {
			for _, dir := range made {
				_ = os.Remove(dir) // if nothing came of the run
			}
			_ = f.Close() // nothing was written
		}
		busy := files.Lock(f)
		if busy == nil && isAt(f, x.Dir) {
			return release, nil
		}
		_ = f.Close()
		if busy == nil {
			continue // it was removed, since nothing had come of it
		}
		l.notice(x.Dir, x.Dir+": another process makes this run: waits for it")
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(turn):
		}
	}
}

// isAt reports whether a file that is open is the one at a path.
func isAt(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// missing returns the folders down to dir that are not there, dir the first.
func missing(dir string) (dirs []string) {
	for ; !slices.Contains(dirs, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append(dirs, dir)
	}
	return dirs
}
