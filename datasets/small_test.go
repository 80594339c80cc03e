package datasets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/internal/must"
)

// small is a data set of official-looking files: few samples, with checksums of their own. Nobody answers at its
// addresses until [newSite] serves it.
type small struct {
	source
	content map[string][]byte // files by name, uncompressed and without .gz
	tarball []byte            // the archive
}

// newSmall makes the small set of a name: CIFAR-10 with 4 random records a file, CIFAR-100 with 2 and 1 records of each
// class, SVHN with 7 and 4 images, MNIST and Fashion-MNIST with 6 and 3, CINIC-10 with 2 pictures of each class in each
// part, FEMNIST with the 3 writers of [smallLEAF].
func newSmall(t testing.TB, name string) *small {
	t.Helper()
	s := &small{source: *must.Get(lookup(name, Options{}))(t).official, content: map[string][]byte{}}
	s.archive.url = "http://127.0.0.1:1/" + s.archive.name
	s.archive.idle, s.archive.pause = 5*time.Second, time.Millisecond
	if name == "cinic10" {
		s.samples = [2]int{20, 20}
		s.perClass, s.tarball = 2, tarball("", miniTree(2))
		return s
	}
	if name == "femnist" {
		s.content = smallLEAF()
		return s
	}
	random := rand.NewChaCha8([32]byte{7})
	s.files = slices.Clone(s.files)
	s.samples = map[string][2]int{
		"cifar10": {20, 4}, "cifar100": {200, 100}, "svhn": {7, 4}, "mnist": {6, 3}, "fashion-mnist": {6, 3},
	}[name]
	for i := range s.files {
		f := &s.files[i]
		var data []byte
		switch name {
		case "cifar10":
			data = make([]byte, 4*cifarRecord)
			random.Read(data)
			for r := range 4 {
				data[r*cifarRecord] %= imageClasses
			}
			f.size = int64(len(data))
		case "cifar100":
			data = make([]byte, s.samples[i]*cifar100Record)
			random.Read(data)
			for r := range s.samples[i] {
				data[r*cifar100Record], data[r*cifar100Record+1] = byte(r%20), byte(r%100)
			}
			f.size = int64(len(data))
		case "svhn":
			images, labels := digits(7 - 3*i)
			w := little()
			data = slices.Concat(w.header(), w.compressed(w.images(images)), w.compressed(w.labels(labels)))
		case "mnist", "fashion-mnist":
			data = smallIDX(i)
			if name == "fashion-mnist" {
				data[len(data)-1]++ // a label too: that of the last of six is 0 or 5
			}
		}
		if kind, _, _ := strings.Cut(f.sum, " "); kind != "" {
			h := hashes[kind]()
			h.Write(data)
			f.sum = fmt.Sprintf("%s %x", kind, h.Sum(nil))
		}
		f.length, f.md5 = int64(len(f.published(data))), fmt.Sprintf("%x", md5.Sum(f.published(data)))
		f.url, f.mirrors, f.pause = "http://127.0.0.1:1/"+f.name, nil, time.Millisecond
		s.content[f.plain()] = data
	}
	if name == "cifar10" || name == "cifar100" {
		s.pack(t, s.folders[0])
	}
	return s
}

func (f *publishedFile) plain() string { return strings.TrimSuffix(f.name, ".gz") }

// published returns the bytes of the file at its address, for its content.
func (f *publishedFile) published(content []byte) []byte {
	if strings.HasSuffix(f.name, ".gz") {
		return zipped(content)
	}
	return content
}

// smallIDX makes file i of the small MNIST.
func smallIDX(i int) []byte {
	n := 6 - 3*(i/2)
	data, dims := make([]byte, n), []uint32{uint32(n)}
	if i%2 == 0 {
		data, dims = make([]byte, n*mnistPixels), []uint32{uint32(n), 28, 28}
	}
	for j := range data {
		data[j] = byte(j*(i+3)) % (10 + 241*byte(1-i%2))
	}
	return idx(data, dims...)
}

