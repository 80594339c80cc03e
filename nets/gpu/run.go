//go:build gpu && linux && cgo

package gpu

import (
	"fmt"

	"rollcall/nets/gpu/driver"
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
		work = func() error { return e.record(w) }
	}
	return inTurn(
		e.begin,
		func() error { return e.stream.CopyToDevice(driver.Ptr(w.frame.work), e.staging[:w.layout.size]) },
		func() error { return e.mark("upload", 0, float64(w.layout.size)) },
		work,
	)
}

// finish copies the results of a wave that was started to the staging memory, and waits.
func (e *Engine) finish(w *wave) ([]byte, error) {
	results := e.staging[w.layout.size:][:w.resultBytes]
	from := w.frame.score
	if w.key.train {
		from = w.frame.loss
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

// capture makes the graph of a wave.
func (e *Engine) capture(w *wave) (err error) {
	what := "evaluation"
	if w.key.train {
		what = fmt.Sprintf("%d training steps", w.key.steps)
	}
	name := fmt.Sprintf("%s of %d clients", what, w.key.capacity)
	e.capturing = true
	w.exec, err = e.stream.Capture(name, func() error { return e.record(w) })
	e.capturing = false
	return err
}

// record queues all that a wave does between the copy of its plan to the device and the copy of its results back.
func (e *Engine) record(w *wave) error {
	f := &w.frame
	slots, rows := e.use(w)
	if n := int64(f.capacity) * int64(w.program.gradients.size()); n > 0 {
		// No kernel writes the gaps between parameters. They must be 0, since clipping and SGD read whole ranges.
		if err := e.stream.Memset32(driver.Ptr(f.grad), 0, n); err != nil {
			return err
		}
		if err := e.mark("memset", 0, float64(4*n)); err != nil {
			return err
		}
	}
	// In evaluation only BF16 has something to fill: the kernels read the rows themselves.
	if w.key.train || w.weights != 0 {
		if err := e.enqueue(w, w.program.weights, rows); err != nil {
			return err
		}
	}
	// The number of a step is an argument of its launches, so a graph holds the launches of all steps one by one.
	for f.step = 0; int(f.step) < w.key.steps; f.step++ {
		for _, l := range w.program.launches {
			if err := e.enqueue(w, l, slots); err != nil {
				return err
			}
		}
	}
	return nil
}
