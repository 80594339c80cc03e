package datasets

import (
	"bufio"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"rollcall/datasets/plan"
	"rollcall/internal/files"
)

type content struct {
	file           string // name of the file
	images, labels []uint8
}

// openFiles reads all files in parallel and joins the files of each part. If several files have errors, it returns the
// error of the first one in the set's order.
func (s *source) openFiles(ctx context.Context, found Found, o Options) (*Set, error) {
	contents, errs := s.room(), make([]error, len(s.files))
	_ = files.Parallel(context.Background(), len(s.files), func(i int) { // read obeys ctx itself
		path := s.files[i].in(found.Dir)
		sum, err := s.read(ctx, path, s.expecting(s.files[i], o.AllowAltered), &contents[i])
		if err == nil {
			err = s.admit(path, s.files[i], sum, o)
		}
		errs[i] = err
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	train, err := s.part(0, contents)
	if err != nil {
		return nil, err
	}
	test, err := s.part(1, contents)
	return &Set{Train: train, Test: test}, err
}

// room allocates one slice for all files of a part, and returns the piece of each file. So the contents need not be
// copied to join them. Files whose size is not published get no piece.
func (s *source) room() []content {
	all := make([]content, len(s.files))
	pixels, record := int64(s.info.Shape.Pixels()), int64(max(1, s.record))
	for part := range partNames {
		n := int64(0)
		for _, f := range s.files {
			if f.part == part {
				n += f.size / record
			}
		}
		images, labels := make([]uint8, n*pixels), make([]uint8, n)
		for i, f := range s.files {
			if n := f.size / record; f.part == part && n > 0 {
				all[i].images, images = images[:n*pixels], images[n*pixels:]
				all[i].labels, labels = labels[:n], labels[n:]
			}
		}
	}
	return all
}

func (s *source) part(part int, contents []content) (*plan.Samples, error) {
	var names []string
	var images, labels [][]uint8
	for i, c := range contents {
		if s.files[i].part == part {
			names, images, labels = append(names, c.file), append(images, c.images), append(labels, c.labels)
		}
	}
	x, y := joined(images), joined(labels)
	if n := len(x) / (s.info.Shape.Pixels()); n != len(y) {
		return nil, fmt.Errorf("%s: %d labels, want %d, the images of %s", names[len(names)-1], len(y), n, names[0])
	}
	return s.info.samples(part, x, y), nil
}

// joined returns pieces as one slice. They must be next to each other in memory, as [source.room] allocates them.
func joined(pieces [][]uint8) (all []uint8) {
	for _, p := range pieces {
		if all == nil {
			all = p
		} else {
			all = all[:len(all)+len(p)]
		}
	}
	return all
}

// hashes has the hash functions for [publishedFile.sum], by name.
var hashes = map[string]func() hash.Hash{"MD5": md5.New, "SHA-256": sha256.New}

// read reads the whole file at path into c, and returns its checksum, with the same hash function as f.sum, or SHA-256
// if none is published.
func (s *source) read(ctx context.Context, path string, f publishedFile, c *content) (sum string, err error) {
	file, size, err := files.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	c.file = filepath.Base(path)
	if most := f.mostBytes(s.info.Shape.Pixels()); f.size == 0 && size > most {
		return "", fmt.Errorf("%s: %d bytes, want at most %d", c.file, size, most)
	}
	if sum, err = s.readFrom(&contextReader{ctx, file}, size, f, c); err != nil {
		err = fmt.Errorf("%s: %w", c.file, err)
	}
	return sum, err
}

// readFrom does the work of [source.read] for an open file of size bytes, and decompresses it if its name ends in .gz.
func (s *source) readFrom(r io.Reader, size int64, f publishedFile, c *content) (sum string, err error) {
	const ahead = 16 << 10
	b := bufio.NewReaderSize(r, ahead)
	r = b
	// A file whose name ends in .gz may be uncompressed on disk, so the content decides.
	if magic, _ := b.Peek(2); strings.HasSuffix(f.name, ".gz") && string(magic) == gzipMagic {
		z, err := newGunzip(b)
		if err != nil {
			return "", err
		}
		r, size = z, mostInflated(size)
	}
	kind, _, _ := strings.Cut(cmp.Or(f.sum, "SHA-256"), " ")
	h := hashes[kind]()
	r = io.TeeReader(r, h)
	if c.images, c.labels, err = s.parse(bufio.NewReaderSize(r, ahead), size, f, *c); err != nil {
		return "", err
	}
	// parse may stop before the end of the file, but the checksum needs all bytes.
	_, err = io.Copy(io.Discard, r)
	return fmt.Sprintf("%s %x", kind, h.Sum(nil)), err
}

// verifyFiles reads every file and compares it with its published checksum.
func (s *source) verifyFiles(ctx context.Context, found Found) ([]FileStatus, error) {
	var all []FileStatus
	for _, f := range s.files {
		path := f.in(found.Dir)
		st := FileStatus{File: filepath.Base(path), Path: path}
		sum, err := s.read(ctx, path, s.expecting(f, false), &content{})
		var system *fs.PathError
		switch {
		case ctx.Err() != nil:
			return all, ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			st.Status, st.Found, st.Wanted = Missing, "no such file", f.sum
			if f.size > 0 {
				st.Wanted = fmt.Sprintf("%d bytes", f.size)
			}
		case errors.As(err, &system), f.size > 0 && errors.Is(err, files.ErrNoFile):
			return all, err
		default:
			s.judge(&st, path, f, sum, err)
		}
		all = append(all, st)
	}
	return all, nil
}

// judge sets the status of a file that was read, given its checksum or why it could not be read as file f. path is
// where it is, for its record; "": in an archive.
func (s *source) judge(st *FileStatus, path string, f publishedFile, sum string, err error) {
	var shape *lengthError
	switch {
	case errors.As(err, &shape):
		st.Status = Malformed
		st.Found, st.Wanted = fmt.Sprintf("%d bytes", shape.found), fmt.Sprintf("%d bytes", f.size)
	case err != nil:
		st.Status, st.Found = Malformed, strings.TrimPrefix(err.Error(), st.File+": ")
		if errors.Is(err, ErrAltered) {
			st.Status = Altered
		}
	default:
		st.Status, st.Found, st.Wanted = s.compare(path, f, sum)
	}
}

// compare returns the status of a well-formed file in the place of f, given the file's checksum. If no checksum of f is
// published, the record beside path decides, if there is one.
func (s *source) compare(path string, f publishedFile, sum string) (status Status, found, wanted string) {
	switch other := s.foreign[sum]; {
	case sum == f.sum:
		return Official, "", f.sum
	case other != "":
		return Swapped, fmt.Sprintf("%s (%s)", sum, other), f.sum
	case f.sum == "":
		return unpublished(path, record{f.size, strings.TrimPrefix(sum, "SHA-256 ")})
	}
	// Two official files under each other's names would otherwise look like two unknown files.
	for _, other := range s.files {
		if sum == other.sum {
			return Swapped, fmt.Sprintf("%s (%s)", sum, other.name), f.sum
		}
	}
	return Altered, sum, f.sum
}

// admit returns an error unless a well-formed file at path is file f, or the options allow altered files. A file of
// another set is never allowed.
func (s *source) admit(path string, f publishedFile, sum string, o Options) error {
	status, found, wanted := s.compare(path, f, sum)
	if !status.OK() && (!o.AllowAltered || s.foreign[sum] != "") {
		return fmt.Errorf("%s: %w: %s: %s, want %s", path, ErrAltered, status, found, wanted)
	}
	return nil
}

// lengthError is the error about a file with the wrong number of bytes.
type lengthError struct{ found, wanted int64 }

func (e *lengthError) Error() string { return fmt.Sprintf("%d bytes, want %d", e.found, e.wanted) }