// pack makes the archive, its files in the given folder, beside what no archive should have.
func (s *small) pack(t testing.TB, folder string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	add := func(h *tar.Header, data []byte) {
		h.Size = int64(len(data))
		must.OK(t, w.WriteHeader(h))
		must.Get(w.Write(data))(t)
	}
	add(&tar.Header{Name: folder + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	add(&tar.Header{Name: folder + "/batches.meta.txt", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("airplane\n"))
	add(&tar.Header{Name: "../../escaped.bin", Typeflag: tar.TypeReg, Mode: 0o644}, []byte("no"))
	add(&tar.Header{Name: folder + "/link.bin", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil)
	for _, f := range s.files {
		if data, ok := s.content[f.name]; ok {
			add(&tar.Header{Name: folder + "/" + f.name, Typeflag: tar.TypeReg, Mode: 0o444}, data)
		}
	}
	must.OK(t, errors.Join(w.Close(), z.Close()))
	s.setArchive(b.Bytes())
}

func (s *small) setArchive(data []byte) {
	s.tarball = data
	s.archive.md5, s.archive.length = fmt.Sprintf("%x", md5.Sum(data)), int64(len(data))
}

// lay writes the files into dir, uncompressed.
func (s *small) lay(t *testing.T, dir string) {
	t.Helper()
	for name, data := range s.content {
		write(t, filepath.Join(dir, name), data)
	}
}

func (s *small) open(t *testing.T, o Options) (*Set, error) {
	o.official = &s.source
	return Open(t.Context(), s.info.Name, o)
}

// site serves a small set, and keeps the path and the Range header of every request.
type site struct {
	*small
	served        map[string][]byte // by path; others are not found
	mu            sync.Mutex
	asked, ranges []string
}

// newSite serves a set with h, which is given the number of the request from 0. Files that are published by themselves
// have the path first/NAME, and second/NAME at MNIST's mirror.
func newSite(t *testing.T, name string, h func(s *site, n int, w http.ResponseWriter, r *http.Request)) *site {
	t.Helper()
	s := &site{small: newSmall(t, name), served: map[string][]byte{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n := len(s.asked)
		s.asked, s.ranges = append(s.asked, r.URL.Path[1:]), append(s.ranges, r.Header.Get("Range"))
		s.mu.Unlock()
		h(s, n, w, r)
	}))
	t.Cleanup(server.Close)
	s.archive.url, s.served[s.archive.name] = server.URL+"/"+s.archive.name, s.tarball
	for i := range s.files {
		f := &s.files[i]
		if f.url = server.URL + "/first/" + f.name; name == "mnist" {
			f.mirrors = []string{server.URL + "/second/" + f.name}
		}
		data := f.published(s.content[f.plain()])
		s.served["first/"+f.name], s.served["second/"+f.name] = data, data
	}
	return s
}

// serve answers as an ordinary server does, ranges included.
func serve(s *site, _ int, w http.ResponseWriter, r *http.Request) {
	if data, ok := s.served[r.URL.Path[1:]]; ok {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		return
	}
	http.NotFound(w, r)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.OK(t, os.WriteFile(path, data, 0o644))
}

// alone points the places looked at to empty folders, and returns the one for Options.Dir.
func alone(t *testing.T) (dir, env, cache string) {
	t.Helper()
	dir, env, cache = t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("ROLLCALL_DATA", env)
	t.Setenv("XDG_CACHE_HOME", cache)
	if got, err := os.UserCacheDir(); err != nil || got != cache {
		t.Skipf("the user cache directory is %s (%v) whatever XDG_CACHE_HOME says", got, err)
	}
	return dir, env, filepath.Join(cache, "rollcall")
}

// wantError checks that err is one line, is `is` (unless nil), and contains every text.
func wantError(t *testing.T, err, is error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %q is not %q", err, is)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has several lines", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q\nlacks %q", err, text)
		}
	}
}

// wantClean checks that a folder holds nothing but the names given.
func wantClean(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("%s holds %q, want %q", dir, names, want)
	}
}

func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// allocated returns how many bytes f allocates, all in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// wantTwice opens the set, of n photos, and checks that the heap grows by no more than twice the set meanwhile, garbage
// included.
func (s *small) wantTwice(t *testing.T, o Options, n int) {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, m.HeapAlloc
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	}()
	set, err := s.open(t, o)
	close(stop)
	<-stopped
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&m)
	peak = max(peak, m.HeapAlloc) - before
	data := uint64(n * (photoPixels + 1))
	// a little of the heap before is freed meanwhile
	if set.Train.Len()+set.Test.Len() != n || peak < data*9/10 || peak > 2*data {
		t.Errorf("%d and %d pictures, want %d; peak heap %d bytes for a set of %d, want that and at most twice as much",
			set.Train.Len(), set.Test.Len(), n, peak, data)
	}
	t.Logf("peak heap %.2f times the set", float64(peak)/float64(data))
}
