package datasets

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"rollcall/datasets/plan"
	"rollcall/internal/files"
)

// FEMNIST (Caldas et al. 2018): the handwritten digits and letters of NIST's Special Database 19 by writer, 28×28
// pixels, in 62 classes: 0 … 9, A … Z, a … z. LEAF's script makes it from NIST's files and writes its training and its
// test part as folders of JSON files, see [readLEAF]. Nobody publishes these files or their checksums: sampling them
// needs a seed, and users choose how much they sample.
const (
	femnistSide    = 28
	femnistPixels  = femnistSide * femnistSide
	femnistClasses = 62

	maxLEAFFiles = 10_000 // JSON files of a part; LEAF writes 36 with 100 writers each
)

// femnistInfo is of images that are not augmented, as nobody does for LEAF's. Paper is white, 255.
var femnistInfo = Info{
	Name: "femnist", Net: "lenet5", Natural: true,
	Shape: plan.Shape{H: femnistSide, W: femnistSide, C: 1, Classes: femnistClasses},
	ByHand: "make it with data/femnist/preprocess.sh -s niid --sf 1.0 -k 0 -t sample of " +
		"github.com/TalwalkarLab/leaf, and give its folder data/femnist/data as --data-dir",
}

var femnistFiles = source{
	info: &femnistInfo,
	folders: []string{
		"femnist", filepath.Join("femnist", "data"), filepath.Join("leaf", "data", "femnist", "data"),
	},
	files:    []publishedFile{{name: partNames[0], part: 0}, {name: partNames[1], part: 1}},
	byWriter: true,
}

