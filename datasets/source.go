package datasets

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"rollcall/internal/files"
)

// source describes the official files of one data set, and finds, downloads, reads and verifies them. A set is
// published as several files, as an archive from which the files are extracted, or as an archive of pictures, which is
// read itself.
type source struct {
	info    *Info
	folders []string        // possible names of its folder; the files may also be in the place itself
	archive publishedFile   // a gzipped tar archive of all files; without a name, there is none
	files   []publishedFile // the files that a complete folder has
	// parse reads the content of file f, of at most `size` bytes: images [n,H,W,C], labels [n], or both. It stores them
	// in the slices of room if these are not nil, and returns them. A set of pictures has none.
	parse func(r io.Reader, size int64, f publishedFile, room content) (images, labels []uint8, err error)

	record  int               // bytes of a record in files of records; 0: files of another kind
	foreign map[string]string // checksums of files that have the same names in another set, see [namesakes]

	byWriter   bool   // the set is two folders of LEAF's JSON files, see [source.openWriters]
	samples    [2]int // samples of each part of the official set
	ofPictures bool   // the set is an archive or a folder of pictures, see [pictures]; files are the folders of classes
	perClass   int    // pictures of each class in each part of the official set
}

// Found says where a data set is on disk. A generated set has the zero value.
type Found struct {
	Dir     string // the folder of the files, or the folder to which they will be extracted
	Archive string // the official archive, if the set is Packed or is still to be extracted; otherwise empty
	Packed  bool   // Archive is read itself and never extracted; Dir is its folder
}

// extracted reports whether the set can be read without extracting an archive.
func (f Found) extracted() bool { return f.Archive == "" || f.Packed }

// Find returns where a data set is, without reading or downloading it. It searches Options.Dir, $ROLLCALL_DATA and the
// user's cache directory, in this order. In each it looks for the official folder, for the files of that folder, and
// for the official archive. If the set is nowhere, the error wraps [ErrNotFound] and lists the places.
func Find(name string, o Options) (Found, error) {
	l, err := lookup(name, o)
	if l.official == nil || err != nil {
		return Found{}, err
	}
	found, err := l.official.find(o)
	return found, named(name, err)
}

// Fetch returns the folder of a data set, which is empty for a generated set. If the set is not on this machine, Fetch
// downloads its official files, and extracts the archive if the set is not read from the archive itself. It keeps the
// archive.
//
// Downloads go to the first place of [Find], under a temporary name, so that an interrupted download can continue. They
// must have the published MD5. If none is published, the first download records size and SHA-256 in a file .sha256
// beside the file, and later copies must have the same. If a download fails, the error wraps [ErrNotFound], and also
// [ErrUnavailable] if the official sites are to blame.
func Fetch(ctx context.Context, name string, o Options) (dir string, err error) {
	l, err := lookup(name, o)
	if l.official == nil || err != nil {
		return "", err
	}
	found, err := fetch(ctx, l.official, o)
	return found.Dir, named(name, err)
}

func fetch(ctx context.Context, s *source, o Options) (Found, error) {
	found, err := s.find(o)
	if all := places(o); err != nil && len(all) > 0 {
		if mistake(all[0]) != "" && placeNote(all[0]) != "" {
			return Found{}, fmt.Errorf("%w; nothing is downloaded to a folder of such a name", err)
		}
		if err := s.download(ctx, all[0], o, err); err != nil {
			return Found{}, err
		}
		found, err = s.find(o)
	}
	if err == nil && !found.extracted() {
		err = s.extract(ctx, found, o)
	}
	return found, err
}

// placeNote says why nothing is to be found in a place; "": it is a folder.
func placeNote(place string) string {
	switch info, err := os.Stat(place); {
	case errors.Is(err, fs.ErrNotExist):
		return " (no such folder" + mistake(place) + ")"
	case err == nil && !info.IsDir():
		return " (a file, want a folder)"
	}
	return "" // other errors are said of the folders in it
}

