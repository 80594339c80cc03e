package datasets

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// What fails says how, and leaves only what the next attempt can go on from.
func TestDownloadFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(s *site, n int, w http.ResponseWriter, r *http.Request)
		is    error
		want  string // %d: size of the archive
		left  int    // bytes in the part file; −1: no part file
	}{
		{
			"wrong checksum", func(s *site, _ int, w http.ResponseWriter, _ *http.Request) {
				w.Write([]byte("<html>log in first</html>"))
			},
			ErrAltered, "MD5 c92b6325b3943a5d71e351992b3033ad, want ", -1,
		},
		{
			"404", func(_ *site, _ int, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, ErrUnavailable,
			"status 404 Not Found", 0,
		},
		{
			"503", func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, ErrUnavailable,
			"status 503 Service Unavailable", 0,
		},
		{"always truncated, no progress after the first", func(s *site, n int, w http.ResponseWriter, _ *http.Request) {
			if n == 0 {
				some(s, w, 1234)
			}
			panic(http.ErrAbortHandler)
		}, ErrUnavailable, "EOF", 1234},
		{"always from the start, always truncated", func(s *site, _ int, w http.ResponseWriter, _ *http.Request) {
			some(s, w, 1234)
		}, ErrUnavailable, "after 1234 of %d bytes: unexpected EOF", 1234},
		{"redirected in circles", func(_ *site, _ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, ErrUnavailable, "stopped after 10 redirects", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.serve)
			dir, _, _ := alone(t)
			_, err := Open(t.Context(), "cifar10", Options{Dir: dir, official: &s.fileSet})
			want := c.want
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, len(s.tarball))
			}
			wantError(t, err, c.is, "datasets: cifar10: ", s.archive.url, want)
			part, err := os.ReadFile(filepath.Join(dir, s.archive.name+".part"))
			switch {
			case c.left < 0:
				wantClean(t, dir)
			case err != nil:
				t.Error(err)
			case !bytes.Equal(part, s.tarball[:c.left]):
				t.Errorf("part file holds %d bytes, want the first %d of the archive", len(part), c.left)
			}
		})
	}
}

// A machine without a network: both that it was not found, and why it could not be downloaded.
func TestDownloadNoNetwork(t *testing.T) {
	m := newMini(t)
	dir, _, _ := alone(t)
	for name, url := range map[string]string{
		"refused":      m.archive.url,
		"no such host": "http://rollcall.invalid/" + m.archive.name,
	} {
		t.Run(name, func(t *testing.T) {
			m.archive.url = url
			_, err := Open(t.Context(), "cifar10", Options{Dir: dir, official: &m.fileSet})
			wantError(t, err, ErrUnavailable, "datasets: cifar10: not found, looked in "+dir,
				"download "+url+": unavailable: ")
			wantError(t, err, ErrNotFound)
		})
	}
}

func TestDownloadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSite(t, func(s *site, _ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(s.tarball)))
		w.Write(s.tarball[:3000])
		w.(http.Flusher).Flush()
		time.AfterFunc(50*time.Millisecond, cancel)
		<-r.Context().Done()
	})
	dir, _, _ := alone(t)
	start := time.Now()
	_, err := Open(ctx, "cifar10", Options{Dir: dir, official: &s.fileSet})
	wantError(t, err, context.Canceled, "datasets: cifar10: download "+s.archive.url)
	if elapsed := time.Since(start); elapsed > time.Second { // Ctrl-C is promised to end within a second
		t.Errorf("ended after %v, want less than 1s", elapsed)
	}
	if part, err := os.ReadFile(filepath.Join(dir, s.archive.name+".part")); err != nil ||
		!bytes.Equal(part, s.tarball[:3000]) {
		t.Errorf("part file: %d bytes, %v, want the 3000 that came", len(part), err)
	}
}

func TestDownloadDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	s := newSite(t, serve)
	dir, _, _ := alone(t)
	must.OK(t, os.Symlink("/dev/full", filepath.Join(dir, s.archive.name+".part")))
	_, err := Open(t.Context(), "cifar10", Options{Dir: dir, official: &s.fileSet})
	wantError(t, err, nil, "datasets: cifar10: ", dir, "no space left on device")
	if len(s.ranges) != 1 {
		t.Errorf("%d requests, want 1: a full disk is not tried again", len(s.ranges))
	}
}

