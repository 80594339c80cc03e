package datasets

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// CINIC-10 (Darlow et al. 2018): 32×32 pictures as PNG files PART/CLASS/NAME.png, 9,000 of each class in each of three
// parts. The labels are the classes in alphabetical order, and a part's pictures are ordered by label, then by name.
const (
	cinicSide   = 32
	cinicPixels = cinicSide * cinicSide * 3
)

var cinicClasses = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

// cinic10Info: statistics as FedAWE's released code has them.
var cinic10Info = Info{
	Name: "cinic10", Net: "cnn-cinic10", Augmented: true, Flip: true,
	Mean: []float32{.47889522, .47227842, .43047404}, Std: []float32{.24205776, .23828046, .25874835},
}

// cinic10Tree is https://datashare.ed.ac.uk/handle/10283/3192, of which no checksum is known here. The part "valid" is
// left out, as in FedAWE's released code.
var cinic10Tree = imageTree{
	remote:   published("https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz", ""),
	set:      "cinic10",
	folder:   "CINIC-10",
	perClass: 9000,
}

// imageTree describes a data set that is published as an archive of small pictures, in a folder for each class. It is
// read from the archive as it is, or from the folder somebody extracted it to; see [pictures].
type imageTree struct {
	remote          // a gzipped tar
	set      string // name of the data set, for errors
	folder   string // name of the folder on disk; the archive's files may or may not lie in such a folder
	perClass int    // pictures of each class in each part of the official set
}

func (t *imageTree) layout() layout {
	var folders []string
	for _, part := range partNames {
		for _, class := range cinicClasses {
			folders = append(folders, filepath.Join(part, class))
		}
	}
	return layout{
		set: t.set, folders: []string{t.folder}, archive: t.name, packed: true, items: len(folders),
		missing: func(dir string) ([]string, error) { return lacking(dir, folders) },
	}
}

func (t *imageTree) fetch(ctx context.Context, o Options) (string, error) {
	found, err := t.layout().find(o)
	if err == nil {
		return found.Dir, nil
	}
	to := downloadTo(o)
	if to == "" {
		return "", err
	}
	file := t.remote
	file.wellFormed = func(ctx context.Context, path string) error {
		l, _, err := list(ctx, &tarPictures{path: path, folder: t.folder})
		if err == nil {
			err = t.complete(l.labels, l.train)
		}
		return err
	}
	return to, file.bring(ctx, t.set, to, o, err)
}

// pictures returns what was found.
func (t *imageTree) pictures(found Found) pictures {
	if found.Archive != "" {
		return &tarPictures{path: found.Archive, folder: t.folder}
	}
	return &dirPictures{dir: found.Dir}
}

// complete returns an error unless every class has as many pictures in each part as the official set.
func (t *imageTree) complete(labels []uint8, train int) error {
	for i, own := range [][]uint8{labels[:train], labels[train:]} {
		count := make([]int, len(cinicClasses))
		for _, l := range own {
			count[l]++
		}
		for class, n := range count {
			if n != t.perClass {
				return fmt.Errorf("%w: %s/%s: %d pictures, want %d", ErrAltered, partNames[i], cinicClasses[class], n, t.perClass)
			}
		}
	}
	return nil
}

// recorded compares an archive with what was recorded of its first download, which it returns: the zero record if
// nothing was.
func recorded(path string, now record) (Status, record, error) {
	switch before, err := readRecord(path); {
	case err != nil:
		return "", record{}, err
	case before == record{}:
		return Unchecked, before, nil
	case before != now:
		return Altered, before, nil
	default:
		return Recorded, before, nil
	}
}

// openCINIC10 decodes the pictures once, on all cores, and keeps them in the user's cache directory, in the file
// rollcall/cinic10.cache. That is read from then on, as long as it fits the pictures: an archive of the same content,
// or a folder of files of the same names, sizes and times. A cache that fits no more, or is not what was written, is
// made anew, and so it is if it is deleted. Without a place for it, or with none writable, the set is decoded every
// time.
func openCINIC10(ctx context.Context, o Options) (set *Set, err error) {
	t := sourceOf(o, &cinic10Tree)
	if _, err := t.fetch(ctx, o); err != nil {
		return nil, err
	}
	found, err := t.layout().find(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("datasets: %s: %w", t.set, err)
		}
	}()
	p := t.pictures(found)
	mark, err := p.fingerprint(ctx)
	if err != nil {
		return nil, err
	}
	if found.Archive != "" {
		status, before, err := recorded(found.Archive, mark.record)
		if err != nil {
			return nil, err
		}
		if status == Altered && !o.AllowAltered {
			return nil, fmt.Errorf("%s: %w: %s, want %s (recorded in %s)", p, ErrAltered, mark.record, before,
				filepath.Base(recordPath(found.Archive)))
		}
	}
	d, err := cached(ctx, p, mark, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := t.complete(d.labels, d.train); err != nil && !o.AllowAltered {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	train, test := cinic10Info.parts(d.images, d.labels, d.train)
	return &Set{Train: train, Test: test, Dir: found.Dir}, nil
}

// verify compares an archive with its record. Where nothing is recorded, and of a folder, all pictures are decoded.
func (t *imageTree) verify(ctx context.Context, o Options) ([]FileStatus, error) {
	found, err := t.layout().find(o)
	if err != nil {
		dir := t.layout().incomplete(places(o))
		if dir == "" {
			return nil, err
		}
		missing, err := t.layout().missing(dir)
		var all []FileStatus
		for _, name := range missing {
			all = append(all, FileStatus{
				File: filepath.ToSlash(name), Path: filepath.Join(dir, name), Status: Missing,
				Found: "no such folder", Wanted: fmt.Sprintf("%d pictures", t.perClass),
			})
		}
		return all, err
	}
	p := t.pictures(found)
	s := FileStatus{
		File: filepath.Base(found.Dir), Path: found.Dir, Status: Unchecked,
		Found: "complete, and no checksum is published",
	}
	if found.Archive != "" {
		s.File, s.Path = filepath.Base(found.Archive), found.Archive
		mark, err := p.fingerprint(ctx)
		if err != nil {
			return nil, fmt.Errorf("datasets: %s: %w", t.set, err)
		}
		status, before, err := recorded(found.Archive, mark.record)
		if err != nil {
			return nil, fmt.Errorf("datasets: %s: %w", t.set, err)
		}
		s.Found = mark.record.String() + ", complete, and nothing is recorded or published"
		switch status {
		case Recorded:
			s.Status, s.Found = Recorded, ""
			return []FileStatus{s}, nil
		case Altered:
			s.Status, s.Found, s.Wanted = Altered, mark.record.String(), before.String()
			return []FileStatus{s}, nil
		}
	}
	d, _, err := decodeAll(ctx, p, nil)
	if err == nil {
		err = t.complete(d.labels, d.train)
	}
	switch {
	case errors.Is(err, ErrAltered):
		s.Status, s.Found = Altered, err.Error()
	case err != nil:
		s.Status, s.Found = Malformed, strings.TrimPrefix(err.Error(), p.String()+": ")
	}
	return []FileStatus{s}, nil
}
