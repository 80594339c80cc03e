package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// checksum returns the checksum of the set in memory, from the files and apart from [source.open].
func (s *small) checksum(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	for part := range partNames {
		var images, labels []uint8
		for i, f := range s.files {
			var x, y []uint8
			data := s.content[f.plain()]
			switch {
			case f.part != part:
				continue
			case s.record > 0:
				x, y = must.Get2(s.parse(bytes.NewReader(data), f.size, f, content{}))(t)
			case s.info.Name == "svhn":
				x, y = digits(7 - 3*i)
			case i%2 == 0:
				x = data[16:]
			default:
				y = data[8:]
			}
			images, labels = append(images, x...), append(labels, y...)
		}
		h.Write(images)
		h.Write(labels)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Wherever the files are, compressed or not, the set is the same.
func TestOpenFiles(t *testing.T) {
	never, always := func(int) bool { return false }, func(int) bool { return true }
	for _, c := range []struct {
		set, at    string
		compressed func(file int) bool // as published
	}{
		{"cifar10", ".", never},
		{"cifar100", ".", never},
		{"cifar100", "cifar-100-binary", never},
		{"svhn", "svhn", never},
		{"svhn", ".", never},
		{"mnist", "MNIST/raw", always},
		{"mnist", "mnist", never},
		{"fashion-mnist", "FashionMNIST/raw", always},
		{"fashion-mnist", "fashion", never},
		{"mnist", ".", func(file int) bool { return file%2 == 1 }},
	} {
		t.Run(c.set+" in "+c.at, func(t *testing.T) {
			s := newSmall(t, c.set)
			dir, env, _ := alone(t)
			for i, f := range s.files {
				name, data := f.plain(), s.content[f.plain()]
				if c.compressed(i) {
					name, data = f.name, f.published(data)
				}
				write(t, filepath.Join(env, c.at, name), data)
			}
			o := Options{Dir: dir, official: &s.source}
			set := must.Get(Open(t.Context(), c.set, o))(t)
			if want := s.checksum(t); set.Checksum != want || set.Dir != filepath.Join(env, c.at) {
				t.Errorf("checksum %s in %s, want %s in %s", set.Checksum, set.Dir, want, filepath.Join(env, c.at))
			}
			if set.Name != c.set || set.Train.Name != c.set+"/train" || set.Test.Name != c.set+"/test" {
				t.Errorf("names %q, %q, %q", set.Name, set.Train.Name, set.Test.Name)
			}
			all, err := Verify(t.Context(), c.set, o)
			altered := func(f FileStatus) bool { return f.Status != Official || f.String() != f.File+": official" }
			if s.files[0].sum == "" {
				altered = func(f FileStatus) bool { return f.Status != Unchecked }
			}
			if err != nil || len(all) != len(s.files) || slices.ContainsFunc(all, altered) {
				t.Errorf("Verify: %v, %v, want %d official files, or unchecked ones if nothing is published", all, err,
					len(s.files))
			}
		})
	}
}

// Every way to spoil a file: Open refuses it, Verify names it, and AllowAltered accepts what is well-formed. Errors in
// the content of a file are in the tests of its format.
func TestSpoiledFiles(t *testing.T) {
	longtest.Numbers(t)
	flip := func(at int) func(*small, []byte) []byte {
		return func(_ *small, data []byte) []byte { data[at] ^= 1; return data }
	}
	cut := func(n int) func(*small, []byte) []byte {
		return func(_ *small, data []byte) []byte { return data[:n] }
	}
	another := func(name string) func(*small, []byte) []byte {
		return func(s *small, _ []byte) []byte { return s.content[name] }
	}
	missing := func(*small, []byte) []byte { return nil }
	for _, c := range []struct {
		set, file, name string
		spoil           func(s *small, data []byte) []byte // nil: no file
		want            string                             // in the error of Open; … stands for anything
		status          Status                             // empty: a folder is in the place of the file
	}{
		{"cifar10", "data_batch_3.bin", "truncated", cut(999), "data_batch_3.bin: 999 bytes, want 12292", Malformed},
		{"cifar10", "data_batch_3.bin", "empty", cut(0), "data_batch_3.bin: 0 bytes, want 12292", Malformed},
		{
			"cifar10", "data_batch_3.bin", "too long", func(_ *small, data []byte) []byte { return append(data, 1) },
			"data_batch_3.bin: 12293 bytes, want 12292", Malformed,
		},
		{
			"cifar10", "data_batch_3.bin", "bad label",
			func(_ *small, data []byte) []byte { data[2*cifarRecord] = 10; return data },
			"data_batch_3.bin: record 2: label 10, want 0 … 9", Malformed,
		},
		{
			"cifar10", "data_batch_3.bin", "one pixel", flip(5000),
			"data_batch_3.bin: not the official file: altered: SHA-256 ", Altered,
		},
		{
			"cifar10", "data_batch_3.bin", "swapped", another("data_batch_2.bin"),
			"data_batch_3.bin: not the official file: swapped: SHA-256 …(data_batch_2.bin), want SHA-256 ", Swapped,
		},
		{"cifar10", "data_batch_3.bin", "missing", missing, "lacks data_batch_3.bin", Missing},
		{"cifar10", "data_batch_3.bin", "a folder", missing, "want a file", ""},
		{"svhn", "test_32x32.mat", "truncated", cut(500), "test_32x32.mat: element 1: truncated: ", Malformed},
		{"svhn", "test_32x32.mat", "one pixel", func(*small, []byte) []byte {
			images, labels := digits(4)
			images[5000] ^= 1
			return slices.Concat(little().header(), little().images(images), little().labels(labels))
		}, "test_32x32.mat: X: not the official file: 12536 bytes on disk, want ", Altered},
		{"svhn", "test_32x32.mat", "one label, of the same length", func(_ *small, data []byte) []byte {
			images, labels := digits(4)
			labels[2] = 9
			return slices.Concat(little().header(), little().compressed(little().images(images)),
				little().compressed(little().labels(labels)))
		}, "test_32x32.mat: not the official file: altered: MD5 ", Altered},
		{
			"svhn", "test_32x32.mat", "one more image", func(*small, []byte) []byte {
				images, labels := digits(5)
				return slices.Concat(little().header(), little().images(images), little().labels(labels))
			},
			"test_32x32.mat: X: not the official file: 5 samples, want 4", Altered,
		},
		{
			"svhn", "test_32x32.mat", "swapped", another("train_32x32.mat"),
			"test_32x32.mat: not the official file: swapped: MD5 …(train_32x32.mat), want MD5 ", Swapped,
		},
		{"svhn", "test_32x32.mat", "missing", missing, "lacks test_32x32.mat", Missing},
		{
			"mnist", "t10k-labels-idx1-ubyte", "altered", flip(9),
			"t10k-labels-idx1-ubyte: not the official file: altered: SHA-256 ", Altered,
		},
		{
			"mnist", "t10k-labels-idx1-ubyte", "images for labels", another("t10k-images-idx3-ubyte"),
			"t10k-labels-idx1-ubyte: header: 00000803, want 00000801 (bytes in 1 dimensions)", Malformed,
		},
		{"mnist", "train-labels-idx1-ubyte", "missing", missing, "lacks train-labels-idx1-ubyte.gz", Missing},
	} {
		t.Run(c.set+" "+c.name, func(t *testing.T) {
			s := newSmall(t, c.set)
			dir, _, _ := alone(t)
			s.lay(t, dir)
			path := filepath.Join(dir, c.file)
			must.OK(t, os.Remove(path))
			if data := c.spoil(s, bytes.Clone(s.content[c.file])); data != nil {
				write(t, path, data)
			} else if c.status == "" {
				must.OK(t, os.Mkdir(path, 0o755))
			}
			o := Options{Dir: dir, official: &s.source}
			_, err := Open(t.Context(), c.set, o)
			wantError(t, err, nil, append(strings.Split(c.want, "…("), "datasets: "+c.set+": ")...)
			allowed := c.status == Altered || c.status == Swapped
			if got := errors.Is(err, ErrAltered); got != allowed {
				t.Errorf("%v: is ErrAltered %v, want %v", err, got, allowed)
			}
			o.AllowAltered = true
			set, err := Open(t.Context(), c.set, o)
			if (err == nil) != allowed || err == nil && set.Checksum == s.checksum(t) {
				t.Errorf("AllowAltered: %v, want it accepted: %v, with a checksum of its own", err, allowed)
			}
			all, err := Verify(t.Context(), c.set, o)
			if c.status == "" {
				wantError(t, err, nil, c.file, "want a file")
				return
			}
			if err != nil || len(all) != len(s.files) {
				t.Fatalf("Verify: %v, %v, want %d files", all, err, len(s.files))
			}
			for i, f := range s.files {
				name, want := f.plain(), Official
				if name == c.file {
					want = c.status
				}
				if want == Missing {
					name = f.name
				}
				if all[i].Status != want || all[i].File != name || all[i].Path != filepath.Join(dir, name) ||
					!strings.HasPrefix(all[i].String(), fmt.Sprintf("%s: %s", name, want)) {
					t.Errorf("file %d: %s (%s), want %s: %s", i, all[i], all[i].Path, name, want)
				}
			}
		})
	}
}

// A file with the number of samples of the other part is read, as it may be the official one of that part.
func TestSwappedLabels(t *testing.T) {
	s := newSmall(t, "mnist")
	dir, _, _ := alone(t)
	s.content["t10k-labels-idx1-ubyte"] = s.content["train-labels-idx1-ubyte"]
	s.lay(t, dir)
	_, err := s.open(t, Options{Dir: dir})
	wantError(t, err, ErrAltered, "t10k-labels-idx1-ubyte: not the official file: swapped: SHA-256 ",
		"(train-labels-idx1-ubyte.gz), want ")
}

// Labels that are fewer than the images are refused, although both files are well-formed.
func TestFewerLabels(t *testing.T) {
	s := newSmall(t, "mnist")
	dir, _, _ := alone(t)
	s.content["train-labels-idx1-ubyte"] = idx([]byte{1, 2, 3, 4, 5}, 5)
	s.lay(t, dir)
	_, err := s.open(t, Options{Dir: dir, AllowAltered: true})
	wantError(t, err, nil, "datasets: mnist: ",
		"train-labels-idx1-ubyte: 5 labels, want 6, the images of train-images-idx3-ubyte")
}

// Cancelling ends a load.
func TestFilesCancelled(t *testing.T) {
	s := newSmall(t, "svhn")
	dir, _, _ := alone(t)
	s.lay(t, dir)
	f := s.files[0]
	_, err := s.read(cancelled(t), f.in(dir), f, new(content))
	wantError(t, err, context.Canceled, "train_32x32.mat: ")
	_, err = Open(cancelled(t), "svhn", Options{Dir: dir, official: &s.source})
	wantError(t, err, context.Canceled, "datasets: svhn: ")
}
