package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// claimed is a MAT-file's matrix up to its numbers, one byte each, whose lengths fit together.
func (w matWriter) claimed(name string, class matClass, dims ...int32) []byte {
	size := uint32(1)
	for _, d := range dims {
		size *= uint32(d)
	}
	m := w.matrix(name, class, dims, miUINT8, make([]byte, 8))
	m = m[:len(m)-8]
	w.PutUint32(m[len(m)-4:], size)
	w.PutUint32(m[4:], uint32(len(m)-8)+size)
	return m
}

// stream is a compressed element of two pieces.
func (w matWriter) stream(begin, end []byte) []byte { return w.compressed(slices.Concat(begin, end)) }

// Without altered files only the official numbers of samples are accepted, and with them a million. Memory follows the
// bytes that come: 4 MB is enough for the buffers of the reader, and each case claims more than 40 MB.
func TestClaims(t *testing.T) {
	w := little()
	_, labels := digits(7)
	const official = 60_000
	short := make([]byte, 1<<20) // not compressible, so that the file might hold what it claims
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(short); i++ {
		short[i] = byte(r.Uint32())
	}
	more := bytes.Repeat(short, 4)
	for _, c := range []struct {
		name, set string
		file      int
		data      []byte
		altered   bool
		want      string
		is        error
	}{
		{
			"images", "mnist", 0, zipped(idx(nil, 2_000_000, 28, 28)), false,
			"not the official file: 2000000 samples, want 60000", ErrAltered,
		},
		{
			"images of the test file", "mnist", 2, zipped(idx(nil, 10_001, 28, 28)), false,
			"not the official file: 10001 samples, want 10000", ErrAltered,
		},
		{"labels", "mnist", 1, zipped(idx(nil, math.MaxUint32)), false, "4294967295 samples, want 60000", ErrAltered},
		{"one label less", "mnist", 1, idx(make([]byte, 59_999), 59_999), false, "59999 samples, want", ErrAltered},
		{"altered", "mnist", 0, zipped(idx(nil, 2_000_000, 28, 28)), true, "2000000 samples, want at most", nil},
		{"altered labels", "mnist", 1, zipped(idx(nil, 1<<20+1)), true, "1048577 samples, want at most 1048576", nil},
		{
			"altered, and few come", "mnist", 0, zipped(idx(short, official, 28, 28)), true,
			"1048576 bytes of data, want 47040000: truncated", nil,
		},
		{
			"zeros behind the labels", "mnist", 1, zipped(idx(make([]byte, 50<<20), official)), false,
			fmt.Sprintf("%d bytes of data or more, want %d", official+maxSurplus, official), nil,
		},
		{
			"X", "svhn", 0, append(w.header(), w.stream(w.claimed("X", mxUINT8, 32, 32, 3, 1<<20), more)...), false,
			"X: not the official file: 1048576 samples, want 73257", ErrAltered,
		},
		{
			"X of the test file", "svhn", 1, append(w.header(), w.stream(w.claimed("X", mxUINT8, 32, 32, 3, 531_131),
				more)...), false, "X: not the official file: 531131 samples, want 26032", ErrAltered,
		},
		{
			"y", "svhn", 0, append(w.header(), w.stream(w.claimed("y", mxDOUBLE, 1<<30, 1), more)...), false,
			"y: not the official file: 1073741824 samples, want 73257", ErrAltered,
		},
		{
			"y, a row", "svhn", 0, append(w.header(), w.stream(w.claimed("y", mxUINT8, 1, 1<<30), more)...), true,
			"y: 1073741824 samples, want at most 1048576", nil,
		},
		{
			"altered X", "svhn", 0, append(w.header(), w.stream(w.claimed("X", mxUINT8, 32, 32, 3, 1<<20+1),
				more)...), true, "X: 1048577 samples, want at most 1048576", nil,
		},
		{
			"altered X, and few come", "svhn", 0, slices.Concat(w.header(),
				w.stream(w.claimed("X", mxUINT8, 32, 32, 3, 20_000), short)), true,
			"X: image 341: truncated", nil,
		},
		{
			"altered, more than pictures would be", "mnist", 0, zipped(idx(short, 100_000, 28, 28)), true,
			"78400000 bytes, want at most 67108864 in a file of this size", nil,
		},
		{
			"altered X, more than pictures would be", "svhn", 0, slices.Concat(w.header(),
				w.stream(w.claimed("X", mxUINT8, 32, 32, 3, 22_000), short)), true,
			"X: 67584000 bytes of data, want at most 67108864 in a file of this size", nil,
		},
		{
			"another variable", "svhn", 0, append(w.header(), w.stream(w.claimed("Z", mxUINT8, 1<<30, 1), more)...),
			false, "Z: truncated", nil,
		},
		{
			"many variables", "svhn", 0, slices.Concat(w.header(), w.labels(labels),
				bytes.Repeat(w.compressed(w.matrix("e", mxUINT8, []int32{0, 0}, miUINT8, nil)), matMaxArrays)), true,
			"element 1025: want at most 1024", nil,
		},
	} {
		t.Run(c.set+" "+c.name, func(t *testing.T) {
			s := must.Get(lookup(c.set, Options{}))(t).official
			var got content
			var err error
			taken := allocated(func() {
				f := s.expecting(s.files[c.file], c.altered)
				_, err = s.readFrom(bytes.NewReader(c.data), int64(len(c.data)), f, &got)
			})
			wantError(t, err, c.is, c.want)
			most := uint64(4 << 20)
			if strings.HasSuffix(c.name, "few come") {
				most += 18 << 20 // 16 times the megabyte that comes
			}
			if c.name == "many variables" {
				most += matMaxArrays * 50 << 10 // each has a decompressor of its own
			}
			if taken > most {
				t.Errorf("%d bytes allocated for a file of %d, want at most %d", taken, len(c.data), most)
			}
		})
	}
}

