//go:build gpu && linux && cgo

package gpu

import (
	"fmt"

	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// run finds a wave for at most so many slots, has its plan written to the staging memory, and replays it. It returns
// the wave and its results, valid until the next run. If there is no memory to launch the graph, nothing of it has been
// done, and run begins again with a smaller wave.
func (e *Engine) run(key waveKey, slots int, write func(*wave)) (*wave, []byte, error) {
	for {
		w, err := e.wave(key, slots)
		if err != nil {
			return nil, nil, err
		}
		write(w)
		if err = e.start(w); err == nil {
			results, err := e.finish(w)
			return w, results, err
		}
		if e.timing() { // some of the launches may have been done
			return nil, nil, err
		}
		if err := e.shrink(w.key.capacity, err); err != nil {
			return nil, nil, err
		}
	}
}

// start copies a wave's plan from the staging memory to the device and launches the wave's graph. While kernels are
// timed, the launches are queued one by one instead.
func (e *Engine) start(w *wave) error {
	work := func() error { return w.exec.Launch(e.stream) }
	if e.timing() {
		work = func() error { return e.oneByOne(w) }
	}
	return inTurn(
		e.begin,
		func() error { return e.stream.CopyToDevice(driver.Ptr(w.frames[0].work), e.staging[:w.layout.size]) },
		func() error { return e.mark("upload", 0, float64(w.layout.size)) },
		func() error { return e.clearGradients(w) },
		work,
	)
}

// clearGradients queues the zeroing of the rows of gradients, if the program keeps any. No kernel writes the gaps
// between parameters. They must be 0, since clipping and SGD read whole ranges.
func (e *Engine) clearGradients(w *wave) error {
	n := int64(w.key.capacity) * int64(w.program.gradients.size())
	if n == 0 {
		return nil
	}
	if err := e.stream.Memset32(driver.Ptr(w.frames[0].grad), 0, n); err != nil {
		return err
	}
	return e.mark("memset", 0, float64(4*n))
}

// finish copies the results of a wave that was started to the staging memory, and waits.
func (e *Engine) finish(w *wave) ([]byte, error) {
	results := e.staging[w.layout.size:][:w.resultBytes]
	from := w.frames[0].score
	if w.key.train {
		from = w.frames[0].loss
	}
	return results, inTurn(
		func() error { return e.stream.CopyFromDevice(results, driver.Ptr(from)) },
		func() error { return e.mark("download", 0, float64(w.resultBytes)) },
		e.stream.Synchronize,
		e.collect,
	)
}

// inTurn calls functions up to the first error.
func inTurn(calls ...func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// oneByOne queues the launches of a wave in their order, and times each.
func (e *Engine) oneByOne(w *wave) error {
	for g := range w.frames {
		f := &w.frames[g]
		slots, rows := e.use(w, g)
		err := w.each(f, func(l launch, fills bool) error {
			if fills {
				return e.enqueue(f, l, rows)
			}
			return e.enqueue(f, l, slots)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// graph makes the graph of a wave. A launch waits for launches of its own group alone.
func (e *Engine) graph(w *wave) (*driver.Exec, error) {
	var uses []access
	_ = w.each(&w.frames[0], func(l launch, _ bool) error {
		uses = append(uses, l.access)
		return nil
	})
	waits := orderOf(uses).waits
	what := "evaluation"
	if w.key.train {
		what = fmt.Sprintf("%d training steps", w.key.steps)
	}
	return e.device.NewGraph(fmt.Sprintf("%s of %d clients", what, w.key.capacity), func(g *driver.Graph) error {
		for i := range w.frames {
			f, launches := &w.frames[i], 0
			err := w.each(f, func(l launch, _ bool) error {
				var after []int
				for _, n := range waits[launches] {
					after = append(after, i*len(waits)+n)
				}
				launches++
				return e.add(g, f, l, after)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// each calls do with every launch of a group of a wave in turn, while its frame has the step. fills is set for the
// launch that fills the weights, the first one.
func (w *wave) each(f *frame, do func(l launch, fills bool) error) error {
	// In evaluation only BF16 has something to fill: the kernels read the rows themselves.
	if w.key.train || w.weights != 0 {
		if err := do(w.program.weights, true); err != nil {
			return err
		}
	}
	// The number of a step is an argument of its launches, so a graph holds the launches of all steps one by one.
	for step := range w.key.steps {
		f.step = uint32(step)
		for _, l := range w.program.launches {
			if err := do(l, false); err != nil {
				return err
			}
		}
	}
	return nil
}

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
	return inTurn(
		e.begin,
		func() error { return e.launch(kernel, l.Geometry, 1, args) },
		func() error { return e.mark(kernel, float64(l.FLOP), float64(l.Bytes)) },
	)
}
