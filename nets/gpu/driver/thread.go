//go:build gpu && linux && cgo

package driver

import (
	"runtime"
	"sync"
)

// Thread runs functions one at a time on one OS thread. CUDA needs it: the current context belongs to an OS
// thread, and goroutines change theirs.
type Thread struct {
	work    chan func()
	closing chan struct{}
	ended   chan struct{}
	close   sync.Once
}

// NewThread starts a thread. The caller closes it.
func NewThread() *Thread {
	t := &Thread{work: make(chan func()), closing: make(chan struct{}), ended: make(chan struct{})}
	go t.run()
	return t
}

// run does the work of the thread until Close.
func (t *Thread) run() {
	defer close(t.ended)
	runtime.LockOSThread() // never unlocked, so that the OS thread and its current context end with this goroutine
	for {
		select {
		case w := <-t.work:
			w()
		case <-t.closing:
			return
		}
	}
}

// Do runs f on the thread and returns its error. Calls of several goroutines queue up; f must not call Do. Do returns
// [ErrClosed] if the thread has ended, by Close or because f ended its goroutine.
func (t *Thread) Do(f func() error) error {
	reply := make(chan error, 1)
	work := func() {
		err := ErrClosed // unless f returns
		defer func() { reply <- err }()
		err = f()
	}
	select {
	case t.work <- work:
		return <-reply
	case <-t.ended:
		return ErrClosed
	}
}

// Close waits for the function that runs and ends the thread. A second Close does nothing.
func (t *Thread) Close() {
	t.close.Do(func() { close(t.closing) })
	<-t.ended
}
