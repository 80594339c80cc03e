//go:build gpu && linux && cgo

package gpu

import (
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// function is a loaded kernel and the dynamic shared memory, in bytes, that its launches are granted.
type function struct {
	*driver.Function
	shared int
}

// defaultShared is the shared memory, in bytes, that the driver grants a block without being asked: static and dynamic
// together.
const defaultShared = 48 << 10

// launch queues a kernel, which is loaded, on a grid of g.X blocks for each slot. The driver copies args before launch
// returns.
func (e *Engine) launch(name string, g kernels.Geometry, slots int, args []byte) error {
	f, err := e.function(name)
	if err != nil {
		return err
	}
	return f.Launch([2]int{g.X, slots}, g.Threads, g.Shared, e.stream, args)
}

// enqueue queues a launch of a group of a wave. The usage of the group says what the launch costs, where launches are
// timed.
func (e *Engine) enqueue(f *frame, l launch, u usage) error {
	slots := f.capacity
	if err := e.launch(l.kernel, l.geometry(slots), slots, l.args(f)); err != nil || !e.timing() {
		return err
	}
	flop, bytes := l.cost(f).Of(u.slots, u.momenta, u.drifts)
	return e.mark(l.kernel, flop, bytes)
}

// add adds a launch of a group of a wave to a graph, behind other launches of the graph.
func (e *Engine) add(g *driver.Graph, f *frame, l launch, after []int) error {
	kernel, err := e.function(l.kernel)
	if err != nil {
		return err
	}
	how := l.geometry(f.capacity)
	return kernel.AddTo(g, [2]int{how.X, f.capacity}, how.Threads, how.Shared, l.args(f), after)
}

// launchAlone queues and times a kernel that belongs to no wave, such as those on rows of a bank.
func (e *Engine) launchAlone(kernel string, l kernels.Launch, args []byte) error {
	if err := e.begin(); err != nil {
		return err
	}
	if err := e.launch(kernel, l.Geometry, 1, args); err != nil {
		return err
	}
	return e.mark(kernel, float64(l.FLOP), float64(l.Bytes))
}