// What other variables decompress to is limited by the size of the official content, all together.
func TestMAT5Inflated(t *testing.T) {
	w, s := little(), newSmall(t, "svhn")
	images, labels := digits(7)
	f := s.expecting(s.files[0], false)
	f.lengths = nil
	const some = 400 << 10 // bytes; twice the official content and a megabyte are allowed
	other := func(name string) []byte { return w.stream(w.claimed(name, mxUINT8, some/4, 4), make([]byte, some)) }
	for n, want := range map[int]string{1: "", 2: "", 5: "e: more than 1091696 bytes, decompressed"} {
		file := slices.Concat(w.header(), w.compressed(w.images(images)), bytes.Repeat(other("e"), n), w.labels(labels))
		_, _, err := parseSVHN(bytes.NewReader(file), int64(len(file)), f, content{})
		if want == "" {
			must.OK(t, err)
			continue
		}
		wantError(t, err, nil, want)
	}
}

// A sparse file costs nothing to make, and days to read: its size decides.
func TestSparse(t *testing.T) {
	for _, c := range []struct{ set, file, want string }{
		{"mnist", "MNIST/raw/train-images-idx3-ubyte", "train-images-idx3-ubyte: 1099511627776 bytes, want at most "},
		{"mnist", "MNIST/raw/train-labels-idx1-ubyte.gz", "idx1-ubyte.gz: 1099511627776 bytes, want at most "},
		{"svhn", "svhn/test_32x32.mat", "test_32x32.mat: 1099511627776 bytes, want at most "},
		{"cifar10", "cifar-10-batches-bin/data_batch_3.bin", "data_batch_3.bin: 1099511627776 bytes, want 12292"},
		{"cifar10", "cifar-10-binary.tar.gz", "cifar-10-binary.tar.gz: 1099511627776 bytes, want "},
		{"cinic10", "CINIC-10.tar.gz", "CINIC-10.tar.gz: 1099511627776 bytes, want at most 2147483648"},
		{"cinic10", "CINIC-10.tar.gz.sha256", "CINIC-10.tar.gz.sha256: 1099511627776 bytes, want at most 4096"},
	} {
		for _, altered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s altered=%t", c.file, altered), func(t *testing.T) {
				s := newSmall(t, c.set)
				dir, _, _ := alone(t)
				for name, data := range s.content {
					if c.file != "cifar-10-binary.tar.gz" {
						write(t, filepath.Join(dir, s.folders[0], name), data)
					}
				}
				if c.set == "cinic10" {
					write(t, filepath.Join(dir, "CINIC-10.tar.gz"), s.tarball)
				}
				path := filepath.Join(dir, c.file)
				if plain := strings.TrimSuffix(path, ".gz"); plain != path && isFile(plain) {
					must.OK(t, os.Rename(plain, path))
				} else if !isFile(path) {
					write(t, path, nil)
				}
				if err := os.Truncate(path, 1<<40); err != nil {
					t.Skip("no sparse files of a terabyte here: ", err)
				}
				_, err := s.open(t, Options{Dir: dir, AllowAltered: altered})
				wantError(t, err, nil, "datasets: "+c.set+": ", c.want)
			})
		}
	}
}

