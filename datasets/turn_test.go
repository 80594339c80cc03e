package datasets

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rollcall/internal/must"
)

// log is a writer for several goroutines.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// count returns how often a text was written.
func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// until waits for something that a test needs.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s: not within 20 s", what)
			return
		}
	}
}

const waiting = "another process is downloading or extracting it, waiting for that"

// Of two processes one downloads; the other waits, says so once, and has its result or its failure. Locks are of open
// files, so that two of one process are as two processes.
func TestDownloadWaits(t *testing.T) {
	for _, c := range []struct {
		name     string
		end      func(s *site, path string, first *turn) error
		is       error // nil: the set is found in the end
		requests int   // of the one that waits
	}{
		{"for the file", func(s *site, path string, first *turn) error {
			if err := os.WriteFile(path, s.tarball, 0o644); err != nil {
				return err
			}
			return first.end(nil)
		}, nil, 0},
		{"for what cannot be had", func(_ *site, _ string, first *turn) error {
			return first.end(fmt.Errorf("download x: %w: status 503", ErrUnavailable))
		}, ErrUnavailable, 0},
		{"for what is another file", func(_ *site, _ string, first *turn) error {
			return first.end(fmt.Errorf("download x: %w: 5 bytes, want 6", ErrAltered))
		}, ErrAltered, 0},
		{
			"for one that is interrupted",
			func(_ *site, _ string, first *turn) error { return first.end(context.Canceled) }, nil, 1,
		},
		{"for one that is killed", func(_ *site, _ string, first *turn) error { return first.lock.Close() }, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "cifar10", serve)
			dir, _, _ := alone(t)
			path := filepath.Join(dir, s.archive.name)
			first := must.Get(takeTurn(t.Context(), path, nil))(t)
			var said log
			done := make(chan error)
			go func() {
				_, err := Open(t.Context(), "cifar10", Options{Dir: dir, official: &s.source, Progress: &said})
				done <- err
			}()
			until(t, "waiting", func() bool { return said.count(waiting) == 1 })
			time.Sleep(3 * turnPause) // it looks several times, and says so once
			must.OK(t, c.end(s, path, first))
			err := <-done
			if c.is == nil && err != nil {
				t.Fatal(err)
			}
			if c.is != nil {
				wantError(t, err, c.is, "datasets: cifar10: ", path, "another process has tried: download x: ")
				wantClean(t, dir)
			} else {
				wantClean(t, dir, s.archive.name, s.folders[0])
			}
			if n := said.count(waiting); n != 1 || len(s.ranges) != c.requests {
				t.Errorf("said %d times, %d requests, want once and %d", n, len(s.ranges), c.requests)
			}
		})
	}
}

// Who waits ends with its context.
func TestDownloadWaitsNoLonger(t *testing.T) {
	s := newSite(t, "cifar10", serve)
	dir, _, _ := alone(t)
	first := must.Get(takeTurn(t.Context(), filepath.Join(dir, s.archive.name), nil))(t)
	defer first.end(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Open(ctx, "cifar10", Options{Dir: dir, official: &s.source})
	wantError(t, err, context.DeadlineExceeded, "datasets: cifar10: download "+s.archive.url)
	if elapsed := time.Since(start); elapsed > time.Second { // Ctrl-C is promised to end within a second
		t.Errorf("ended after %v, want less than 1s", elapsed)
	}
}

// Six at once: one request, and all have the set, or all the same failure.
func TestDownloadSixAtOnce(t *testing.T) {
	for name, status := range map[string]int{"served": http.StatusOK, "refused": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			var said log
			s := newSite(t, "cifar10", func(s *site, n int, w http.ResponseWriter, r *http.Request) {
				until(t, "five wait", func() bool { return said.count(waiting) == 5 })
				if status != http.StatusOK {
					w.WriteHeader(status)
					return
				}
				serve(s, n, w, r)
			})
			s.archive.idle = time.Minute
			dir, _, _ := alone(t)
			errs := make([]error, 6)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() {
					_, errs[i] = Open(t.Context(), "cifar10", Options{Dir: dir, official: &s.source, Progress: &said})
				})
			}
			all.Wait()
			for _, err := range errs {
				if status == http.StatusOK && err != nil {
					t.Error(err)
				}
				if status != http.StatusOK {
					wantError(t, err, ErrUnavailable, "status 503")
					wantError(t, err, ErrNotFound)
				}
			}
			if len(s.ranges) != 1 {
				t.Errorf("%d requests, want 1", len(s.ranges))
			}
		})
	}
}
