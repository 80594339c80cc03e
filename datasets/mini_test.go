package datasets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// mini is CIFAR-10 in small: the official names, 4 records a file, random content, and its own checksums.
type mini struct {
	fileSet
	content map[string][]byte // by file name
	tarball []byte
}

func newMini(t *testing.T) *mini {
	t.Helper()
	m := &mini{fileSet: cifar10Files, content: map[string][]byte{}}
	// port 1: nobody answers
	m.archive.url, m.archive.idle, m.archive.pause = "http://127.0.0.1:1/"+m.archive.name,
		5*time.Second, time.Millisecond
	m.files = slices.Clone(m.files)
	random := rand.NewChaCha8([32]byte{7})
	for i := range m.files {
		data := make([]byte, 4*cifarRecord)
		random.Read(data)
		for r := range 4 {
			data[r*cifarRecord] %= imageClasses
		}
		sum := sha256.Sum256(data)
		m.files[i].size, m.files[i].sum = int64(len(data)), "SHA-256 "+hex.EncodeToString(sum[:])
		m.content[m.files[i].name] = data
	}
	m.makeTarball(t, m.folders[0])
	return m
}

// makeTarball makes the tarball, its files in the given folder, and its MD5.
func (m *mini) makeTarball(t *testing.T, folder string) {
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
	for _, f := range m.files {
		if data, ok := m.content[f.name]; ok {
			add(&tar.Header{Name: folder + "/" + f.name, Typeflag: tar.TypeReg, Mode: 0o444}, data)
		}
	}
	must.OK(t, errors.Join(w.Close(), z.Close()))
	m.tarball = b.Bytes()
	sum := md5.Sum(m.tarball)
	m.archive.md5, m.archive.length = hex.EncodeToString(sum[:]), int64(len(m.tarball))
}

// lay writes the files into dir.
func (m *mini) lay(t *testing.T, dir string) {
	t.Helper()
	must.OK(t, os.MkdirAll(dir, 0o755))
	for name, data := range m.content {
		write(t, filepath.Join(dir, name), data)
	}
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

// cancelled returns a context that has ended.
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

// realFile returns the path of a file in a folder beside the repository. Without it the test is skipped.
func realFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("../../shared/data", name)
	if !isFile(path) {
		t.Skipf("%s is not in ../shared/data beside the repository", name)
	}
	return path
}

// peakHeap returns by how much the heap grew at most while f ran, garbage included.
func peakHeap(f func()) uint64 {
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
	f()
	close(stop)
	<-stopped
	runtime.ReadMemStats(&m)
	return max(peak, m.HeapAlloc) - before
}
