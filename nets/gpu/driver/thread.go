//go:build gpu && linux && cgo

package driver

import (
	"runtime"
	"sync"
)

// Thread runs functions one at a time on one OS thread, which CUDA's notion of a current context and of thread-local capture asks for.
type Thread struct {
	work    chan task
	closing chan struct{}
	ended   chan struct{}
	close   sync.Once
}

type task struct {
	f     func() error
	reply chan error
}

// NewThread starts a thread.
func NewThread() *Thread {
	t := &Thread{work: make(chan task), closing: make(chan struct{}), ended: make(chan struct{})}
	go t.run()
	return t
}

func (t *Thread) run() {
	defer close(t.ended)
	runtime.LockOSThread() // and never unlocked: the OS thread ends with this goroutine, its current context with it
	for {
		select {
		case w := <-t.work:
			w.reply <- w.f()
		case <-t.closing:
			return
		}
	}
}

// Do runs f on the thread and returns what f returns. Calls from several goroutines queue; f must not call Do itself. Once
// the thread has ended, be it that f ended its goroutine, Do returns ErrClosed.
func (t *Thread) Do(f func() error) error {
	w := task{f, make(chan error, 1)}
	select {
	case t.work <- w:
	case <-t.ended:
		return ErrClosed
	}
	select {
	case err := <-w.reply:
		return err
	case <-t.ended:
	}
	select {
	case err := <-w.reply:
		return err
	default:
		return ErrClosed
	}
}

// Close waits for the function that is running and ends the thread. Further calls do nothing.
func (t *Thread) Close() {
	t.close.Do(func() { close(t.closing) })
	<-t.ended
}
