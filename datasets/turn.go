package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"rollcall/results/files"
)

// turn is the right to download a file, which one process at a time has: whoever has locked the file PATH.lock. It is
// removed at the end. Who has waited for it still holds the removed file, and reads there what became of the download:
// nothing of one that ended well or was interrupted, else the error. Where the file system cannot lock, nobody waits,
// and what two processes wrote to does not pass its checksum.
type turn struct{ lock *os.File }

// turnPause is how often a process that waits looks.
const turnPause = 100 * time.Millisecond

// What a lock file begins with after a failure.
const (
	turnUnavailable = "unavailable"
	turnAltered     = "altered"
)

// takeTurn waits until no other process downloads the file at path, and says so once. That the other one failed is an
// error of the same kind.
func takeTurn(ctx context.Context, path string, progress io.Writer) (*turn, error) {
	said := false
	for {
		f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		for files.Lock(f) != nil {
			if !said {
				say(progress, "%s: another process is downloading it, waiting for that", path)
				said = true
			}
			select {
			case <-time.After(turnPause):
			case <-ctx.Done():
				return nil, errors.Join(ctx.Err(), f.Close())
			}
		}
		if isAt(f, path+".lock") {
			return &turn{f}, nil
		}
		text, err := io.ReadAll(f) // the process that had it has ended
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if len(text) > 0 {
			kind, what, _ := strings.Cut(string(text), " ")
			of := ErrUnavailable
			if kind == turnAltered {
				of = ErrAltered
			}
			return nil, fmt.Errorf("%s: %w: another process has tried: %s", path, of, what)
		}
	}
}

// isAt reports whether the file at a path is f.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// end lets the next process have its turn, and says to those that wait now how the download failed, if it did.
func (t *turn) end(failed error) error {
	path := t.lock.Name()
	if err := os.Remove(path); err != nil { // it stays, empty, and the next process takes it
		return errors.Join(err, t.lock.Close())
	}
	kind := ""
	switch {
	case errors.Is(failed, ErrUnavailable): // which several addresses may be beside altered
		kind = turnUnavailable
	case errors.Is(failed, ErrAltered):
		kind = turnAltered
	default:
		return t.lock.Close()
	}
	_, err := fmt.Fprintf(t.lock, "%s %v", kind, failed)
	return errors.Join(err, t.lock.Close())
}
