package datasets

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// CINIC-10 (Darlow et al. 2018): pictures of 32×32 pixels as PNG files PART/CLASS/NAME.png, with 9,000 pictures of each
// class in each of three parts. Labels number the classes in alphabetical order. The pictures of a part are sorted by
// label and then by name.
var cinicClasses = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

// cinic10Info has the mean and the deviation of FedAWE's released code.
var cinic10Info = Info{
	Name: "cinic10", Net: "cnn-cinic10", Augmented: true, Flip: true, side: photoSide, channels: 3,
	Mean: []float32{.47889522, .47227842, .43047404}, Std: []float32{.24205776, .23828046, .25874835},
}

// cinic10Tree describes the archive at https://datashare.ed.ac.uk/handle/10283/3192, whose checksum is not published.
// The part "valid" is not read, as in FedAWE's released code.
var cinic10Tree = imageTree{
	layout: layout{
		info:    &cinic10Info,
		folders: []string{"CINIC-10"},
		archive: published("https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz", "", 0),
		packed:  true,
		files:   cinicFolders(),
	},
	perClass: 9000,
}

// cinicFolders returns the folders of the classes, which the layout of this set lists in place of files.
func cinicFolders() (all []publishedFile) {
	for _, part := range partNames {
		for _, class := range cinicClasses {
			all = append(all, publishedFile{remote: remote{name: filepath.Join(part, class)}})
		}
	}
	return all
}

// imageTree describes a data set that is published as an archive of small pictures, with a folder for each class. The
// set is read from the archive itself, which may have the folders at its root or in a folder of the set's name, or from
// a folder into which the user extracted it; see [pictures].
type imageTree struct {
	layout
	perClass int // number of pictures of each class in each part of the official set
}

// download downloads the archive and checks that it has all pictures of the official set.
func (t *imageTree) download(ctx context.Context, to string, o Options, notFound error) error {
	file := t.archive
	file.wellFormed = func(ctx context.Context, path string) error {
		l, _, err := list(ctx, t.pictures(Found{Archive: path}))
		if err == nil {
			err = t.complete(&l.decoded)
		}
		return err
	}
	return file.bring(ctx, to, o, notFound)
}

// pictures returns the pictures in the archive or the folder that was found.
func (t *imageTree) pictures(found Found) pictures {
	if found.Archive != "" {
		return &tarPictures{path: found.Archive, folder: t.folders[0]}
	}
	return &dirPictures{dir: found.Dir}
}

// complete returns an error unless each class has as many pictures in each part as in the official set.
func (t *imageTree) complete(d *decoded) error {
	for i, own := range [][]uint8{d.labels[:d.train], d.labels[d.train:]} {
		count := make([]int, len(cinicClasses))
		for _, l := range own {
			count[l]++
		}
		for class, n := range count {
			if n != t.perClass {
				return fmt.Errorf("%w: %s/%s: %d pictures, want %d",
					ErrAltered, partNames[i], cinicClasses[class], n, t.perClass)
			}
		}
	}
	return nil
}

// open decodes the pictures once, on all cores, and writes them to the file rollcall/cinic10.cache in the user's cache
// directory. Later calls read this cache, as long as it belongs to the pictures: to an archive with the same content,
// or to a folder whose files have the same names, sizes and times. If the cache does not belong to them, or is damaged
// or missing, it is written again. If it cannot be written, every call decodes the pictures.
func (t *imageTree) open(ctx context.Context, found Found, o Options) (*Set, error) {
	p := t.pictures(found)
	// The fingerprint says whether the archive is the recorded one, and whether the cache belongs to the pictures.
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
			return nil, fmt.Errorf("%s: %w: %s, want %s (recorded in %s)",
				p, ErrAltered, mark.record, before, filepath.Base(recordPath(found.Archive)))
		}
	}
	d, err := cached(ctx, p, mark, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := t.complete(d); err != nil && !o.AllowAltered {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	at := d.train * photoPixels
	return &Set{
		Train: t.info.samples(0, d.images[:at:at], d.labels[:d.train:d.train]),
		Test:  t.info.samples(1, d.images[at:], d.labels[d.train:]),
	}, nil
}

// verify compares an archive with its record. If there is no record, or if the set is in a folder, it decodes all
// pictures instead.
func (t *imageTree) verify(ctx context.Context, found Found) ([]FileStatus, error) {
	p := t.pictures(found)
	s := FileStatus{File: filepath.Base(p.String()), Path: p.String(), Status: Unchecked}
	if found.Archive == "" {
		missing, err := t.missing(found.Dir)
		if err != nil || len(missing) > 0 {
			return t.lacking(found.Dir, missing), err
		}
		s.Found = "complete, and no checksum is published"
	} else {
		mark, err := p.fingerprint(ctx)
		if err != nil {
			return nil, err
		}
		status, before, err := recorded(found.Archive, mark.record)
		switch {
		case err != nil:
			return nil, err
		case status == Recorded:
			s.Status = Recorded
			return []FileStatus{s}, nil
		case status == Altered:
			s.Status, s.Found, s.Wanted = Altered, mark.record.String(), before.String()
			return []FileStatus{s}, nil
		}
		s.Found = mark.record.String() + ", complete, and nothing is recorded or published"
	}
	d, _, err := decodeAll(ctx, p, nil)
	if err == nil {
		err = t.complete(d)
	}
	switch {
	case errors.Is(err, ErrAltered):
		s.Status, s.Found = Altered, err.Error()
	case err != nil:
		s.Status, s.Found = Malformed, strings.TrimPrefix(err.Error(), p.String()+": ")
	}
	return []FileStatus{s}, nil
}

// lacking returns a status for each folder that is missing in dir.
func (t *imageTree) lacking(dir string, missing []string) (all []FileStatus) {
	for _, name := range missing {
		all = append(all, FileStatus{
			File: filepath.ToSlash(name), Path: filepath.Join(dir, name), Status: Missing,
			Found: "no such folder", Wanted: fmt.Sprintf("%d pictures", t.perClass),
		})
	}
	return all
}
