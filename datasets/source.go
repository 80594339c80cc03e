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

// source is how the files of a data set are published, and so how they are found, fetched and verified: an [archive]
// to be extracted, a [fileSet], or an [imageTree].
type source interface {
	layout() layout // in which it is found
	fetch(ctx context.Context, o Options) (dir string, err error)
	verify(ctx context.Context, o Options) ([]FileStatus, error)
}

// Found says where a data set lies. The zero value is that of a generated set.
type Found struct {
	Dir     string // folder of the files, or the one they will be extracted to
	Archive string // the official archive, if Dir has yet to be extracted from it or the set is Packed; else empty
	Packed  bool   // Archive is read as it is, and never extracted; Dir is the folder it lies in
}

// Find reports where a data set lies, without reading or downloading it. It looks into Options.Dir, $ROLLCALL_DATA and
// the user's cache directory, in this order, for the official folder, for its files themselves, and for the official
// archive. An error that is [ErrNotFound] lists the places.
func Find(name string, o Options) (Found, error) {
	s, err := official(name, o)
	if s == nil || err != nil {
		return Found{}, err
	}
	return s.layout().find(o)
}

// Fetch makes sure that a data set lies on this machine, downloading its official files (and extracting the archive of
// a set that is read extracted) if it does not, and returns its folder (empty for a generated set). The download goes
// to the first place of [Find], under a temporary name from which it is resumed, and must have the published MD5; of a
// file without one, size and SHA-256 are recorded in a file .sha256 beside it, and any later copy must have the same.
// An archive is kept. An error of a download is [ErrNotFound], and [ErrUnavailable] as well if it was the official
// sites that did not deliver.
func Fetch(ctx context.Context, name string, o Options) (dir string, err error) {
	s, err := official(name, o)
	if s == nil || err != nil {
		return "", err
	}
	return s.fetch(ctx, o)
}

// official returns the source of a data set, nil for a generated one.
func official(name string, o Options) (source, error) {
	l, err := lookup(name)
	if err != nil {
		return nil, err
	}
	if o.official != nil {
		return o.official, nil
	}
	return l.official, nil
}

// sourceOf returns a loader's own source, or the one that a test put in its place.
func sourceOf[S source](o Options, own S) S {
	if s, ok := o.official.(S); ok {
		return s
	}
	return own
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

// downloadTo returns the first place, to which a set is downloaded; "" if there is none, or no download.
func downloadTo(o Options) string {
	all := places(o)
	if o.Offline || len(all) == 0 {
		return ""
	}
	return all[0]
}

// layout says what a data set looks like in a place.
type layout struct {
	set     string   // for errors
	folders []string // names of its folder; the place itself may be the folder too
	archive string   // name of its archive; empty: none
	packed  bool     // the archive is read as it is
	items   int      // how many things a folder must hold
	// missing returns the names of those that a folder lacks. A folder that may not be read is an error, one that does
	// not exist lacks them all.
	missing func(dir string) ([]string, error)
}

// in returns the folders of a place that may hold the files.
func (l layout) in(place string) []string {
	var dirs []string
	for _, folder := range append(slices.Clone(l.folders), ".") {
		dirs = append(dirs, filepath.Join(place, folder))
	}
	return dirs
}

func (l layout) find(o Options) (Found, error) {
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
			case len(missing) < l.items:
				note = fmt.Sprintf(" (%s lacks %s)", dir, strings.Join(missing, ", "))
			}
		}
		if path := filepath.Join(p, l.archive); l.archive != "" && isFile(path) {
			if l.packed {
				return Found{Dir: p, Archive: path, Packed: true}, nil
			}
			return Found{Dir: filepath.Join(p, l.folders[0]), Archive: path}, nil
		}
		looked = append(looked, p+note)
	}
	if len(looked) == 0 {
		return Found{}, fmt.Errorf("datasets: %s: %w, nowhere to look: no data directory, $ROLLCALL_DATA or user cache",
			l.set, ErrNotFound)
	}
	return Found{}, fmt.Errorf("datasets: %s: %w, looked in %s", l.set, ErrNotFound, strings.Join(looked, ", "))
}

// incomplete returns the first folder that holds some of the files, "" if there is none.
func (l layout) incomplete(places []string) string {
	for _, p := range places {
		for _, dir := range l.in(p) {
			if missing, err := l.missing(dir); err == nil && len(missing) < l.items {
				return dir
			}
		}
	}
	return ""
}

// lacking returns which of the names dir lacks; see [layout].
func lacking(dir string, names []string) ([]string, error) {
	var missing []string
	for _, name := range names {
		switch _, err := os.Stat(filepath.Join(dir, name)); {
		case err == nil:
		case errors.Is(err, fs.ErrPermission):
			return nil, err
		default:
			missing = append(missing, name)
		}
	}
	return missing, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