// jsonFiles returns the paths of the JSON files in a folder, by name; none, if it cannot be read.
func jsonFiles(dir string) (paths []string) {
	entries, _ := readFolder(dir, maxLEAFFiles)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); filepath.Ext(path) == ".json" && !isLitter(e.Name()) && isFile(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// leafFile is one file of a part.
type leafFile struct {
	name    string // relative to the folder of the set: "train/all_data_0_niid_0_keep_0_train_9.json"
	path    string
	part    int
	writers []writer
	sum     record
	err     error
}

// writer has the samples of one user in one file.
type writer struct {
	name   string
	images []uint8 // [n,28,28,1]
	labels []uint8 // [n]
}

// readWriters reads all files of a folder, on all cores. It computes the checksum of every file, or only of those that
// have a record. Errors of single files are in the files.
func (s *source) readWriters(ctx context.Context, dir string, sums bool) ([]*leafFile, error) {
	var all []*leafFile
	for part, name := range partNames {
		for _, path := range jsonFiles(filepath.Join(dir, name)) {
			all = append(all, &leafFile{name: name + "/" + filepath.Base(path), path: path, part: part})
		}
	}
	_ = files.Parallel(context.Background(), len(all), func(i int) { // read obeys ctx itself
		f := all[i]
		if err := f.read(ctx, sums || isFile(recordPath(f.path))); err != nil {
			f.err = fmt.Errorf("%s: %w", f.name, err)
		}
	})
	return all, ctx.Err()
}

func (f *leafFile) read(ctx context.Context, sum bool) error {
	if strings.Contains(f.name, "_iid_") {
		return errors.New("by its name of LEAF's -s iid, whose users are no writers, want -s niid")
	}
	file, size, err := files.OpenRegular(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	h := sha256.New()
	var r io.Reader = &contextReader{ctx, file}
	if sum {
		r = io.TeeReader(r, h)
	}
	if f.writers, err = readLEAF(r); err == nil && sum {
		f.sum = record{size, fmt.Sprintf("%x", h.Sum(nil))}
	}
	return err
}

// status compares a file that was read with its record.
func (f *leafFile) status() FileStatus {
	st := FileStatus{File: f.name, Path: f.path}
	if f.err != nil {
		st.Status, st.Found = Malformed, strings.TrimPrefix(f.err.Error(), f.name+": ")
		return st
	}
	st.Status, st.Found, st.Wanted = unpublished(f.path, f.sum)
	return st
}

// joinWriters joins the files to one set: samples in the order of the files, and of the users in each. It gives up the
// samples of the files. An error is of the file that it is put in.
func joinWriters(all []*leafFile) (set *Set, err error) {
	var n, at [2]int
	for _, f := range all {
		if f.err != nil {
			return nil, f.err
		}
		for _, w := range f.writers {
			n[f.part] += len(w.labels)
		}
		if n[f.part] > maxPictures {
			f.err = fmt.Errorf("%s: %d samples with those of the files before, want at most %d", f.name, n[f.part],
				maxPictures)
			return nil, f.err
		}
	}
	var images, labels [2][]uint8
	for part := range partNames {
		images[part], labels[part] = make([]uint8, n[part]*femnistPixels), make([]uint8, n[part])
	}
	split := &Split{}
	number, of := map[string]int{}, [2]map[string]string{{}, {}}
	for _, f := range all {
		for i, w := range f.writers {
			k, known := number[w.name]
			switch other := of[f.part][w.name]; {
			case other != "":
				f.err = fmt.Errorf("%s: writer %.64q is in %s too", f.name, w.name, other)
			case !known && f.part == 1:
				f.err = fmt.Errorf("%s: writer %.64q is not in the training part, want a set that is cut by sample "+
					"(LEAF's -t sample)", f.name, w.name)
			case !known:
				k, number[w.name] = len(split.Train), len(split.Train)
				split.Train, split.Test = append(split.Train, nil), append(split.Test, nil)
			}
			if f.err != nil {
				return nil, f.err
			}
			of[f.part][w.name] = f.name
			own := indices(len(w.labels))
			for j := range own {
				own[j] += int32(at[f.part])
			}
			if f.part == 0 {
				split.Train[k] = own
			} else {
				split.Test[k] = own
			}
			copy(images[f.part][at[f.part]*femnistPixels:], w.images)
			at[f.part] += copy(labels[f.part][at[f.part]:], w.labels)
			f.writers[i].images = nil
		}
		runtime.GC() // so that there is never room for the whole set twice
	}
	for part, name := range partNames {
		if n[part] == 0 {
			return nil, fmt.Errorf("%s: no samples, want one at least", name)
		}
	}
	set = &Set{Natural: split}
	set.Train, set.Test = femnistInfo.samples(0, images[0], labels[0]), femnistInfo.samples(1, images[1], labels[1])
	set.Train.Mean, set.Train.Std = moments(set.Train.Images, 1)
	set.Test.Mean, set.Test.Std = set.Train.Mean, set.Train.Std
	return set, nil
}

// openWriters reads a folder of LEAF's. A file that has a record must agree with it.
func (s *source) openWriters(ctx context.Context, found Found, o Options) (*Set, error) {
	all, err := s.readWriters(ctx, found.Dir, false)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.err != nil || f.sum == (record{}) {
			continue
		}
		if st := f.status(); !st.Status.OK() && (st.Status != Altered || !o.AllowAltered) {
			return nil, fmt.Errorf("%w: %s", ErrAltered, st)
		}
	}
	return joinWriters(all)
}

// verifyWriters reads a folder of LEAF's, and compares the files with their records.
func (s *source) verifyWriters(ctx context.Context, found Found) ([]FileStatus, error) {
	missing, err := s.missing(found.Dir)
	if err != nil {
		return nil, err
	}
	var status []FileStatus
	all, err := s.readWriters(ctx, found.Dir, true)
	if err != nil {
		return nil, err
	}
	if len(missing) == 0 { // the error is of a file, unless a part has no sample
		failed := func(f *leafFile) bool { return f.err != nil }
		if _, err := joinWriters(all); err != nil && !slices.ContainsFunc(all, failed) {
			return nil, err
		}
	}
	for _, f := range all {
		status = append(status, f.status())
	}
	for _, name := range missing {
		status = append(status, FileStatus{
			File: name, Path: filepath.Join(found.Dir, name), Status: Missing, Found: "no such file",
			Wanted: "those of LEAF's script",
		})
	}
	return status, nil
}
