package track

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rollcall/results/files"
)

// lockName is the file of a folder of histories that the one who measures holds.
const lockName = ".lock"

// ErrBusy says that another process measures, or writes the history.
var ErrBusy = errors.New("another night is being measured")

// Writer may append to the histories of a folder. There is one at a time on a machine, for the whole of its night: two
// that measure at once would slow each other down. Close lets go; so does the end of the process, however it comes.
type Writer struct {
	dir  string
	lock *os.File
}

// NewWriter takes a folder of histories, which it creates if there is none. The error is [ErrBusy] if somebody else has
// it.
func NewWriter(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("track: %w", err)
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("track: %w", err)
	}
	if err := files.Lock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("track: %s: %w", path, ErrBusy)
	}
	return &Writer{dir, f}, nil
}

// Close lets others write. The file stays: to delete it would let two in.
func (w *Writer) Close() error { return w.lock.Close() }
