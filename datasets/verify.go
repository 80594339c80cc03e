package datasets

import (
	"context"
	"fmt"
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
			return nil, named(name, fmt.Errorf("%w but as %s, want it extracted (fetch does)", ErrNotFound,
				found.Archive))
		case dir == "":
			return nil, named(name, err)
		}
		found = Found{Dir: dir}
	}
	all, err := s.verify(context.Background(), found)
	return all, named(name, err)
}
