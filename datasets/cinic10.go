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
	Name: "cinic10", Net: "cnn-cinic10", Augmented: true, Flip: true, Shape: photoShape,
	Mean: []float32{.47889522, .47227842, .43047404}, Std: []float32{.24205776, .23828046, .25874835},
}

// cinic10Files describes the archive at https://datashare.ed.ac.uk/handle/10283/3192, whose checksum is not published.
// The part "valid" is not read, as in FedAWE's released code.
var cinic10Files = source{
	info:       &cinic10Info,
	folders:    []string{"CINIC-10"},
	archive:    published("https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz", "", 0),
	files:      cinicFolders(),
	ofPictures: true,
	perClass:   9000,
	samples:    [2]int{90_000, 90_000},
}

// cinicFolders returns the folders of the classes, which the layout of this set lists in place of files.
func cinicFolders() (all []publishedFile) {
	for _, part := range partNames {
		for _, class := range cinicClasses {
			all = append(all, publishedFile{name: filepath.Join(part, class)})
		}
	}
	return all
}

// allPictures returns an error unless the archive at path has all pictures of the official set.
func (s *source) allPictures(ctx context.Context, path string) error {
	l, _, err := list(ctx, s.picturesIn(Found{Archive: path}, s.perClass), s.perClass)
	if err == nil {
		err = s.complete(&l.decoded)
	}
	return err
}

// mostPerClass returns the largest number of pictures of a class in a part: the official one, or the largest number of
// all pictures if altered sets are allowed.
func (s *source) mostPerClass(altered bool) int {
	if altered {
		return maxPictures
	}
	return s.perClass
}

// picturesIn returns the pictures in the archive or the folder that was found. A class may have `most` in each part.
// Its folder may have as many other files, as macOS leaves one for each, and some more.
func (s *source) picturesIn(found Found, most int) pictures {
	if found.Archive != "" {
		return &tarPictures{found.Archive}
	}
	return &dirPictures{dir: found.Dir, most: 2*most + 1000}
}

// complete returns an error unless each class has as many pictures in each part as in the official set.
func (s *source) complete(d *decoded) error {
	for i, own := range [][]uint8{d.labels[:d.train], d.labels[d.train:]} {
		count := make([]int, len(cinicClasses))
		for _, l := range own {
			count[l]++
		}
		for class, n := range count {
			if n != s.perClass {
				return fmt.Errorf("%w: %s/%s: %d pictures, want %d",
					ErrAltered, partNames[i], cinicClasses[class], n, s.perClass)
			}
		}
	}
	return nil
}

// openPictures decodes the pictures once, on all cores, and writes them to the file rollcall/cinic10.cache in the
// user's cache directory. Later calls read this cache, as long as it belongs to the pictures: to an archive with the
// same content, or to a folder whose files have the same names, sizes and times. If the cache does not belong to them,
// or is damaged or missing, it is written again. If it cannot be written, every call decodes the pictures.
func (s *source) openPictures(ctx context.Context, found Found, o Options) (*Set, error) {
	most := s.mostPerClass(o.AllowAltered)
	p := s.picturesIn(found, most)
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
	d, err := cached(ctx, p, mark, most, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := s.complete(d); err != nil && !o.AllowAltered {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	at := d.train * photoPixels
	return &Set{
		Train: s.info.samples(0, d.images[:at:at], d.labels[:d.train:d.train]),
		Test:  s.info.samples(1, d.images[at:], d.labels[d.train:]),
	}, nil
}

// verifyPictures compares an archive with its record. If there is no record, or if the set is in a folder, it decodes
// all pictures instead.
func (s *source) verifyPictures(ctx context.Context, found Found) ([]FileStatus, error) {
	p := s.picturesIn(found, s.perClass)
	checked := FileStatus{File: filepath.Base(p.String()), Path: p.String(), Status: Unchecked}
	if found.Archive == "" {
		missing, err := s.missing(found.Dir)
		var all []FileStatus
		for _, name := range missing {
			all = append(all, FileStatus{
				File: filepath.ToSlash(name), Path: filepath.Join(found.Dir, name), Status: Missing,
				Found: "no such folder", Wanted: fmt.Sprintf("%d pictures", s.perClass),
			})
		}
		if err != nil || len(all) > 0 {
			return all, err
		}
		checked.Found = "complete, and no checksum is published"
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
			checked.Status = Recorded
			return []FileStatus{checked}, nil
		case status == Altered:
			checked.Status, checked.Found, checked.Wanted = Altered, mark.record.String(), before.String()
			return []FileStatus{checked}, nil
		}
		checked.Found = mark.record.String() + ", complete, and nothing is recorded or published"
	}
	d, _, err := decodeAll(ctx, p, s.perClass, nil)
	if err == nil {
		err = s.complete(d)
	}
	switch {
	case errors.Is(err, ErrAltered):
		checked.Status = Altered
	case err != nil:
		checked.Status = Malformed
	}
	if err != nil {
		checked.Found = strings.TrimPrefix(err.Error(), p.String()+": ")
	}
	return []FileStatus{checked}, nil
}
