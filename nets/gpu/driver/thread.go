//go:build gpu && linux && cgo

package driver

import (
	"runtime"
	"sync"
)

// Thread runs functions one at a time on one OS thread, which CUDA's notion of a current context and of thread-local
// capture asks for.
type Thread struct {
	work    chan func()
	closing chan struct{}
	ended   chan struct{}
	close   sync.Once
}

// NewThread starts a thread.
func NewThread() *Thread {
	t := &Thread{work: make(chan func()), closing: make(chan struct{}), ended: make(chan struct{})}
	go t.run()
	return t
}

func (t *Thread) run() {
	defer close(t.ended)
	runtime.LockOSThread() // and never unlocked: the OS thread ends with this goroutine, its current context with it
	for {
		select {
		case w := <-t.work:
			w()
		case <-t.closing:
			return
		}
	}
}

// Do runs f on the thread and returns what f returns. Calls from several goroutines queue; f must not call Do itself.
// Once the thread has ended, be it that f ended its goroutine, Do returns ErrClosed.
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

// Close waits for the function that is running and ends the thread. Further calls do nothing.
func (t *Thread) Close() {
	t.close.Do(func() { close(t.closing) })
	<-t.ended
}
