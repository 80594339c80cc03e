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

// Capture runs enqueue and captures the work that enqueue queues, instead of doing it: the work on s, and on streams
// that wait for an event of s and that s waits for later. Launch arguments are captured; contents of memory are read
// when the graph is launched. enqueue must not wait, allocate or free. The name is for error messages. After an error s
// is as before.
func (s *Stream) Capture(name string, enqueue func() error) (*Exec, error) {
	// Thread-local mode: calls of other threads neither become part of the graph nor break the capture.
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
			_ = end() // the panic says more
		}
		if graph != nil {
			C.cuGraphDestroy(graph)
		}
	}()
	err := enqueue()
	// An error of enqueue invalidates the capture, so the error of end would only repeat it.
	if e := end(); e != nil && err == nil {
		err = fmt.Errorf("gpu: capture graph %s: %w", name, e)
	}
	if err != nil {
		return nil, err
	}
	return instantiate(name, graph)
}

// instantiate makes a captured graph ready to launch.
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

// Launch queues the graph on s.
func (x *Exec) Launch(s *Stream) error {
	if err := result(C.cuGraphLaunch(x.exec, s.c())); err != nil {
		return fmt.Errorf("gpu: graph %s (%d nodes): launch: %w", x.name, x.nodes, err)
	}
	s.dev.last = launch{name: x.name, graph: true}
	return nil
}

// Destroy frees the graph. The driver first finishes launches that are under way.
func (x *Exec) Destroy() error {
	if err := result(C.cuGraphExecDestroy(x.exec)); err != nil {
		return fmt.Errorf("gpu: graph %s: destroy: %w", x.name, err)
	}
	return nil
}

// c returns the stream as this package's C type. Package cu has a Go type of its own for the same pointer.
func (s *Stream) c() C.CUstream { return C.CUstream(unsafe.Pointer(s.s.C())) }
