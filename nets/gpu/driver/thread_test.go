//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestThread lets many goroutines share one OS thread.
func TestThread(t *testing.T) {
	thread := NewThread()
	running, threads := 0, map[int]bool{} // touched on the thread alone
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := thread.Do(func() error {
					running++
					threads[unix.Gettid()] = true
					runtime.Gosched()
					running--
					if running != 0 {
						return errors.New("two functions at a time")
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(threads) != 1 {
		t.Errorf("ran on OS threads %v, want one", threads)
	}
	want := errors.New("from the function")
	if err := thread.Do(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("Do: %v, want %v", err, want)
	}
	thread.Close()
	thread.Close()
	if err := thread.Do(func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Do after Close: %v, want ErrClosed", err)
	}
}

// TestThreadEnds runs a function that ends its goroutine, as t.FailNow does. Do returns all the same.
func TestThreadEnds(t *testing.T) {
	thread := NewThread()
	defer thread.Close()
	if err := thread.Do(func() error {
		runtime.Goexit()
		return nil
	}); !errors.Is(err, ErrClosed) {
		t.Errorf("Do: %v, want ErrClosed", err)
	}
}
