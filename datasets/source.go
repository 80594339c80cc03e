package datasets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is how the files of a data set are published, and so how they are found, fetched, read and verified: a
// [fileSet] or an [imageTree].
type source interface {
	find(o Options) (Found, error)
	incomplete(places []string) (dir string)
	// download brings what is missing to the first place, `to`. A failure adds to notFound, which says where was
	// looked.
	download(ctx context.Context, to string, o Options, notFound error) error
	extract(ctx context.Context, found Found) error
	open(ctx context.Context, found Found, o Options) (*Set, error)
	verify(ctx context.Context, found Found) ([]FileStatus, error)
}

// Found says where a data set lies. The zero value is that of a generated set.
type Found struct {
	Dir     string // folder of the files, or the one they will be extracted to
	Archive string // the official archive, if Dir has yet to be extracted from it or the set is Packed; else empty
	Packed  bool   // Archive is read as it is, and never extracted; Dir is the folder it lies in
}

// extracted says whether the files can be read as they are.
func (f Found) extracted() bool { return f.Archive == "" || f.Packed }

// Find reports where a data set lies, without reading or downloading it. It looks into Options.Dir, $ROLLCALL_DATA and
// the user's cache directory, in this order, for the official folder, for its files themselves, and for the official
// archive. An error that is [ErrNotFound] lists the places.
func Find(name string, o Options) (Found, error) {
	l, err := lookup(name, o)
	if l.official == nil || err != nil {
		return Found{}, err
	}
	found, err := l.official.find(o)
	return found, named(name, err)
}

// Fetch makes sure that a data set lies on this machine, downloading its official files (and extracting the archive of
// a set that is read extracted) if it does not, and returns its folder (empty for a generated set). The download goes
// to the first place of [Find], under a temporary name from which it is resumed, and must have the published MD5; of a
// file without one, size and SHA-256 are recorded in a file .sha256 beside it, and any later copy must have the same.
// An archive is kept. An error of a download is [ErrNotFound], and [ErrUnavailable] as well if it was the official
// sites that did not deliver.
func Fetch(ctx context.Context, name string, o Options) (dir string, err error) {
	l, err := lookup(name, o)
	if l.official == nil || err != nil {
		return "", err
	}
	found, err := fetch(ctx, l.official, o)
	return found.Dir, named(name, err)
}

// fetch does what [Fetch] says.
func fetch(ctx context.Context, s source, o Options) (Found, error) {
	found, err := s.find(o)
	if all := places(o); err != nil && len(all) > 0 {
		if err := s.download(ctx, all[0], o, err); err != nil {
			return Found{}, err
		}
		found, err = s.find(o)
	}
	if err == nil && !found.extracted() {
		err = s.extract(ctx, found)
	}
	return found, err
}

// places returns the folders to look in: the data directory, $ROLLCALL_DATA and the user's cache, each folder once.
func places(o Options) []string {
	all := []string{o.Dir, os.Getenv("ROLLCALL_DATA")}
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, filepath.Join(cache, "rollcall"))
	}
	var kept []string
	for _, p := range all {
		if p != "" && !slices.Contains(kept, filepath.Clean(p)) {
			kept = append(kept, filepath.Clean(p))
		}
	}
	return kept
}

// layout says what a data set looks like in a place.
type layout struct {
	info    *Info
	folders []string        // names of its folder; the place itself may be the folder too
	archive remote          // a gzipped tar of all files; without a name: there is none
	packed  bool            // the archive is read as it is
	files   []publishedFile // what a folder must hold
}

// publishedFile is one file of a set.
type publishedFile struct {
	// of a file in an archive, the name alone; one that ends in .gz may lie there uncompressed, without it
	remote
	size int64  // bytes, of a file in an archive
	sum  string // "MD5 …" or "SHA-256 …", of the content uncompressed
	part int    // 0 to train on, 1 to test
}

// in returns where the file lies in a folder: under its published name if it is there, else uncompressed if that is.
func (f *publishedFile) in(dir string) string {
	path := filepath.Join(dir, f.name)
	if plain := strings.TrimSuffix(path, ".gz"); !isFile(path) && isFile(plain) {
		return plain
	}
	return path
}

// in returns the folders of a place that may hold the files.
func (l *layout) in(place string) []string {
	var dirs []string
	for _, folder := range append(slices.Clone(l.folders), ".") {
		dirs = append(dirs, filepath.Join(place, folder))
	}
	return dirs
}

func (l *layout) find(o Options) (Found, error) {
	var looked []string
	for _, p := range places(o) {
		note := ""
		for _, dir := range l.in(p) {
			missing, err := l.missing(dir)
			switch {
			case err != nil: // one place that may not be read is no reason not to look into the next
				note = fmt.Sprintf(" (%v)", err)
			case len(missing) == 0:
				return Found{Dir: dir}, nil
			case len(missing) < len(l.files):
				note = fmt.Sprintf(" (%s lacks %s)", dir, strings.Join(missing, ", "))
			}
		}
		if path := filepath.Join(p, l.archive.name); isFile(path) {
			if l.packed {
				return Found{Dir: p, Archive: path, Packed: true}, nil
			}
			return Found{Dir: filepath.Join(p, l.folders[0]), Archive: path}, nil
		}
		looked = append(looked, p+note)
	}
	if len(looked) == 0 {
		return Found{}, fmt.Errorf("%w, nowhere to look: no data directory, $ROLLCALL_DATA or user cache", ErrNotFound)
	}
	return Found{}, fmt.Errorf("%w, looked in %s", ErrNotFound, strings.Join(looked, ", "))
}

// incomplete returns the first folder that holds some of the files, "" if there is none.
func (l *layout) incomplete(places []string) string {
	for _, p := range places {
		for _, dir := range l.in(p) {
			if missing, err := l.missing(dir); err == nil && len(missing) < len(l.files) {
				return dir
			}
		}
	}
	return ""
}

// missing returns the names of the files that a folder lacks. A folder that may not be read is an error, one that does
// not exist lacks them all.
func (l *layout) missing(dir string) ([]string, error) {
	var missing []string
	for _, f := range l.files {
		switch _, err := os.Stat(f.in(dir)); {
		case err == nil:
		case errors.Is(err, fs.ErrPermission):
			return nil, err
		default:
			missing = append(missing, f.name)
		}
	}
	return missing, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
