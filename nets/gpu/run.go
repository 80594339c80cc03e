//go:build gpu && linux && cgo

package gpu

import (
	"fmt"

	"rollcall/nets/gpu/driver"
)

// run copies a wave's plan from the staging memory to the device, replays the wave's graph, waits, and returns the
// results, valid until the next run. While kernels are timed, the launches are queued one by one instead.
func (e *Engine) run(w *wave) ([]byte, error) {
	results := e.staging[w.layout.size:][:w.resultBytes]
	from := w.frame.score
	if w.key.train {
		from = w.frame.loss
	}
	work := func() error { return w.exec.Launch(e.stream) }
	if e.timing() {
		work = func() error { return e.record(w) }
	}
	for _, queue := range []func() error{
		e.begin,
		func() error { return e.stream.CopyToDevice(driver.Ptr(w.frame.work), e.staging[:w.layout.size]) },
		func() error { return e.mark("upload", 0, float64(w.layout.size)) },
		work,
		func() error { return e.stream.CopyFromDevice(results, driver.Ptr(from)) },
		func() error { return e.mark("download", 0, float64(w.resultBytes)) },
		e.stream.Synchronize,
		e.collect,
	} {
		if err := queue(); err != nil {
			return nil, err
		}
	}
	return results, nil
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
	if w.key.train {
		// No kernel writes the gaps between parameters. They must be 0, since clipping and SGD read whole rows.
		if err := e.stream.Memset32(driver.Ptr(f.grad), 0, int64(f.capacity)*int64(e.layout.P)); err != nil {
			return err
		}
		if err := e.mark("memset", 0, float64(f.capacity)*float64(e.rowBytes())); err != nil {
			return err
		}
	}
	// In evaluation with FP32 there is nothing to fill: the kernels read the rows themselves.
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