// mistake says why the name of a folder that does not exist is hardly the one that was meant; "": it may be. The
// folders that do exist have the names that they have.
func mistake(place string) string {
	there := place
	for parent := filepath.Dir(there); !isFolder(there) && parent != there; parent = filepath.Dir(there) {
		there = parent
	}
	rest, err := filepath.Rel(there, place)
	if err != nil {
		return ""
	}
	list := regexp.MustCompile(`[` + string(os.PathListSeparator) + `]|[,;][^/]*[/~$]`)
	for name := range strings.SplitSeq(rest, string(filepath.Separator)) {
		switch {
		case strings.HasPrefix(name, "~"):
			return ": ~ is its name here, since the shell replaces no ~ in quotes: want the whole path"
		case strings.HasPrefix(name, "$"):
			return ": the name has a $, since nothing has put the value of the variable there: want the whole path"
		case strings.HasPrefix(name, `"`) || strings.HasPrefix(name, "'"):
			return ": the quotation marks are part of the name: want it without"
		case strings.TrimSpace(name) != name:
			return ": the name begins or ends with a space: want it without"
		}
	}
	if list.MatchString(rest) {
		return ": want one, and not a list"
	}
	return ""
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// places returns the folders to search: the data directory, $ROLLCALL_DATA and the user's cache, each once.
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

// in returns the path of the file in a folder, under the first of its names that exists: the published name, the name
// of the uncompressed file, or one that it has elsewhere.
func (f *publishedFile) in(dir string) string {
	for _, name := range append([]string{f.name}, f.also...) {
		path := filepath.Join(dir, name)
		for _, path := range []string{path, strings.TrimSuffix(path, ".gz")} {
			if isFile(path) {
				return path
			}
		}
	}
	return filepath.Join(dir, f.name)
}

// in returns the folders of a place that may have the files.
func (s *source) in(place string) []string {
	var dirs []string
	for _, folder := range append(slices.Clone(s.folders), ".") {
		dirs = append(dirs, filepath.Join(place, folder))
	}
	return dirs
}

// find searches the places in order, and says in the error which files an incomplete folder lacks.
func (s *source) find(o Options) (Found, error) {
	var looked []string
	for _, p := range places(o) {
		note := placeNote(p)
		for _, dir := range s.in(p) {
			missing, err := s.missing(dir)
			switch {
			case err != nil: // an unreadable place does not end the search
				note = fmt.Sprintf(" (%v)", err)
			case len(missing) == 0:
				return Found{Dir: dir}, nil
			case len(missing) < len(s.files):
				note = fmt.Sprintf(" (%s lacks %s)", dir, strings.Join(missing, ", "))
			}
		}
		// The folders come before the archive, which may have to be extracted first.
		if path := s.archive.in(p); s.archive.name != "" && isFile(path) {
			if s.ofPictures {
				return Found{Dir: p, Archive: path, Packed: true}, nil
			}
			return Found{Dir: filepath.Join(p, s.folders[0]), Archive: path}, nil
		}
		if dir := s.deeper(p); note == "" && dir != "" {
			note = fmt.Sprintf(" (some of it is in %s)", dir)
		}
		if note == "" {
			note = s.strangers(p)
		}
		looked = append(looked, p+note)
	}
	if len(looked) == 0 {
		return Found{}, fmt.Errorf("%w, nowhere to look: no data directory, $ROLLCALL_DATA or user cache", ErrNotFound)
	}
	return Found{}, fmt.Errorf("%w, looked in %s", ErrNotFound, strings.Join(looked, ", "))
}

// deeper returns a folder further down in a place that has some of the files, such as those that an archive of others
// was extracted to; "": none has.
func (s *source) deeper(place string) string {
	const depth, most = 2, 100 // levels, and folders of each, as a place may be any folder
	level := []string{place}
	for range depth {
		var next []string
		for _, dir := range level {
			entries, _ := os.ReadDir(dir) // nothing, if it cannot be read
			for _, e := range entries {
				if e.IsDir() && !isLitter(e.Name()) && len(next) < most {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		if dir := s.incomplete(next); dir != "" {
			return dir
		}
		level = next
	}
	return ""
}

// strangers names what lies in a place and may have been meant as the set; "": nothing does. Others ship a set in files
// of other names and formats.
func (s *source) strangers(place string) string {
	if s.byWriter { // files of any name
		return ""
	}
	words := map[string]bool{s.info.Name: true}
	for _, name := range append([]string{s.archive.name, strings.Join(s.folders, "-")}, s.folders...) {
		addWords(words, name)
	}
	for _, f := range s.files {
		addWords(words, f.name)
	}
	var tops []string // an own folder, in which nothing of the set is, or one of another set
	for _, l := range loaders {
		if l.official != nil {
			for _, folder := range l.official.folders {
				top, _, _ := strings.Cut(folder, string(filepath.Separator))
				tops = append(tops, top)
			}
		}
	}
	own := func(name string) bool { return slices.Contains(tops, name) }
	var found []string
	for _, dir := range s.in(place) {
		entries, _ := os.ReadDir(dir) // nothing, if it cannot be read
		for _, e := range entries {
			if slices.Contains([]string{partSuffix, ".lock", ".sha256", ".cache"}, filepath.Ext(e.Name())) { // are ours
				continue
			}
			of := map[string]bool{}
			addWords(of, e.Name())
			for word := range of {
				if words[word] && !isLitter(e.Name()) && !own(e.Name()) {
					found = append(found, filepath.Join(filepath.Base(dir), e.Name()))
					break
				}
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	const most = 5
	slices.Sort(found)
	more := ""
	if n := len(found); n > most {
		found, more = found[:most], fmt.Sprintf(" and %d more", n-most)
	}
	wants := s.archive.name
	if wants == "" {
		wants = s.files[0].name
	}
	return fmt.Sprintf(" (has %s%s, want %s or what it holds)", strings.Join(found, ", "), more, wants)
}

// addWords adds the words of a file's name of four letters or more, but those that any set may have.
func addWords(words map[string]bool, name string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if len(word) >= 4 && !slices.Contains([]string{"data", "test", "tar", "binary", "batch"}, word) {
			words[word] = true
		}
	}
}

// download downloads the archive, or the missing files. The files go to the folder that has some of them, or to the
// first of the set's folders. If that fails, the error also says notFound, which lists the folders that were searched.
func (s *source) download(ctx context.Context, to string, o Options, notFound error) error {
	if by := s.info.ByHand; by != "" {
		return fmt.Errorf("%w; nobody publishes it: %s", notFound, by)
	}
	if s.archive.name != "" {
		archive := s.archive
		archive.wellFormed = s.allPictures
		return archive.bring(ctx, to, o, notFound)
	}
	dir := cmp.Or(s.incomplete([]string{to}), filepath.Join(to, s.folders[0]))
	for _, f := range s.files {
		if isFile(f.in(dir)) {
			continue
		}
		if err := f.bring(ctx, dir, o, notFound); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) open(ctx context.Context, found Found, o Options) (*Set, error) {
	switch {
	case s.ofPictures:
		return s.openPictures(ctx, found, o)
	case s.byWriter:
		return s.openWriters(ctx, found, o)
	}
	return s.openFiles(ctx, found, o)
}

func (s *source) verify(ctx context.Context, found Found) ([]FileStatus, error) {
	switch {
	case s.ofPictures:
		return s.verifyPictures(ctx, found)
	case s.byWriter:
		return s.verifyWriters(ctx, found)
	}
	return s.verifyFiles(ctx, found)
}

// incomplete returns the first folder that has some of the files; "" if there is none.
func (s *source) incomplete(places []string) string {
	for _, p := range places {
		for _, dir := range s.in(p) {
			if missing, err := s.missing(dir); err == nil && len(missing) < len(s.files) {
				return dir
			}
		}
	}
	return ""
}

// missing returns the names of the files that a folder lacks; a folder that does not exist lacks all. A folder without
// read permission is an error, and one that has files of another set under these names.
func (s *source) missing(dir string) ([]string, error) {
	var missing []string
	for _, f := range s.files {
		switch _, err := os.Stat(f.in(dir)); {
		case err == nil && s.byWriter && len(jsonFiles(filepath.Join(dir, f.name))) == 0:
			missing = append(missing, f.name+"/*.json")
		case err == nil:
		case errors.Is(err, fs.ErrPermission):
			return nil, err
		default:
			missing = append(missing, f.name)
		}
	}
	if other := s.namesake(dir); other != "" {
		return nil, fmt.Errorf("%s has %s", dir, other)
	}
	return missing, nil
}

func bySize(a, b publishedFile) int { return cmp.Compare(a.length, b.length) }

// namesake returns which file of another set a folder has under a name of this one, as the smallest file there says by
// its checksum; "": none.
func (s *source) namesake(dir string) string {
	if s.foreign == nil {
		return ""
	}
	for _, f := range slices.SortedFunc(slices.Values(s.files), bySize) {
		if path := f.in(dir); isFile(path) {
			sum, _ := s.read(context.Background(), path, f, &content{}) // no sum, if it is no file of such a set
			return s.foreign[sum]
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

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
func Verify(ctx context.Context, name string, o Options) ([]FileStatus, error) {
	l, err := lookup(name, o)
	if f := l.own; f != nil {
		_, err := l.open(ctx, o)
		status := FileStatus{File: filepath.Base(f.path), Path: f.path, Status: Unchecked, Found: f.String()}
		return []FileStatus{status}, named(name, err)
	}
	if l.official == nil || err != nil {
		return nil, err
	}
	s := l.official
	found, err := s.find(o)
	in := places(o)
	if err == nil { // the folder of an archive may have some of its files already
		in = []string{filepath.Dir(found.Archive)}
	}
	if dir := s.incomplete(in); dir != "" && (err != nil || !found.extracted()) {
		found, err = Found{Dir: dir}, nil
	}
	var all []FileStatus
	switch {
	case err != nil:
	case found.extracted():
		all, err = s.verify(ctx, found)
	default:
		all, err = s.verifyArchive(ctx, found)
	}
	return all, named(name, err)
}

// verifyArchive compares an archive that is not extracted with its published checksum, or else the files in it with
// theirs: whoever has packed the official files has another archive of them.
func (s *source) verifyArchive(ctx context.Context, found Found) ([]FileStatus, error) {
	file := filepath.Base(found.Archive)
	differs, err := s.differs(ctx, found.Archive)
	if err != nil || differs == nil {
		return []FileStatus{{File: file, Path: found.Archive, Status: Official}}, err
	}
	all := make([]FileStatus, len(s.files))
	for i, f := range s.files {
		all[i] = FileStatus{
			File: file + ": " + f.name, Path: found.Archive, Status: Missing,
			Found: "not in the archive", Wanted: f.sum,
		}
	}
	err = s.walkArchive(ctx, found.Archive, func(i int, h *tar.Header, r io.Reader) error {
		if i < 0 {
			return nil
		}
		sum, err := s.readFrom(r, h.Size, s.expecting(s.files[i], false), &content{})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.judge(&all[i], "", s.files[i], sum, err)
		return nil
	})
	if err != nil {
		all = []FileStatus{{
			File: file, Path: found.Archive, Status: Malformed, Found: fmt.Sprintf("%v; in it: %v", differs, err),
		}}
	}
	return all, ctx.Err()
}

// differs says how an archive differs from the official one, by its length or its checksum; nil: it is that one.
func (s *source) differs(ctx context.Context, archive string) (differs, err error) {
	f, size, err := openArchive(archive)
	if err != nil {
		return nil, err
	}
	f.Close()
	if size != s.archive.length {
		return fmt.Errorf("%w: %d bytes, want %d", ErrAltered, size, s.archive.length), nil
	}
	sum, err := sumFile(ctx, archive, md5.New())
	if err == nil && sum != s.archive.md5 {
		differs = fmt.Errorf("%w: MD5 %s, want %s", ErrAltered, sum, s.archive.md5)
	}
	return differs, err
}

// maxExtra is the size in bytes up to which other files in an archive are extracted too: a readme, the names of the
// classes.
const maxExtra = 1 << 20

// extract extracts the folder of an archive to found.Dir. It checks the archive, or else the files in it: whoever has
// packed the official files has another archive of them. It extracts to a temporary folder first, so that a broken
// archive leaves no files. It does not replace files that found.Dir has already. One process at a time does this.
func (s *source) extract(ctx context.Context, found Found, o Options) (err error) {
	mine, err := takeTurn(ctx, found.Archive, o.Progress)
	if err != nil {
		return fmt.Errorf("extract %s: %w", found.Archive, err)
	}
	defer func() { err = joinLine(err, mine.end(err)) }()
	if missing, err := s.missing(found.Dir); err == nil && len(missing) == 0 { // another process has extracted it
		return nil
	}
	place, temporary := filepath.Dir(found.Dir), "."+s.folders[0]+"-*.tmp"
	if mine.held { // what is left is of a process that was killed
		left, _ := fs.Glob(os.DirFS(place), temporary) // the pattern is well formed
		for _, name := range left {
			_ = os.RemoveAll(filepath.Join(place, name))
		}
	}
	differs, err := s.differs(ctx, found.Archive)
	if err != nil {
		return fmt.Errorf("extract %s: %w", found.Archive, err)
	}
	temp, err := os.MkdirTemp(place, temporary)
	if err == nil {
		defer os.RemoveAll(temp)
		err = s.unpack(ctx, found.Archive, temp, differs == nil)
		switch {
		case err != nil:
		case differs != nil:
			err = s.checkFiles(ctx, temp, o)
		default:
			err = s.recordFiles(ctx, temp)
		}
		var system syscall.Errno // such as that of a full disk, which says nothing of the archive
		if err != nil && differs != nil && ctx.Err() == nil && !errors.As(err, &system) {
			err = fmt.Errorf("%w; in it: %w", differs, err)
		}
	}
	if err == nil {
		err = moveMissing(temp, found.Dir)
	}
	if err != nil {
		return fmt.Errorf("extract %s: %w", found.Archive, err)
	}
	return nil
}

// checkFiles returns an error unless the files in a folder are the official ones, or the options allow altered files.
func (s *source) checkFiles(ctx context.Context, dir string, o Options) error {
	all, err := s.verifyFiles(ctx, Found{Dir: dir})
	if err != nil {
		return err
	}
	for _, f := range all {
		if !f.Status.OK() && (f.Status != Altered && f.Status != Swapped || !o.AllowAltered) {
			return errors.New(f.String())
		}
	}
	return nil
}

// recordFiles records the files in a folder of which no checksum is published, after they come from the archive whose
// checksum is.
func (s *source) recordFiles(ctx context.Context, dir string) error {
	for _, f := range s.files {
		if f.sum != "" {
			continue
		}
		path := filepath.Join(dir, f.name)
		r, err := recordOf(ctx, path)
		if err == nil {
			err = writeRecord(path, "as extracted from "+s.archive.url, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walkArchive calls visit for every file in an archive, with the number of the file of the set that has the last
// element of its path as its name; −1: none has. It is an error if one comes twice.
func (s *source) walkArchive(
	ctx context.Context, archive string, visit func(i int, h *tar.Header, content io.Reader) error,
) error {
	f, _, err := openArchive(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	seen := make([]bool, len(s.files))
	return walkTar(&contextReader{ctx, f}, func(h *tar.Header, content io.Reader) error {
		if h.Typeflag != tar.TypeReg {
			return nil
		}
		i := slices.IndexFunc(s.files, func(f publishedFile) bool { return f.name == path.Base(h.Name) })
		if i >= 0 && seen[i] {
			return fmt.Errorf("%s: twice in the archive", s.files[i].name)
		}
		if i >= 0 {
			seen[i] = true
		}
		return visit(i, h, content)
	})
}

// unpack writes the files of an archive to dir: of the official one those of its folder, of another one the files of
// the set in whatever folder. It uses only the last element of their paths, so that no path in an archive leads out of
// dir. A known file must have its published size; an unknown one is extracted only if it is small.
func (s *source) unpack(ctx context.Context, archive, dir string, official bool) error {
	err := s.walkArchive(ctx, archive, func(i int, h *tar.Header, content io.Reader) error {
		at, name := path.Split(path.Clean(h.Name))
		switch {
		case i < 0 && (!official || path.Clean(at) != s.folders[0] || h.Size > maxExtra):
			return nil
		case i >= 0 && h.Size != s.files[i].size:
			return fmt.Errorf("%s: %d bytes, want %d", name, h.Size, s.files[i].size)
		}
		return files.Replace(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.Copy(w, content)
			return err
		})
	})
	if err != nil {
		return err
	}
	missing, err := s.missing(dir)
	if len(missing) > 0 {
		return fmt.Errorf("%s: not in the archive", missing[0])
	}
	return err
}

// moveMissing moves the files of one folder to another, except those that the other folder has already. It creates the
// other folder if necessary.
func moveMissing(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		target := filepath.Join(to, e.Name())
		switch _, err := os.Lstat(target); {
		case err == nil && isFile(target):
			continue
		case err == nil:
			return fmt.Errorf("%s: a folder, or a link to none, in the place of a file: want it gone", target)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := os.Rename(filepath.Join(from, e.Name()), target); err != nil {
			return err
		}
	}
	return files.SyncFolder(to)
}

// contextReader is a reader that returns an error once its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
