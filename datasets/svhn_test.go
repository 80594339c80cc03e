package datasets

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

// miniSVHN is SVHN in small: 7 and 4 images, with checksums of their own, to be had from a mirror.
func miniSVHN(t *testing.T, m *mirror) (*fileSet, map[string][]byte) {
	t.Helper()
	s := svhnFiles
	s.files = slices.Clone(s.files)
	content := map[string][]byte{}
	for i := range s.files {
		f := &s.files[i]
		images, labels := digits(7 - 3*i)
		w := little()
		data := slices.Concat(w.header(), w.compressed(w.images(images)), w.compressed(w.labels(labels)))
		sum := md5.Sum(data)
		f.md5 = hex.EncodeToString(sum[:])
		f.sum = "MD5 " + f.md5
		f.pause, f.url = time.Millisecond, "http://127.0.0.1:1/"+f.name // port 1: nobody answers
		if m != nil {
			f.url = m.url + "first/" + f.name
			m.files["first/"+f.name] = data
		}
		content[f.name] = data
	}
	return &s, content
}

// The sample has the first images of the real file, in a file of the official structure. The checksum is that of the
// pixels [n,32,32,3] and the labels modulo 10, read by scipy.io.loadmat: X.transpose(3, 0, 1, 2), then y % 10 as bytes.
func TestSVHNSample(t *testing.T) {
	path := realFile(t, "svhn-sample/train_32x32.mat")
	var c content
	must.Get(svhnFiles.read(t.Context(), path, svhnFiles.files[0], &c))(t)
	images, labels := c.images, c.labels
	sum := sha256.Sum256(append(bytes.Clone(images), labels...))
	const want = "c526f65ac2fbf21aa0dd01af72aab82a23a06e927db568850155cb1e2163f12a"
	if got := hex.EncodeToString(sum[:]); got != want || len(labels) != 1083 {
		t.Errorf("%d images of SHA-256 %s, want 1083 of %s", len(labels), got, want)
	}
	// As both parts of a set: refused, since it is not the official one, unless that is allowed.
	dir, _, _ := alone(t)
	data := must.Get(os.ReadFile(path))(t)
	for _, name := range []string{"train_32x32.mat", "test_32x32.mat"} {
		write(t, filepath.Join(dir, name), data)
	}
	_, err := Open(t.Context(), "svhn", Options{Dir: dir})
	wantError(t, err, ErrAltered, "datasets: svhn: ", "train_32x32.mat: not the official file: altered: MD5 ",
		"want MD5 e26dedcc434d2e4c54c9b2d4a06d8373")
	set, err := Open(t.Context(), "svhn", Options{Dir: dir, AllowAltered: true})
	if err != nil || set.Train.Len() != 1083 || set.Dir != dir || set.Train.Name != "svhn/train" ||
		set.Test.Name != "svhn/test" {
		t.Errorf("got %+v, %v, want 1083 images of svhn/train and svhn/test from %s", set, err, dir)
	}
}

func TestOpenSVHN(t *testing.T) {
	for name, at := range map[string]string{"folder": "svhn", "directly": "."} {
		t.Run(name, func(t *testing.T) {
			s, content := miniSVHN(t, nil)
			dir, env, _ := alone(t)
			for name, data := range content {
				write(t, filepath.Join(env, at, name), data)
			}
			set := must.Get(Open(t.Context(), "svhn", Options{Dir: dir, official: s}))(t)
			train, trainLabels := digits(7)
			test, testLabels := digits(4)
			sum := sha256.Sum256(slices.Concat(train, trainLabels, test, testLabels))
			if want := hex.EncodeToString(sum[:]); set.Checksum != want || set.Dir != filepath.Join(env, at) {
				t.Errorf("checksum %s in %s, want %s in %s", set.Checksum, set.Dir, want, filepath.Join(env, at))
			}
		})
	}
}

// Every way to spoil a file: Open refuses it, Verify names it, and AllowAltered accepts what is well-formed.
func TestSpoiledSVHN(t *testing.T) {
	const file = "test_32x32.mat"
	for _, c := range []struct {
		name    string
		spoil   func(content map[string][]byte)
		open    string
		status  Status
		verify  string
		allowed bool
	}{
		{
			"truncated", func(m map[string][]byte) { m[file] = m[file][:500] },
			"test_32x32.mat: element 1: truncated: ",
			Malformed, "element 1: truncated: ", false,
		},
		{"dimensions", func(m map[string][]byte) {
			w := little()
			m[file] = slices.Concat(w.header(),
				w.matrix("X", mxUINT8, []int32{32, 32, 1, 4}, miUINT8, make([]byte, 4096)), w.labels(make([]uint8, 4)))
		}, "test_32x32.mat: X: dimensions [32 32 1 4], want [32 32 3 n]", Malformed, "X: dimensions", false},
		{
			"swapped", func(m map[string][]byte) { m[file] = m["train_32x32.mat"] },
			"test_32x32.mat: not the official file: swapped: MD5 ", Swapped, "(train_32x32.mat), want MD5 ", true,
		},
		{"one pixel", func(m map[string][]byte) {
			images, labels := digits(4)
			images[5000] ^= 1
			m[file] = slices.Concat(little().header(), little().images(images), little().labels(labels))
		}, "test_32x32.mat: not the official file: altered: MD5 ", Altered, "altered: MD5 ", true},
		{
			"missing", func(m map[string][]byte) { delete(m, file) }, "lacks test_32x32.mat", Missing,
			"missing: no such file, want MD5 ", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, content := miniSVHN(t, nil)
			dir, _, _ := alone(t)
			c.spoil(content)
			for name, data := range content {
				write(t, filepath.Join(dir, name), data)
			}
			o := Options{Dir: dir, official: s}
			_, err := Open(t.Context(), "svhn", o)
			wantError(t, err, nil, "datasets: svhn: ", c.open)
			o.AllowAltered = true
			if _, err := Open(t.Context(), "svhn", o); (err == nil) != c.allowed {
				t.Errorf("AllowAltered: %v, want it accepted: %v", err, c.allowed)
			}
			all, err := Verify("svhn", o)
			if err != nil || len(all) != 2 || all[0].Status != Official || all[1].Status != c.status ||
				!strings.Contains(all[1].String(), c.verify) {
				t.Errorf("Verify: %v, %v, want official and %s with %q", all, err, c.status, c.verify)
			}
		})
	}
}

