//go:build gpu && linux && cgo

package driver

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Exec is captured work, ready to be launched again and again.
type Exec struct {
	name  string
	nodes int // launches, copies and the like
	exec  C.CUgraphExec
}

// Capture runs enqueue, which puts work on s, and on streams that wait for events of s and are waited for in turn, and
// captures that work instead of doing it. Launch arguments are taken as they are now, the contents of buffers as they
// are when the graph is launched. enqueue must not wait, allocate or free. The name is for error messages. After an
// error nothing is left over.
func (s *Stream) Capture(name string, enqueue func() error) (*Exec, error) {
	// Thread-local: calls of other threads neither end up in the graph nor break the capture.
	if err := result(C.cuStreamBeginCapture(s.c(), C.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); err != nil {
		return nil, s.dev.waiting("capture graph "+name, err)
	}
	var graph C.CUgraph
	ended := false
	end := func() error {
		ended = true
		return result(C.cuStreamEndCapture(s.c(), &graph))
	}
	defer func() {
		if !ended { // enqueue panicked or ended its goroutine
			_ = end() // of no interest any more
		}
		if graph != nil {
			C.cuGraphDestroy(graph)
		}
	}()
	err := enqueue()
	// The first error is the cause; that the capture was invalidated is its consequence.
	if e := end(); e != nil && err == nil {
		err = fmt.Errorf("gpu: capture graph %s: %w", name, e)
	}
	if err != nil {
		return nil, err
	}
	return instantiate(name, graph)
}

func instantiate(name string, graph C.CUgraph) (*Exec, error) {
	var n C.size_t
	if err := result(C.cuGraphGetNodes(graph, nil, &n)); err != nil {
		return nil, fmt.Errorf("gpu: graph %s: nodes: %w", name, err)
	}
	x := &Exec{name: name, nodes: int(n)}
	if err := result(C.cuGraphInstantiate(&x.exec, graph, 0)); err != nil {
		return nil, fmt.Errorf("gpu: graph %s (%d nodes): instantiate: %w", name, x.nodes, err)
	}
	return x, nil
}

// Launch puts the graph on s.
func (x *Exec) Launch(s *Stream) error {
	if err := result(C.cuGraphLaunch(x.exec, s.c())); err != nil {
		return fmt.Errorf("gpu: graph %s (%d nodes): launch: %w", x.name, x.nodes, err)
	}
	s.dev.last = launch{name: x.name, graph: true}
	return nil
}

// Destroy gives the graph's memory back, once launches under way are done.
func (x *Exec) Destroy() error {
	if err := result(C.cuGraphExecDestroy(x.exec)); err != nil {
		return fmt.Errorf("gpu: graph %s: destroy: %w", x.name, err)
	}
	return nil
}

// c is the stream as this package's C code sees it; cu's type for the same pointer is its own.
func (s *Stream) c() C.CUstream { return C.CUstream(unsafe.Pointer(s.s.C())) }
