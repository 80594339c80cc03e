package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Status is what a file of a data set turned out to be.
type Status string

// The states of a file, best first.
const (
	Official  Status = "official"  // byte for byte as published
	Recorded  Status = "recorded"  // nothing is published to compare with; byte for byte as first downloaded
	Unchecked Status = "unchecked" // nothing is published or recorded to compare with; complete and well-formed
	Altered   Status = "altered"   // well-formed, but not as published
	Swapped   Status = "swapped"   // another official file of the set under this name
	Malformed Status = "malformed" // wrong length or content
	Missing   Status = "missing"
)

// OK reports whether a file is as good as can be known: official, or complete where no checksum is published.
func (s Status) OK() bool { return s == Official || s == Recorded || s == Unchecked }

// FileStatus is the result of checking one file.
type FileStatus struct {
	File   string // name in the official archive
	Path   string
	Status Status
	Found  string // empty if the file is official, or recorded
	Wanted string // empty if Found says it
}

// String reads "data_batch_1.bin: altered: SHA-256 1f…, want ce…".
func (s FileStatus) String() string {
	switch {
	case s.Status == Official || s.Status == Recorded:
		return fmt.Sprintf("%s: %s", s.File, s.Status)
	case s.Wanted == "":
		return fmt.Sprintf("%s: %s: %s", s.File, s.Status, s.Found)
	}
	return fmt.Sprintf("%s: %s: %s, want %s", s.File, s.Status, s.Found, s.Wanted)
}

// Verify compares every file of a data set with the published checksums, and returns one FileStatus each, in the
// order of the official archive; none for a generated set. It also looks at a folder that lacks some files, if there
// is no complete one. An error means that nothing was compared: no folder, or one that cannot be read.
func Verify(name string, o Options) ([]FileStatus, error) {
	s, err := official(name, o)
	if s == nil || err != nil {
		return nil, err
	}
	return s.verify(context.Background(), o)
}

// verifiable returns the folder to verify: the one that is found, else the first that holds any of the files.
func (l layout) verifiable(o Options) (string, error) {
	found, err := l.find(o)
	if err == nil && found.Archive == "" {
		return found.Dir, nil
	}
	if dir := l.incomplete(places(o)); dir != "" {
		return dir, nil
	}
	if err == nil {
		err = fmt.Errorf("datasets: %s: %w but as %s, want it extracted (fetch does)", l.set, ErrNotFound, found.Archive)
	}
	return "", err
}

// lengthError reports a file of the wrong length; it reads like the other errors once the data set stands before it.
type lengthError struct {
	file          string
	found, wanted int64
}

func (e *lengthError) Error() string {
	return fmt.Sprintf("%s: %d bytes, want %d", e.file, e.found, e.wanted)
}

// readOfficial reads a file that must have f's length; it is looked at before anything is read.
func readOfficial(path string, f publishedFile) ([]byte, error) {
	r, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size != f.size {
		return nil, &lengthError{f.name, size, f.size}
	}
	data := make([]byte, f.size)
	if n, err := io.ReadFull(r, data); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &lengthError{f.name, int64(n), f.size} // cut while it was read
	} else if err != nil {
		return nil, err
	}
	return data, nil
}
