//go:build gpu && linux && cgo

package driver

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Graph is a graph of launches that is being built.
type Graph struct {
	name  string
	graph C.CUgraph
	nodes []C.CUgraphNode // the launches, in the order in which they were added
}

// Exec is a graph that is ready to be launched again and again.
type Exec struct {
	name  string
	nodes int // launches
	exec  C.CUgraphExec
}

// NewGraph makes a graph of the launches that build adds to it with [Function.AddTo]. The name is for error messages.
func (d *Device) NewGraph(name string, build func(*Graph) error) (*Exec, error) {
	g := &Graph{name: name}
	if err := result(C.cuGraphCreate(&g.graph, 0)); err != nil {
		return nil, d.waiting("create graph "+name, err)
	}
	defer func() { C.cuGraphDestroy(g.graph) }() // also where build panics or ends its goroutine
	if err := build(g); err != nil {
		return nil, err
	}
	x := &Exec{name: name, nodes: len(g.nodes)}
	if err := result(C.cuGraphInstantiate(&x.exec, g.graph, 0)); err != nil {
		return nil, fmt.Errorf("gpu: graph %s (%d nodes): instantiate: %w", name, x.nodes, err)
	}
	return x, nil
}

// AddTo adds a launch to a graph, with sizes and arguments as those of [Function.Launch], which are copied before AddTo
// returns. It begins when the launches that `after` numbers have ended: 0 is the first launch of the graph. Launches
// that do not wait for each other may run at the same time.
func (f *Function) AddTo(g *Graph, grid [2]int, threads, shared int, args []byte, after []int) error {
	l := launch{name: f.name, grid: grid, threads: threads, shared: f.attributes.Shared + shared}
	if err := f.check(grid, threads, shared, len(args)); err != nil {
		return fmt.Errorf("gpu: graph %s: %v: %w", g.name, l, err)
	}
	waits := make([]C.CUgraphNode, len(after))
	for i, n := range after {
		if n < 0 || n >= len(g.nodes) {
			return fmt.Errorf("gpu: graph %s: %v: waits for launch %d of %d", g.name, l, n, len(g.nodes))
		}
		waits[i] = g.nodes[n]
	}
	var node C.CUgraphNode
	r := C.shim_add(&node, g.graph, unsafe.SliceData(waits), C.size_t(len(waits)), f.f,
		C.uint(grid[0]), C.uint(grid[1]), C.uint(threads), C.uint(shared), unsafe.Pointer(&args[0]))
	if r != C.CUDA_SUCCESS {
		return fmt.Errorf("gpu: graph %s: %v: %w", g.name, l, result(r))
	}
	g.nodes = append(g.nodes, node)
	return nil
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
