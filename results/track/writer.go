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

	"rollcall/results/files"
)

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

// Close lets others write. The file stays: to delete it would let two in.
func (w *Writer) Close() error { return w.lock.Close() }

// Path is where the writer keeps the history of a machine.
func (w *Writer) Path(m Machine) string { return filepath.Join(w.dir, m.FileName()) }

// Check reports whether a night of the machine could be appended, so that nobody measures for nothing: its file, if
// there is one, must have our header.
func (w *Writer) Check(m Machine) error {
	_, err := w.old(m)
	return err
}

// halfWritten is put behind a line that has no end.
const halfWritten = ",half-written"

// Append adds a night to the history of a machine. The file is rewritten atomically: it has all of the night or
// nothing. What was in it stays as it was, byte for byte, even lines that no history should have; a last line that is
// half written is ended, and marked: what is left of its last number would pass for one.
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
	h, _ := read(old, path) // what is bad in it is not ours to tell
	if h != nil && slices.ContainsFunc(h.Nights, func(other Night) bool { return other.Run == n.Run }) {
		return fmt.Errorf("track: %s: run %s is in it already, want a new name", path, n.Run)
	}
	return files.WriteFile(path, func(out io.Writer) error {
		if _, err := io.WriteString(out, old); err != nil {
			return err
		}
		return encode(out, m, n)
	})
}

// old returns what the file of a machine holds, empty where there is none.
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
