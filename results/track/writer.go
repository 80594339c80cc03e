package track

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// ErrBusy says that another process on this machine is measuring.
var ErrBusy = errors.New("another night is being measured")

// Writer appends to the histories in a folder. A machine has at most one Writer at a time, for a whole night, because
// two measurements at the same time would slow each other down. Close or the end of the process frees the folder.
type Writer struct {
	dir  string
	lock *os.File
}

// NewWriter locks a folder of histories, and creates it if necessary. The error wraps [ErrBusy] if another process has
// the lock.
func NewWriter(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("track: %w", err)
	}
	path := filepath.Join(dir, ".lock")
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

// Close frees the folder. The lock file stays: if it were removed, two processes could hold locks on two files.
func (w *Writer) Close() error { return w.lock.Close() }

// Path returns the path of a machine's history.
func (w *Writer) Path(m Machine) string { return filepath.Join(w.dir, m.FileName()) }

// Check returns an error if a night of the machine could not be appended, because its file does not have our header.
// Callers check this before a measurement, which takes long.
func (w *Writer) Check(m Machine) error {
	_, err := w.old(m)
	return err
}

// halfWritten is appended to a last line without a line break, which makes it a bad row.
const halfWritten = ",half-written"

// Append adds a night to the history of a machine. It rewrites the file atomically, so that the file has all rows of
// the night or none. All earlier lines stay the same, byte for byte, even bad ones. A last line without a line break is
// cut off; Append marks and ends it, because the rest of its last number could be taken for a number.
func (w *Writer) Append(m Machine, n Night) error {
	old, err := w.old(m)
	if err != nil {
		return err
	}
	path := w.Path(m)
	if old == "" {
		old = header() + "\n"
	}
	if !strings.HasSuffix(old, "\n") {
		old += halfWritten + "\n"
	}
	h, _ := read(old, path) // whoever reads the history reports its bad rows
	if h != nil && slices.ContainsFunc(h.Nights, func(other Night) bool { return other.Run == n.Run }) {
		return fmt.Errorf("track: %s: run %s is in it already, want a new name", path, n.Run)
	}
	// A history is small, so rewriting it is cheap, and only a rewrite can be atomic.
	return files.WriteFile(path, func(out io.Writer) error {
		if _, err := io.WriteString(out, old); err != nil {
			return err
		}
		return encode(out, m, n)
	})
}

// old returns the content of a machine's file, or "" if there is no file.
func (w *Writer) old(m Machine) (string, error) {
	path := w.Path(m)
	text, err := files.ReadRegular(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("track: %w", err)
	}
	if len(text) > 0 {
		if err := checkHeader(string(text)); err != nil {
			return "", fmt.Errorf("track: %s: line 1: %w", path, err)
		}
	}
	return string(text), nil
}
