package datasets

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/internal/must"
)

// site serves a mini archive, and keeps the Range header of every request.
type site struct {
	*mini
	mu     sync.Mutex
	ranges []string
}

// newSite serves with h, given the number of the request from 0.
func newSite(t *testing.T, h func(s *site, n int, w http.ResponseWriter, r *http.Request)) *site {
	t.Helper()
	s := &site{mini: newMini(t)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n := len(s.ranges)
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.mu.Unlock()
		h(s, n, w, r)
	}))
	t.Cleanup(server.Close)
	s.archive.url = server.URL + "/" + s.archive.name
	return s
}

// serve answers as an ordinary server does, ranges included.
func serve(s *site, _ int, w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, s.archive.name, time.Time{}, bytes.NewReader(s.tarball))
}

// some sends the first n bytes of the archive with the length of all of it, and breaks off.
func some(s *site, w http.ResponseWriter, n int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(s.tarball)))
	w.Write(s.tarball[:n])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// Every case starts with `part` bytes of the archive (or the junk given) in the part file, and ends with the data set.
func TestDownload(t *testing.T) {
	for _, c := range []struct {
		name   string
		part   func(tarball []byte) []byte
		serve  func(s *site, n int, w http.ResponseWriter, r *http.Request)
		ranges []string // asked for; HAVE: bytes of the part file at the start, HALF: half of the archive
	}{
		{name: "fresh", serve: serve, ranges: []string{""}},
		{
			// of a file that is shorter by now
			name: "another length meanwhile", part: func(b []byte) []byte { return b[:len(b)-1] },
			serve: func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				if n == 0 {
					w.Header().Set("Content-Range", "bytes */5")
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				serve(s, n, w, r)
			},
			ranges: []string{"bytes=HAVE-", ""},
		},
		{
			name: "resumed", part: func(b []byte) []byte { return b[:1000] }, serve: serve,
			ranges: []string{"bytes=1000-"},
		},
		{name: "all there", part: func(b []byte) []byte { return b }, serve: serve, ranges: []string{"bytes=HAVE-"}},
		{
			name: "part too long", part: func(b []byte) []byte { return append(bytes.Clone(b), 1, 2, 3) }, serve: serve,
			ranges: []string{""},
		},
		{
			name: "Range ignored", part: func(b []byte) []byte { return []byte("junk of another kind") },
			serve:  func(s *site, _ int, w http.ResponseWriter, _ *http.Request) { w.Write(s.tarball) },
			ranges: []string{"bytes=20-"},
		},
		{
			name: "another range than asked for", part: func(b []byte) []byte { return b[:1000] },
			serve: func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				if n == 0 {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes 7-%d/%d", len(s.tarball)-1, len(s.tarball)))
					w.WriteHeader(http.StatusPartialContent)
					w.Write(s.tarball[7:])
					return
				}
				serve(s, n, w, r)
			},
			ranges: []string{"bytes=1000-", ""},
		},
		{
			name: "416 without a length", part: func(b []byte) []byte { return b[:1000] },
			serve: func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				if n == 0 {
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				serve(s, n, w, r)
			},
			ranges: []string{"bytes=1000-", ""},
		},
		{
			name: "broken once",
			serve: func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				if n == 0 {
					some(s, w, len(s.tarball)/2)
				}
				serve(s, n, w, r)
			},
			ranges: []string{"", "bytes=HALF-"},
		},
		{
			name: "stalled once",
			serve: func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				if n == 0 {
					w.Header().Set("Content-Length", fmt.Sprint(len(s.tarball)))
					w.Write(s.tarball[:len(s.tarball)/2])
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					return
				}
				serve(s, n, w, r)
			},
			ranges: []string{"", "bytes=HALF-"},
		},
		{
			name: "redirected", part: func(b []byte) []byte { return b[:1000] },
			serve: func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.URL.Path, "/moved") {
					http.Redirect(w, r, "/moved/"+s.archive.name, http.StatusFound)
					return
				}
				serve(s, n, w, r)
			},
			ranges: []string{"bytes=1000-", "bytes=1000-"},
		},
		{
			name: "no length", // chunked
			serve: func(s *site, _ int, w http.ResponseWriter, _ *http.Request) {
				w.Write(s.tarball[:5000])
				w.(http.Flusher).Flush()
				w.Write(s.tarball[5000:])
			},
			ranges: []string{""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.serve)
			s.archive.idle = 200 * time.Millisecond
			dir, _, _ := alone(t)
			have := 0
			if c.part != nil {
				part := c.part(s.tarball)
				have = len(part)
				write(t, filepath.Join(dir, s.archive.name+".part"), part)
			}
			set := must.Get(Open(t.Context(), "cifar10", Options{Dir: dir, official: &s.fileSet}))(t)
			if set.Train.Len() != 20 || set.Test.Len() != 4 || set.Dir != filepath.Join(dir, s.folders[0]) {
				t.Errorf("%d train and %d test images in %s, want 20 and 4 in %s",
					set.Train.Len(), set.Test.Len(), set.Dir, filepath.Join(dir, s.folders[0]))
			}
			wantClean(t, dir, s.folders[0], s.archive.name)
			numbers := strings.NewReplacer("HAVE", fmt.Sprint(have), "HALF", fmt.Sprint(len(s.tarball)/2))
			got, want := strings.Join(s.ranges, ", "), numbers.Replace(strings.Join(c.ranges, ", "))
			if got != want {
				t.Errorf("ranges asked for: %q, want %q", got, want)
			}
		})
	}
}

func TestDownloadTo(t *testing.T) {
	for name, o := range map[string]Options{"environment": {}, "Dir": {Dir: "new/folder"}} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, serve)
			_, want, _ := alone(t)
			t.Chdir(t.TempDir())
			if o.Dir != "" {
				want = o.Dir
			}
			o.official = &s.fileSet
			got, err := Fetch(t.Context(), "cifar10", o)
			if want = filepath.Join(want, s.folders[0]); err != nil || got != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}