func TestDownloadUnwritable(t *testing.T) {
	s := newSite(t, serve)
	dir, _, _ := alone(t)
	file := filepath.Join(dir, "file")
	write(t, file, nil)
	_, err := Open(t.Context(), "cifar10", Options{Dir: filepath.Join(file, "below"), official: &s.fileSet})
	wantError(t, err, nil, "datasets: cifar10: ", file, "not a directory")
}

// endless sends zeros for as long as anybody reads, and returns how many were sent.
func endless(w http.ResponseWriter) (sent int64) {
	zeros := make([]byte, 1<<16)
	for sent < 1<<30 { // a gigabyte, if nobody stops it
		n, err := w.Write(zeros)
		if sent += int64(n); err != nil {
			break
		}
	}
	return sent
}

// No more is read than the file may have, whatever a server sends or announces, and nothing of it is kept.
func TestDownloadEnds(t *testing.T) {
	sent := make(chan int64, 9)
	for _, c := range []struct {
		name   string
		part   int   // bytes of the archive that are there at first
		length int64 // of the archive, as known; −1: it is known
		serve  func(s *site, n int, w http.ResponseWriter, r *http.Request)
		want   string // %d: size of the archive
	}{
		{
			"endless", 0, -1, func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) { sent <- endless(w) },
			"more than %d bytes, want %[1]d",
		},
		{"endless from where it was", 1000, -1, func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 1000-2000/*")
			w.WriteHeader(http.StatusPartialContent)
			sent <- endless(w)
		}, "more than %d bytes, want %[1]d"},
		{"Content-Length too large", 0, -1, func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000000")
			sent <- endless(w)
		}, ": 1000000000000 bytes, want %d"},
		{"range of something larger", 1000, -1, func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 1000-99999999/100000000")
			w.WriteHeader(http.StatusPartialContent)
			sent <- endless(w)
		}, ": 100000000 bytes, want %d"},
		{"range longer than announced", 1000, -1, func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 1000-4999/5000")
			w.WriteHeader(http.StatusPartialContent)
			sent <- endless(w)
		}, "more than the 5000 bytes announced"},
		{"length unknown, too large", 0, 0, func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2147483649")
			sent <- endless(w)
		}, ": 2147483649 bytes, want at most 2147483648"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.serve)
			if c.length >= 0 {
				s.archive.length = c.length
			}
			dir, _, _ := alone(t)
			if c.part > 0 {
				write(t, filepath.Join(dir, s.archive.name+".part"), s.tarball[:c.part])
			}
			_, err := Open(t.Context(), "cifar10", Options{Dir: dir, official: &s.fileSet})
			if strings.Contains(c.want, "%") {
				c.want = fmt.Sprintf(c.want, len(s.tarball))
			}
			wantError(t, err, ErrAltered, "datasets: cifar10: ", s.archive.url, s.archive.name, c.want)
			wantClean(t, dir)
			// Buffers of kernel and client lie between: some megabytes, of a gigabyte.
			if n := <-sent; n > 64<<20 || len(s.ranges) != 1 {
				t.Errorf("%d bytes sent in %d requests, want less than 64 MiB in one", n, len(s.ranges))
			}
		})
	}
}

// The published lengths are those of the files beside the repository, where they are there.
func TestPublishedLengths(t *testing.T) {
	for _, l := range loaders {
		set, ok := l.official.(*fileSet)
		if !ok {
			continue
		}
		files := []remote{set.archive}
		if set.archive.name == "" {
			files = nil
			for _, f := range set.files {
				files = append(files, f.remote)
			}
		}
		for _, f := range files {
			if f.length < 1000 || f.length > mostUnknown || f.md5 == "" {
				t.Errorf("%s: %d bytes, MD5 %q, want both known", f.name, f.length, f.md5)
			}
			path := filepath.Join("../../shared/data", l.info.Name, f.name)
			if info, err := os.Stat(path); err == nil && info.Size() != f.length {
				t.Errorf("%s: %d bytes, want %d as published", path, info.Size(), f.length)
			}
		}
	}
}
