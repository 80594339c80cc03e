package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rollcall/results/files"
)

// fileSet describes a data set that is published as files of their own, or in an [archive].
type fileSet struct {
	set     string // name of the data set, for errors
	folders []string
	packed  string // name of the archive they are published in; empty: none
	files   []publishedFile
	// sum reads all of a file and returns its checksum, of the kind that publishedFile.sum is. An error that is no
	// *fs.PathError says what is wrong with the content.
	sum func(ctx context.Context, path string, f publishedFile) (string, error)
}

// publishedFile is one file of a set.
type publishedFile struct {
	remote        // of a file in an archive, the name alone
	size   int64  // bytes, of a file in an archive
	sum    string // "MD5 …" or "SHA-256 …", as fileSet.sum returns it
	plain  string // name of the same file uncompressed, which is as welcome; empty: there is none
}

func (s *fileSet) layout() layout {
	return layout{set: s.set, folders: s.folders, archive: s.packed, items: len(s.files), missing: s.missing}
}

// in returns where the file lies in a folder: under its published name if it is there, else plain if that is.
func (f *publishedFile) in(dir string) string {
	path := filepath.Join(dir, f.name)
	if f.plain != "" && !isFile(path) {
		if plain := filepath.Join(dir, f.plain); isFile(plain) {
			return plain
		}
	}
	return path
}

func (s *fileSet) missing(dir string) ([]string, error) {
	var names []string
	for _, f := range s.files {
		names = append(names, filepath.Base(f.in(dir)))
	}
	return lacking(dir, names)
}

// fetch downloads what is missing to the first place: into the folder there that holds some of the files, else into
// the first of the set's folders.
func (s *fileSet) fetch(ctx context.Context, o Options) (string, error) {
	found, err := s.layout().find(o)
	if err == nil {
		return found.Dir, nil
	}
	to := downloadTo(o)
	if to == "" {
		return "", err
	}
	dir := s.layout().incomplete([]string{to})
	if dir == "" {
		dir = filepath.Join(to, s.folders[0])
	}
	for i := range s.files {
		f := &s.files[i]
		if isFile(f.in(dir)) {
			continue
		}
		if err := f.bring(ctx, s.set, dir, o, err); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func (s *fileSet) verify(ctx context.Context, o Options) ([]FileStatus, error) {
	dir, err := s.layout().verifiable(o)
	if err != nil {
		return nil, err
	}
	var all []FileStatus
	for _, f := range s.files {
		path := f.in(dir)
		st := FileStatus{File: filepath.Base(path), Path: path}
		sum, err := s.sum(ctx, path, f)
		var system *fs.PathError
		var shape *lengthError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			st.Status, st.Found, st.Wanted = Missing, "no such file", f.sum
			if s.packed != "" {
				st.Wanted = fmt.Sprintf("%d bytes", f.size)
			}
		case errors.As(err, &system), s.packed != "" && errors.Is(err, errNoFile):
			return all, fmt.Errorf("datasets: %s: %w", s.set, err)
		case errors.As(err, &shape):
			st.Status, st.Found, st.Wanted = Malformed, fmt.Sprintf("%d bytes", shape.found), fmt.Sprintf("%d bytes", f.size)
		case err != nil:
			st.Status, st.Found = Malformed, strings.TrimPrefix(err.Error(), st.File+": ")
		default:
			st.Status, st.Found, st.Wanted = s.compare(f, sum)
		}
		all = append(all, st)
	}
	return all, nil
}

// compare says what a well-formed file of a checksum is as file f.
func (s *fileSet) compare(f publishedFile, sum string) (status Status, found, wanted string) {
	if sum == f.sum {
		return Official, "", f.sum
	}
	for _, other := range s.files {
		if sum == other.sum {
			return Swapped, fmt.Sprintf("%s (%s)", sum, other.name), f.sum
		}
	}
	return Altered, sum, f.sum
}

// admit returns an error unless a well-formed file at path is file f, or may differ from it.
func (s *fileSet) admit(path string, f publishedFile, sum string, o Options) error {
	if status, found, wanted := s.compare(f, sum); status != Official && !o.AllowAltered {
		return fmt.Errorf("%s: %w: %s: %s, want %s", path, ErrAltered, status, found, wanted)
	}
	return nil
}

// errNoFile ends an error about a folder or a device.
var errNoFile = errors.New("want a file")

// read reads every file that lies in a folder, as many at a time as there are cores, and admits it; do returns a file's
// checksum. Of several errors it returns the first file's, whichever failed first.
func (s *fileSet) read(dir string, o Options, do func(i int, path string, f publishedFile) (string, error)) error {
	errs := make([]error, len(s.files))
	_ = files.Parallel(context.Background(), len(s.files), func(i int) { // do ends with its own context
		f := s.files[i]
		path := f.in(dir)
		sum, err := do(i, path, f)
		if err == nil {
			err = s.admit(path, f, sum, o)
		}
		errs[i] = err
	})
	if err := cmp.Or(errs...); err != nil {
		return fmt.Errorf("datasets: %s: %w", s.set, err)
	}
	return nil
}

// openRegular opens a file and returns its size; a folder or a device is an error.
func openRegular(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %s, %w", path, info.Mode().Type(), errNoFile)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