// Each file is downloaded by itself, into the folder that has some of them if there is one.
func TestFetchSVHN(t *testing.T) {
	for _, c := range []struct {
		name  string
		there map[string]string // official file by where it lies already
		want  string
		asked []string
	}{
		{"nothing there", nil, "svhn", []string{"first/train_32x32.mat", "first/test_32x32.mat"}},
		{
			"one in the folder",
			map[string]string{"svhn/train_32x32.mat": "train_32x32.mat"},
			"svhn",
			[]string{"first/test_32x32.mat"},
		},
		{"one directly", map[string]string{"test_32x32.mat": "test_32x32.mat"}, ".", []string{"first/train_32x32.mat"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirror(t)
			s, content := miniSVHN(t, m)
			dir, _, _ := alone(t)
			for at, name := range c.there {
				write(t, filepath.Join(dir, at), content[name])
			}
			set := must.Get(Open(t.Context(), "svhn", Options{Dir: dir, official: s}))(t)
			if set.Dir != filepath.Join(dir, c.want) || !slices.Equal(m.asked, c.asked) {
				t.Errorf("in %s after %q, want %s after %q", set.Dir, m.asked, filepath.Join(dir, c.want), c.asked)
			}
			wantClean(t, set.Dir, "test_32x32.mat", "train_32x32.mat")
		})
	}
}

func TestFetchSVHNFails(t *testing.T) {
	m := newMirror(t)
	s, _ := miniSVHN(t, m)
	m.files["first/test_32x32.mat"] = []byte("<html>log in first</html>")
	dir, _, _ := alone(t)
	_, err := Open(t.Context(), "svhn", Options{Dir: dir, official: s})
	wantError(t, err, ErrAltered, "datasets: svhn: not found, looked in ",
		"test_32x32.mat: not the official file: MD5 ")
	wantClean(t, filepath.Join(dir, "svhn"), "train_32x32.mat") // what came whole is kept, and nothing else
	delete(m.files, "first/test_32x32.mat")
	_, err = Fetch(t.Context(), "svhn", Options{Dir: dir, official: s})
	wantError(t, err, ErrUnavailable, "test_32x32.mat: unavailable: status 404 Not Found", "lacks test_32x32.mat")
	wantError(t, err, ErrNotFound)
}

// Loading a set takes less than twice its memory, as promised: 12,000 and 4,000 images, 49 MB.
func TestSVHNMemory(t *testing.T) {
	longtest.Numbers(t)
	s, _ := miniSVHN(t, nil)
	dir, _, _ := alone(t)
	for i, n := range []int{12_000, 4_000} {
		images, labels := digits(n)
		w := little()
		data := slices.Concat(w.header(), w.compressed(w.images(images)), w.compressed(w.labels(labels)))
		write(t, filepath.Join(dir, s.files[i].name), data)
	}
	const data = 16_000 * (photoPixels + 1)
	var set *Set
	var err error
	peak := peakHeap(func() {
		set, err = Open(t.Context(), "svhn", Options{Dir: dir, AllowAltered: true, official: s})
	})
	if err != nil {
		t.Fatal(err)
	}
	// a little of the heap before is freed meanwhile
	if set.Train.Len() != 12_000 || peak < data*9/10 || peak > 2*data {
		t.Errorf("%d images to train on; peak heap %d bytes for a set of %d, want that and at most twice as much",
			set.Train.Len(), peak, data)
	}
	t.Logf("peak heap %.2f times the set", float64(peak)/data)
}

// Cancelling ends a load.
func TestSVHNCancelled(t *testing.T) {
	s, files := miniSVHN(t, nil)
	dir, _, _ := alone(t)
	for name, data := range files {
		write(t, filepath.Join(dir, name), data)
	}
	f := s.files[0]
	_, err := s.read(cancelled(t), f.in(dir), f, new(content))
	wantError(t, err, context.Canceled, "train_32x32.mat: ")
	_, err = Open(cancelled(t), "svhn", Options{Dir: dir, official: s})
	wantError(t, err, context.Canceled, "datasets: svhn: ")
}
