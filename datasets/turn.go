package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"rollcall/internal/files"
)

// turn is the right to download a file, or to extract it, which one process at a time has. The process holds a lock on
// the file PATH.lock, and removes the file at the end. A process that waited has the removed file still open, and finds
// in it the error of the other; the file is empty if that succeeded or was interrupted. On a file system without locks
// nobody waits, and a download that two processes wrote at the same time fails its checksum.
type turn struct {
	lock *os.File
	held bool // false on a file system without locks
}

// turnPause is the time between two tries of a waiting process to take the lock.
const turnPause = 100 * time.Millisecond

// The first word of a lock file after a failed download.
const (
	turnUnavailable = "unavailable"
	turnAltered     = "altered"
)

// takeTurn waits until no other process downloads or extracts the file at path, and reports to progress that it waits.
// If the other process failed, takeTurn returns an error of the same kind.
func takeTurn(ctx context.Context, path string, progress io.Writer) (*turn, error) {
	said := false
	for {
		f, err := openOwn(path + ".lock")
		if err != nil {
			return nil, err
		}
		held := false
		for {
			if held, err = files.TryLock(f); err == nil {
				break
			}
			if !said {
				say(progress, "%s: another process is downloading or extracting it, waiting for that", path)
				said = true
			}
			select {
			case <-time.After(turnPause):
			case <-ctx.Done():
				return nil, errors.Join(ctx.Err(), f.Close())
			}
		}
		if isAt(f, path+".lock") {
			return &turn{f, held}, nil
		}
		text, err := io.ReadAll(f) // the file was removed: the other process has ended its turn
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if len(text) > 0 {
			kind, what, _ := strings.Cut(string(text), " ")
			cause := ErrUnavailable
			if kind == turnAltered {
				cause = ErrAltered
			}
			return nil, fmt.Errorf("%s: %w: another process has tried: %s", path, cause, what)
		}
	}
}

// openOwn opens a file of this package, or makes it. A link in its place could lead to any file of the user.
func openOwn(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: a link or a folder, want a file or nothing", path)
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
}

func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(mine, other)
}

// end gives the turn to the next process. If the download failed, it writes the error for the processes that wait now.
func (t *turn) end(failed error) error {
	path := t.lock.Name()
	if err := os.Remove(path); err != nil { // the empty file stays, and the next process locks it
		return errors.Join(err, t.lock.Close())
	}
	kind := ""
	switch {
	case errors.Is(failed, ErrUnavailable): // comes first: with several addresses the error may be both
		kind = turnUnavailable
	case errors.Is(failed, ErrAltered):
		kind = turnAltered
	default:
		return t.lock.Close()
	}
	_, err := fmt.Fprintf(t.lock, "%s %v", kind, failed)
	return errors.Join(err, t.lock.Close())
}