// The pictures of a class, and the names of all, are counted before anything is kept of a picture.
func TestCINIC10Limits(t *testing.T) {
	many := func(n, length int) (files []entry) {
		for i := range n {
			name := fmt.Sprintf("train/cat/%d.png", i)
			files = append(files, entry{name[:10] + strings.Repeat("n", length-len(name)) + name[10:], nil})
		}
		return files
	}
	for _, c := range []struct {
		name string
		tar  []byte
		most int
		want string
	}{
		{"names of a megabyte", tarball("", many(2, 1<<19)), maxPictures, `"train/cat/nnnn`},
		{"length of names", tarball("", many(2, 256)), maxPictures, "…: a name of 256 bytes, want at most 255"},
		{
			"skipped names", tarball("", []entry{{"." + strings.Repeat("n", 300), nil}}), maxPictures,
			"…: a name of 301 bytes, want at most 255",
		},
		{
			"pictures of a class", tarball("", many(9001, 30)), 9000,
			"not the official file: train/cat: more than 9000 pictures, want 9000",
		},
		{"all names", tarball("", many(maxNames/255+1, 255)), maxPictures, "more than 33554432 bytes of names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := list(t.Context(), memPictures(c.tar), c.most)
			wantError(t, err, nil, c.want)
			if len(err.Error()) > 500 {
				t.Errorf("error of %d bytes, want a line", len(err.Error()))
			}
		})
	}
	t.Run("folder", func(t *testing.T) {
		dir := t.TempDir()
		for i := range 5 {
			write(t, filepath.Join(dir, fmt.Sprint(i)), nil)
		}
		if all, err := readFolder(dir, 5); err != nil || len(all) != 5 || all[0].Name() != "0" || all[4].Name() != "4" {
			t.Errorf("got %v, %v, want the 5 files in order", all, err)
		}
		_, err := readFolder(dir, 4)
		wantError(t, err, ErrAltered, dir+": ", "more than 4 files")
		if all, err := readFolder(t.TempDir(), 4); err != nil || len(all) > 0 {
			t.Errorf("got %v, %v, want nothing", all, err)
		}
	})
}

// Large files are decoded in small batches, however large the set: the first broken one ends the reading soon.
func TestCINIC10Batches(t *testing.T) {
	const n = 50
	var files []entry
	for _, part := range partNames {
		for _, class := range cinicClasses {
			for i := range n {
				files = append(files, entry{fmt.Sprintf("%s/%s/%d.png", part, class, i), nil})
			}
		}
	}
	p := largePictures{entries: files}
	l, _, err := list(t.Context(), &p, n)
	must.OK(t, err)
	l.images = make([]uint8, 1<<30) // of 350,000 pictures; its pages are never touched
	_, err = l.decode(t.Context(), &p)
	wantError(t, err, nil, "train/airplane/0.png: no PNG")
	if most := maxHeld/maxPicture + 1; p.read == 0 || p.read > most {
		t.Errorf("%d files read, want at most %d", p.read, most)
	}
}

// largePictures are files of zeros, each as large as it may be.
type largePictures struct {
	entries []entry
	read    int
}

func (l *largePictures) String() string                                   { return "memory" }
func (l *largePictures) fingerprint(context.Context) (fingerprint, error) { return fingerprint{}, nil }

func (l *largePictures) walk(_ context.Context, visit visitor) (fingerprint, error) {
	for _, e := range l.entries {
		err := visit(e.name, maxPicture, func() (io.ReadCloser, error) {
			l.read++
			return io.NopCloser(bytes.NewReader(make([]byte, maxPicture))), nil
		})
		if err != nil {
			return fingerprint{}, err
		}
	}
	return fingerprint{}, nil
}

// A cache is the user's own file, yet no more memory is taken than the set may have.
func TestCacheClaims(t *testing.T) {
	mark := fingerprint{sum: sha256.Sum256([]byte("pictures"))}
	for _, n := range []uint32{21, math.MaxUint32} {
		h := cacheHeader{Magic: cacheMagic, Source: mark.sum, Train: n, Test: n}
		raw := must.Get(binary.Append(nil, binary.LittleEndian, &h))(t)
		sum := headerSum(raw)
		copy(raw[len(raw)-len(sum):], sum[:])
		path := filepath.Join(t.TempDir(), "cinic10.cache")
		write(t, path, raw)
		if err := os.Truncate(path, cacheHeaderSize+2*int64(n)*(photoPixels+1)); err != nil {
			t.Skip("no sparse files here: ", err)
		}
		var err error
		taken := allocated(func() { _, err = readCache(context.Background(), path, mark, 40) })
		wantError(t, err, nil, fmt.Sprintf("corrupt: %d pictures, want at most 40", 2*int64(n)))
		if taken > 1<<20 {
			t.Errorf("%d bytes allocated, want less than 1 MiB", taken)
		}
	}
}
