package datasets

import (
	"context"
	"fmt"
)

// Status is the result of checking a file of a data set.
type Status string

// The states of a file, best first.
const (
	Official  Status = "official"  // has the published checksum
	Recorded  Status = "recorded"  // no checksum is published; the same bytes as the first download
	Unchecked Status = "unchecked" // no checksum is published or recorded; complete and well-formed
	Altered   Status = "altered"   // well-formed, but with another checksum
	Swapped   Status = "swapped"   // another official file of the set under this name
	Malformed Status = "malformed" // wrong length or content
	Missing   Status = "missing"
)

// OK reports whether nothing is known to be wrong with a file: it is official, or complete without a published
// checksum.
func (s Status) OK() bool { return s == Official || s == Recorded || s == Unchecked }

// FileStatus is the result of checking one file.
type FileStatus struct {
	File   string // name in the official archive
	Path   string
	Status Status
	Found  string // empty if the file is official, or recorded
	Wanted string // empty if Found is enough
}

// String returns a line like "data_batch_1.bin: altered: SHA-256 1f…, want ce…".
func (s FileStatus) String() string {
	switch {
	case s.Status == Official || s.Status == Recorded:
		return fmt.Sprintf("%s: %s", s.File, s.Status)
	case s.Wanted == "":
		return fmt.Sprintf("%s: %s: %s", s.File, s.Status, s.Found)
	}
	return fmt.Sprintf("%s: %s: %s, want %s", s.File, s.Status, s.Found, s.Wanted)
}

// Verify compares every file of a data set with its published checksum, and returns a FileStatus for each, in the order
// of the official archive; nil for a generated set. If no folder is complete, it checks a folder that lacks some files.
// An error means that there is no folder or that it cannot be read, and that nothing was compared.
func Verify(name string, o Options) ([]FileStatus, error) {
	l, err := lookup(name, o)
	if l.official == nil || err != nil {
		return nil, err
	}
	s := l.official
	found, err := s.find(o)
	if err != nil || !found.extracted() {
		dir := s.incomplete(places(o))
		switch {
		case dir == "" && err == nil:
			return nil,
				named(name, fmt.Errorf("%w but as %s, want it extracted (fetch does)", ErrNotFound, found.Archive))
		case dir == "":
			return nil, named(name, err)
		}
		found = Found{Dir: dir}
	}
	all, err := s.verify(context.Background(), found)
	return all, named(name, err)
}
