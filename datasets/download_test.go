package datasets

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
)

// some sends the first n bytes of the archive with the length of all of it.
func some(s *site, w http.ResponseWriter, n int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(s.tarball)))
	w.Write(s.tarball[:n])
	w.(http.Flusher).Flush()
}

type handler = func(s *site, n int, w http.ResponseWriter, r *http.Request)

// first answers the first request with h, and the others as an ordinary server does.
func first(h handler) handler {
	return func(s *site, n int, w http.ResponseWriter, r *http.Request) {
		if n > 0 {
			serve(s, n, w, r)
			return
		}
		h(s, n, w, r)
	}
}

// status answers with a status, and a Content-Range unless it is empty.
func status(code int, contentRange string) handler {
	return func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) {
		if contentRange != "" {
			w.Header().Set("Content-Range", contentRange)
		}
		w.WriteHeader(code)
	}
}

// Every case starts with `part` bytes of the archive (or the junk given) in the part file, and ends with the data set.
func TestDownload(t *testing.T) {
	for _, c := range []struct {
		name   string
		part   func(tarball []byte) []byte
		serve  handler
		ranges []string // asked for; HAVE: bytes of the part file at the start, HALF: half of the archive
	}{
		{name: "fresh", serve: serve, ranges: []string{""}},
		{
			// of a file that is shorter by now
			name: "another length meanwhile", part: func(b []byte) []byte { return b[:len(b)-1] },
			serve:  first(status(http.StatusRequestedRangeNotSatisfiable, "bytes */5")),
			ranges: []string{"bytes=HAVE-", ""},
		},
		{
			name: "resumed", part: func(b []byte) []byte { return b[:1000] }, serve: serve,
			ranges: []string{"bytes=1000-"},
		},
		{name: "complete", part: func(b []byte) []byte { return b }, serve: serve, ranges: []string{"bytes=HAVE-"}},
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
			serve: first(func(s *site, _ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 7-%d/%d", len(s.tarball)-1, len(s.tarball)))
				w.WriteHeader(http.StatusPartialContent)
				w.Write(s.tarball[7:])
			}),
			ranges: []string{"bytes=1000-", ""},
		},
		{
			name: "416 without a length", part: func(b []byte) []byte { return b[:1000] },
			serve:  first(status(http.StatusRequestedRangeNotSatisfiable, "")),
			ranges: []string{"bytes=1000-", ""},
		},
		{
			name: "broken once",
			serve: first(func(s *site, _ int, w http.ResponseWriter, _ *http.Request) {
				some(s, w, len(s.tarball)/2)
				panic(http.ErrAbortHandler)
			}),
			ranges: []string{"", "bytes=HALF-"},
		},
		{
			name: "stalled once",
			serve: first(func(s *site, _ int, w http.ResponseWriter, r *http.Request) {
				some(s, w, len(s.tarball)/2)
				<-r.Context().Done()
			}),
			ranges: []string{"", "bytes=HALF-"},
		},
		{
			name: "redirected", part: func(b []byte) []byte { return b[:1000] },
			serve: func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "" {
					http.Redirect(w, r, r.URL.Path+"?moved", http.StatusFound)
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
			s := newSite(t, "cifar10", c.serve)
			s.archive.idle = 200 * time.Millisecond
			dir, _, _ := alone(t)
			have := 0
			if c.part != nil {
				part := c.part(s.tarball)
				have = len(part)
				write(t, filepath.Join(dir, s.archive.name+".part"), part)
			}
			set := must.Get(s.open(t, Options{Dir: dir}))(t)
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
			s := newSite(t, "cifar10", serve)
			_, want, _ := alone(t)
			t.Chdir(t.TempDir())
			if o.Dir != "" {
				want = o.Dir
			}
			o.official = &s.source
			got, err := Fetch(t.Context(), "cifar10", o)
			if want = filepath.Join(want, s.folders[0]); err != nil || got != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

// The second address is asked if the first does not deliver, or not the file.
func TestMirrors(t *testing.T) {
	const file = "t10k-labels-idx1-ubyte.gz"
	for _, c := range []struct {
		name  string
		spoil map[string]string // what the addresses serve in place of the file; empty: nothing
		is    error             // nil: the set is found in the end
		want  string            // in the error
	}{
		{"first has it not", map[string]string{"first/": ""}, nil, ""},
		{"first has another", map[string]string{"first/": "something else"}, nil, ""},
		{
			"none has it",
			map[string]string{"first/": "", "second/": ""},
			ErrUnavailable, "second/" + file + ": unavailable: status 404",
		},
		{
			"none has the right one",
			map[string]string{"first/": "something else", "second/": "another"},
			ErrAltered, "second/" + file + ": not the official file: MD5 ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "mnist", serve)
			for address, text := range c.spoil {
				if s.served[address+file] = []byte(text); text == "" {
					delete(s.served, address+file)
				}
			}
			dir, _, _ := alone(t)
			set, err := s.open(t, Options{Dir: dir})
			raw := filepath.Join(dir, "MNIST", "raw")
			if c.is == nil {
				if err != nil {
					t.Fatal(err)
				}
				if set.Dir != raw || !slices.Contains(s.asked, "second/"+file) || len(s.asked) != 5 {
					t.Errorf("in %s after %q, want %s after 5 requests, one to second/%s", set.Dir, s.asked, raw, file)
				}
				wantClean(t, raw, s.files[0].name, s.files[1].name, s.files[2].name, s.files[3].name)
				return
			}
			wantError(t, err, c.is, "datasets: mnist: not found, looked in ", "first/"+file, c.want)
			wantError(t, err, ErrNotFound)
			wantClean(t, raw, s.files[0].name, s.files[1].name, s.files[2].name)
		})
	}
}

// Each file is downloaded by itself, into the folder that has some of them if there is one.
func TestFetchSVHN(t *testing.T) {
	for _, c := range []struct {
		name  string
		found map[string]string // official file by where it is already
		want  string
		asked []string
	}{
		{"nothing", nil, "svhn", []string{"first/train_32x32.mat", "first/test_32x32.mat"}},
		{
			"one in the folder",
			map[string]string{"svhn/train_32x32.mat": "train_32x32.mat"},
			"svhn",
			[]string{"first/test_32x32.mat"},
		},
		{"one directly", map[string]string{"test_32x32.mat": "test_32x32.mat"}, ".", []string{"first/train_32x32.mat"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "svhn", serve)
			dir, _, _ := alone(t)
			for at, name := range c.found {
				write(t, filepath.Join(dir, at), s.content[name])
			}
			set := must.Get(s.open(t, Options{Dir: dir}))(t)
			if set.Dir != filepath.Join(dir, c.want) || !slices.Equal(s.asked, c.asked) {
				t.Errorf("in %s after %q, want %s after %q", set.Dir, s.asked, filepath.Join(dir, c.want), c.asked)
			}
			wantClean(t, set.Dir, "test_32x32.mat", "train_32x32.mat")
		})
	}
}

func TestFetchSVHNFails(t *testing.T) {
	s := newSite(t, "svhn", serve)
	s.served["first/test_32x32.mat"] = []byte("<html>log in first</html>")
	dir, _, _ := alone(t)
	_, err := s.open(t, Options{Dir: dir})
	wantError(t, err, ErrAltered, "datasets: svhn: not found, looked in ",
		"test_32x32.mat: not the official file: MD5 ")
	wantClean(t, filepath.Join(dir, "svhn"), "train_32x32.mat") // what came whole is kept, and nothing else
	delete(s.served, "first/test_32x32.mat")
	_, err = Fetch(t.Context(), "svhn", Options{Dir: dir, official: &s.source})
	wantError(t, err, ErrUnavailable, "test_32x32.mat: unavailable: status 404 Not Found", "lacks test_32x32.mat")
	wantError(t, err, ErrNotFound)
}

// What fails says how, and leaves only what the next attempt can resume from.
func TestDownloadFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve handler
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
		{"404", status(404, ""), ErrUnavailable, "status 404 Not Found", -1},
		{"503", status(503, ""), ErrUnavailable, "status 503 Service Unavailable", -1},
		{"always truncated, no progress after the first", func(s *site, n int, w http.ResponseWriter, _ *http.Request) {
			if n == 0 {
				some(s, w, 1234)
			}
			panic(http.ErrAbortHandler)
		}, ErrUnavailable, "EOF", 1234},
		{"always from the start, always truncated", func(s *site, _ int, w http.ResponseWriter, _ *http.Request) {
			some(s, w, 1234)
			panic(http.ErrAbortHandler)
		}, ErrUnavailable, "after 1234 of %d bytes: unexpected EOF", 1234},
		{"redirected in circles", func(_ *site, _ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, ErrUnavailable, "stopped after 10 redirects", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "cifar10", c.serve)
			dir, _, _ := alone(t)
			_, err := s.open(t, Options{Dir: dir})
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

func TestDownloadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSite(t, "cifar10", func(s *site, _ int, w http.ResponseWriter, r *http.Request) {
		some(s, w, 3000)
		time.AfterFunc(50*time.Millisecond, cancel)
		<-r.Context().Done()
	})
	dir, _, _ := alone(t)
	start := time.Now()
	_, err := Open(ctx, "cifar10", Options{Dir: dir, official: &s.source})
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
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	defer full.Close()
	s := newSite(t, "cifar10", serve)
	d := &transfer{publishedFile: &s.archive, from: s.archive.url, out: full, client: newClient()}
	wantError(t, d.transferAll(t.Context()), syscall.ENOSPC, "/dev/full")
	if len(s.ranges) != 1 {
		t.Errorf("%d requests, want 1: a full disk is not tried again", len(s.ranges))
	}
}

// A link in the place of a file that a download makes may lead to any file of the user: it is named, and not followed.
func TestDownloadThroughLinks(t *testing.T) {
	for _, suffix := range []string{".part", ".lock"} {
		for name, target := range map[string]string{"a file": "mine", "nothing": "none", "a folder": "."} {
			s := newSite(t, "cifar10", serve)
			dir, other, _ := alone(t)
			write(t, filepath.Join(other, "mine"), []byte("mine"))
			link := filepath.Join(dir, s.archive.name+suffix)
			must.OK(t, os.Symlink(filepath.Join(other, target), link))
			_, err := s.open(t, Options{Dir: dir})
			wantError(t, err, nil, link+": a link or a folder, want a file or nothing")
			if text, err := os.ReadFile(filepath.Join(other, "mine")); err != nil || string(text) != "mine" {
				t.Errorf("%s to %s: %q, %v, want the file as it was", suffix, name, text, err)
			}
			wantClean(t, other, "mine")
		}
	}
}

// No more is read than the file may have, whatever a server sends or announces, and nothing of it is kept.
func TestDownloadEnds(t *testing.T) {
	sent := make(chan int64, 9)
	for _, c := range []struct {
		name         string
		part         int               // bytes of the archive that are on disk at first
		header       map[string]string // of the answer, which then sends zeros for as long as anybody reads
		want         string            // %d: size of the archive
		lengthHidden bool              // whether the length of the archive is not published
	}{
		{"endless", 0, nil, "more than %d bytes, want %[1]d", false},
		{
			"endless from where it was", 1000,
			map[string]string{"Content-Range": "bytes 1000-2000/*"},
			"more than %d bytes, want %[1]d", false,
		},
		{
			"Content-Length too large", 0,
			map[string]string{"Content-Length": "1000000000000"},
			": 1000000000000 bytes, want %d", false,
		},
		{
			"range of something larger", 1000,
			map[string]string{"Content-Range": "bytes 1000-99999999/100000000"},
			": 100000000 bytes, want %d", false,
		},
		{
			"range longer than announced", 1000,
			map[string]string{"Content-Range": "bytes 1000-4999/5000"},
			"more than the 5000 bytes announced", false,
		},
		{
			"length unknown, too large", 0,
			map[string]string{"Content-Length": "2147483649"},
			": 2147483649 bytes, want at most 2147483648", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "cifar10", func(_ *site, _ int, w http.ResponseWriter, _ *http.Request) {
				for key, value := range c.header {
					w.Header().Set(key, value)
				}
				if c.part > 0 {
					w.WriteHeader(http.StatusPartialContent)
				}
				zeros, total := make([]byte, 1<<16), int64(0)
				for total < 1<<30 { // a gigabyte, if nobody stops it
					n, err := w.Write(zeros)
					if total += int64(n); err != nil {
						break
					}
				}
				sent <- total
			})
			if c.lengthHidden {
				s.archive.length = 0
			}
			dir, _, _ := alone(t)
			if c.part > 0 {
				write(t, filepath.Join(dir, s.archive.name+".part"), s.tarball[:c.part])
			}
			_, err := s.open(t, Options{Dir: dir})
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

// No official site redirects to another host, so a redirect to one is refused, and it is not asked.
func TestRedirect(t *testing.T) {
	for _, c := range []struct {
		name, from, to string // an empty host is the one of from
		allowed        bool
	}{
		{"another path", "https://a.org/x", "https://a.org/y", true},
		{"to https", "http://a.org/x", "https://a.org/x", true},
		{"another query", "http://a.org:8080/x", "http://a.org:8080/x?y", true},
		{"to http", "https://a.org/x", "http://a.org/x", false},
		{"another host", "https://a.org/x", "https://b.org/x", false},
		{"a subdomain", "https://a.org/x", "https://cdn.a.org/x", false},
		{"another host with https", "http://a.org/x", "https://b.org/x", false},
		{"another port", "http://a.org/x", "http://a.org:6379/x", false},
		{"another port with https", "http://a.org/x", "https://a.org:22/x", false},
		{"this machine", "http://a.org/x", "http://127.0.0.1/x", false},
		{"this machine by name", "http://a.org/x", "http://localhost/x", false},
		{"this machine, IPv6", "http://a.org/x", "http://[::1]/x", false},
		{"a private network", "https://a.org/x", "https://10.0.0.1/x", false},
		{"a cloud's credentials", "http://a.org/x", "http://169.254.169.254/latest/meta-data/", false},
		{"another protocol", "http://a.org/x", "ftp://a.org/x", false},
		{"a file", "http://a.org/x", "file:///etc/passwd", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := func(url string) *http.Request {
				return must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
			}
			err := checkRedirect(request(c.to), []*http.Request{request(c.from)})
			if c.allowed {
				must.OK(t, err)
				return
			}
			wantError(t, err, nil, c.from+" redirects to "+c.to+", want the same host")
		})
	}
	for _, name := range []string{"another port", "by name"} {
		t.Run("asked: "+name, func(t *testing.T) {
			other := newSite(t, "cifar10", serve)
			to := other.archive.url
			if name == "by name" {
				to = strings.Replace(to, "127.0.0.1", "localhost", 1)
			}
			s := newSite(t, "cifar10", func(_ *site, _ int, w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, to, http.StatusMovedPermanently)
			})
			dir, _, _ := alone(t)
			_, err := s.open(t, Options{Dir: dir})
			wantError(t, err, ErrUnavailable, "download "+s.archive.url+": unavailable: "+
				s.archive.url+" redirects to "+to+", want the same host")
			if len(other.asked) > 0 || len(s.asked) != 1 {
				t.Errorf("%q were asked of the other site, and %q of the first, want one request of the first",
					other.asked, s.asked)
			}
		})
	}
	t.Run("long", func(t *testing.T) {
		s := newSite(t, "cifar10", func(_ *site, _ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://b.org/"+strings.Repeat("x", 100_000), http.StatusFound)
		})
		dir, _, _ := alone(t)
		_, err := s.open(t, Options{Dir: dir})
		wantError(t, err, ErrUnavailable, "redirects to http://b.org/xxx")
		if len(err.Error()) > 1000 {
			t.Errorf("error of %d bytes, want a line", len(err.Error()))
		}
	})
}

// The length and the MD5 of everything that is downloaded are published, but for CINIC-10's, which comes over https.
func TestPublishedLengths(t *testing.T) {
	for _, l := range loaders {
		s := l.official
		if s == nil || s.ofPictures {
			if s != nil && !strings.HasPrefix(s.archive.url, "https://") {
				t.Errorf("%s: want https, or a published MD5", s.archive.url)
			}
			continue
		}
		if s.byWriter { // nothing is downloaded
			continue
		}
		files := []publishedFile{s.archive}
		if s.archive.name == "" {
			files = s.files
		}
		for _, f := range files {
			if f.length < 1000 || f.length > mostUnknown || f.md5 == "" {
				t.Errorf("%s: %d bytes, MD5 %q, want both known", f.name, f.length, f.md5)
			}
			path := filepath.Join("../../shared/data", s.info.Name, f.name)
			if info, err := os.Stat(path); err == nil && info.Size() != f.length {
				t.Errorf("%s: %d bytes, want %d as published", path, info.Size(), f.length)
			}
		}
	}
}

func TestProgress(t *testing.T) {
	t.Run("lines", func(t *testing.T) {
		s := newSite(t, "cifar10", serve)
		dir, _, _ := alone(t)
		write(t, filepath.Join(dir, s.archive.name+".part"), s.tarball[:len(s.tarball)/2])
		var out bytes.Buffer
		must.Get(Fetch(t.Context(), "cifar10", Options{
			Dir: dir, Progress: &out, official: &s.source,
		}))(t)
		first := fmt.Sprintf("cifar-10-binary.tar.gz: comes over plain http, held to its published MD5\n"+
			"cifar-10-binary.tar.gz: downloading, %d of %d bytes\n", len(s.tarball)/2, len(s.tarball))
		last := fmt.Sprintf("cifar-10-binary.tar.gz: %d of %d bytes\n", len(s.tarball), len(s.tarball))
		if got := out.String(); !strings.HasPrefix(got, first) || !strings.HasSuffix(got, last) ||
			strings.Count(got, "\n") > 11 {
			t.Errorf("got\n%s\nwant first %q, last %q, at most 11 lines", got, first, last)
		}
	})
	t.Run("bar", func(t *testing.T) {
		var out bytes.Buffer
		b := newBar(&out, "some.tar.gz", 500, 1000)
		b.Write(make([]byte, 500))
		b.Close()
		if got := out.String(); !strings.Contains(got, "some.tar.gz") || !strings.Contains(got, "100%") ||
			!strings.HasSuffix(got, "\n") {
			t.Errorf("got %q, want the name, 100%% and an end of line", got)
		}
	})
	t.Run("unknown length", func(t *testing.T) {
		for _, p := range []io.WriteCloser{newBar(io.Discard, "", 0, -1), newLines(io.Discard, "", 0, -1)} {
			p.Write(make([]byte, 1<<25))
			p.Close()
		}
	})
}
