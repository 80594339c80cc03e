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

	"rollcall/results/files"
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
		{"404", func(_ *site, _ int, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, ErrUnavailable, "status 404 Not Found", 0},
		{"503", func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, ErrUnavailable, "status 503 Service Unavailable", 0},
		{"always truncated, no progress after the first", func(s *site, n int, w http.ResponseWriter, _ *http.Request) {
			if n == 0 {
				some(s, w, 1234)
			}
			panic(http.ErrAbortHandler)
		}, ErrUnavailable, "EOF", 1234},
		{"always from the start, always truncated", func(s *site, _ int, w http.ResponseWriter, _ *http.Request) { some(s, w, 1234) }, ErrUnavailable, "after 1234 of %d bytes: unexpected EOF", 1234},
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
	for name, url := range map[string]string{"refused": m.archive.url, "no such host": "http://rollcall.invalid/" + m.archive.name} {
		t.Run(name, func(t *testing.T) {
			m.archive.url = url
			_, err := Open(t.Context(), "cifar10", Options{Dir: dir, official: &m.fileSet})
			wantError(t, err, ErrUnavailable, "datasets: cifar10: not found, looked in "+dir, "download "+url+": unavailable: ")
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
	if part, err := os.ReadFile(filepath.Join(dir, s.archive.name+".part")); err != nil || !bytes.Equal(part, s.tarball[:3000]) {
		t.Errorf("part file: %d bytes, %v, want the 3000 that came", len(part), err)
	}
}

func TestDownloadDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	s := newSite(t, serve)
	dir, _, _ := alone(t)
	if err := os.Symlink("/dev/full", filepath.Join(dir, s.archive.name+".part")); err != nil {
		t.Fatal(err)
	}
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

// Of two processes one downloads; the other is told so.
func TestDownloadLocked(t *testing.T) {
	s := newSite(t, serve)
	dir, _, _ := alone(t)
	f, err := os.Create(filepath.Join(dir, s.archive.name+".part"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := files.Lock(f); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), "cifar10", Options{Dir: dir, official: &s.fileSet})
	wantError(t, err, nil, "datasets: cifar10: ", "another process is downloading it")
	if len(s.ranges) != 0 {
		t.Errorf("%d requests, want none", len(s.ranges))
	}
}
