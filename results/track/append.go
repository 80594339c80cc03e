package track

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"rollcall/results/files"
)

// Path is where the writer keeps the history of a machine.
func (w *Writer) Path(m Machine) string { return filepath.Join(w.dir, m.FileName()) }

// Check reports whether a night of the machine could be appended, so that nobody measures for nothing: the machine must
// be known, and its file, if there is one, have our header.
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
	if err := n.validate(); err != nil {
		return fmt.Errorf("track: run %q: %w", n.Run, err)
	}
	old, err := w.old(m)
	if err != nil {
		return err
	}
	path := w.Path(m)
	if len(old) == 0 {
		old = []byte(header() + "\n")
	}
	if old[len(old)-1] != '\n' {
		old = append(old, halfWritten+"\n"...)
	}
	h, _ := read(bytes.NewReader(old), path) // what is bad in it is not ours to tell
	if h != nil {
		for _, other := range h.Nights {
			if other.Run == n.Run {
				return fmt.Errorf("track: %s: run %s is in it already, want a new name", path, n.Run)
			}
		}
	}
	return files.WriteFile(path, func(out io.Writer) error {
		if _, err := out.Write(old); err != nil {
			return err
		}
		return encode(out, m, n)
	})
}

// old returns what the file of a machine holds.
func (w *Writer) old(m Machine) ([]byte, error) {
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("track: %w", err)
	}
	path := w.Path(m)
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("track: %w", err)
	}
	first, _, _ := bytes.Cut(old, []byte("\n"))
	if first = bytes.TrimRight(first, "\r"); len(old) > 0 && string(first) != header() {
		return nil, fmt.Errorf("track: %s: line 1: %w", path, headerError(string(first)))
	}
	return old, nil
}

// validate reports what a reader would not take.
func (n Night) validate() error {
	switch {
	case n.Run == "" || n.Time.IsZero():
		return errors.New("no name or no time, want both")
	case len(n.Values) == 0:
		return errors.New("no measurement, want one at least")
	}
	seen := map[string]bool{}
	for _, v := range n.Values {
		switch {
		case v.Metric == "" || v.Unit == "":
			return errors.New("metric without a name or a unit, want both")
		case seen[v.Metric]:
			return fmt.Errorf("metric %s twice, want it once", v.Metric)
		case len(v.Samples) == 0:
			return fmt.Errorf("metric %s: no sample, want one at least", v.Metric)
		}
		seen[v.Metric] = true
		for _, x := range v.Samples {
			if !(x > 0) || x > 1e300 {
				return fmt.Errorf("metric %s: sample %g, want a positive number", v.Metric, x)
			}
		}
	}
	return nil
}
