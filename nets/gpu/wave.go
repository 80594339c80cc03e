//go:build gpu && linux && cgo

package gpu

import (
	"errors"
	"fmt"
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// waveKey says what a CUDA graph was captured for. Evaluation has one graph per part, training one per number of steps.
type waveKey struct {
	programKey
	part  nets.Part
	room  int
	steps int
}

// wave is a program with room for so many slots and steps, in memory, captured as one CUDA graph.
type wave struct {
	key     waveKey
	program *program
	frame   frame
	exec    *driver.Exec
	owned   []driver.Ptr // in guard mode
	// The plan travels to the device in one copy: host is its image there.
	plan      driver.Ptr
	planBytes int
	at        planOffsets
	weights   driver.Ptr // [room,P] act; 0 with fp32
	results   driver.Ptr // the losses, or the scores
	outBytes  int
}

// planOffsets says where the pieces of a plan lie in it.
type planOffsets struct{ work, rows, slots, rowSlots, index, count, crop, flip int }

// program returns a program, lowered when it is first asked for.
func (e *Engine) program(key programKey) (*program, error) {
	if p := e.programs[key]; p != nil {
		return p, nil
	}
	batch := e.options.EvalBatch
	if key.train {
		batch = e.options.Batch
	}
	p, err := lower(e.model, e.layout, e.options.Precision, batch, key.train, key.clip)
	if err == nil {
		e.programs[key] = p
	}
	return p, err
}

// layOut asks place for every piece of memory of a wave, in a fixed order.
func (w *wave) layOut(l layout, p Precision, place func(bytes int64) (uint64, error)) error {
	room, steps, B := w.key.room, w.key.steps, w.program.B
	n := 0
	part := func(bytes int) int {
		at := n
		n = alignUp(n+bytes, bufferAlign)
		return at
	}
	w.at = planOffsets{
		work: part(int(unsafe.Sizeof(kernels.Work{}))), rows: part(int(unsafe.Sizeof(kernels.Work{}))),
		slots: part(room * slotBytes), rowSlots: part(room * slotBytes),
		index: part(room * steps * B * 4), count: part(room * steps * 4),
	}
	if w.key.train {
		w.at.crop, w.at.flip = part(room*steps*B*2), part(room*steps*B)
	}
	w.planBytes = n

	f := &w.frame
	*f = frame{room: room, E: uint32(steps), parts: f.parts, part: w.key.part}
	var weights, results uint64
	pieces := []piece{{&f.work, w.planBytes}}
	if p != FP32 {
		pieces = append(pieces, piece{&weights, room * l.P * p.Act()})
	}
	if w.key.train {
		w.outBytes = steps * room * 4
		norms := room * kernels.Partials(uint32(l.trained)) * 8
		pieces = append(pieces, piece{&f.grad, room * l.P * 4}, piece{&f.scale, room * 4}, piece{&f.norms, norms})
	} else {
		w.outBytes = room * 16
	}
	pieces = append(pieces, piece{&results, w.outBytes})
	for _, p := range pieces {
		var err error
		if *p.at, err = place(int64(p.bytes)); err != nil {
			return err
		}
	}
	w.plan, w.weights, w.results = driver.Ptr(f.work), driver.Ptr(weights), driver.Ptr(results)
	f.loss, f.score = results, results
	return nil
}

// piece is memory of a wave, and where its address goes.
type piece struct {
	at    *uint64
	bytes int
}

const slotBytes = int(unsafe.Sizeof(kernels.Slot{}))

// wave returns a wave with room for at least one slot and at most as many as asked for, fewer if memory is short.
func (e *Engine) wave(key waveKey, slots int) (*wave, error) {
	for {
		slots = min(slots, e.limit)
		key.room = min(roomFor(slots), max(e.limit, 1))
		if w := e.waves[key]; w != nil {
			return w, nil
		}
		w, err := e.newWave(key)
		if err == nil || !errors.Is(err, driver.ErrOutOfMemory) || key.room == 1 {
			return w, err
		}
		e.limit = key.room / 2
		limit := fmt.Sprintf("training and evaluating at most %d clients at once", e.limit)
		e.notice(limit, fmt.Sprintf("%v: %s", err, limit))
	}
}

// newWave finds memory for a wave and captures its graph.
func (e *Engine) newWave(key waveKey) (_ *wave, err error) {
	if len(e.waves) >= mostWaves {
		if err := e.dropGraphs(); err != nil {
			return nil, err
		}
	}
	w := &wave{key: key}
	w.frame.parts = e.parts
	if w.program, err = e.program(key.programKey); err != nil {
		return nil, err
	}
	if err := e.allocate(w); err != nil {
		return nil, fmt.Errorf("gpu: room for %d clients: %w", key.room, err)
	}
	if err := e.stage(w.planBytes + w.outBytes); err != nil {
		return nil, err
	}
	if err := e.load(w); err != nil {
		return nil, err
	}
	what := "evaluation"
	if key.train {
		what = fmt.Sprintf("%d training steps", key.steps)
	}
	e.capturing = true
	w.exec, err = e.stream.Capture(fmt.Sprintf("%s of %d clients", what, key.room), func() error { return e.record(w) })
	e.capturing = false
	if err != nil {
		return nil, errors.Join(err, e.disown(w))
	}
	e.waves[key] = w
	return w, nil
}

// mostWaves is how many graphs are kept.
const mostWaves = 32

// rows is what fills the weights before the first step.
func (e *Engine) rows(w *wave) launch {
	a, p := kernels.RowsArgs{P: uint32(e.layout.P)}, e.options.Precision
	kernel, how, work := "begin_", a.Begin(p), w.at.work
	if !w.key.train {
		kernel, how, work = "round_weights_", a.Round(p), w.at.rows
	}
	return launch{
		kernel: kernel + string(p), layer: "weights", geometry: how.Geometry,
		args: func(f *frame) []byte {
			a.Work = f.work + uint64(work)
			return argBytes(a)
		},
		cost: func(*frame) kernels.Cost { return how.Cost },
	}
}

// record queues everything a wave does between the arrival of its plan and the departure of its results.
func (e *Engine) record(w *wave) error {
	f, room := &w.frame, w.key.room
	slots, rows := e.use(w)
	if w.key.train {
		if err := e.stream.Memset32(driver.Ptr(f.grad), 0, int64(room)*int64(e.layout.P)); err != nil {
			return err
		}
		if err := e.mark("memset", 0, float64(room)*float64(e.rowBytes())); err != nil {
			return err
		}
	}
	if w.key.train || w.weights != 0 {
		if err := e.enqueue(w, e.rows(w), rows); err != nil {
			return err
		}
	}
	for f.step = 0; int(f.step) < w.key.steps; f.step++ {
		for _, l := range w.program.launches {
			if err := e.enqueue(w, l, slots); err != nil {
				return err
			}
		}
	}
	return nil
}

// enqueue queues a launch of a wave for so many slots in use.
func (e *Engine) enqueue(w *wave, l launch, u usage) error {
	if err := e.launch(l.kernel, l.geometry, w.key.room, l.args(&w.frame)); err != nil || !e.timing() {
		return err
	}
	flop, bytes := l.cost(&w.frame).Of(u.slots, u.momenta, u.drifts)
	return e.mark(l.kernel, flop, bytes)
}

// run sends the plan that lies in the staging memory, replays the graph, and returns the results. Where kernels are
// timed, what the graph holds is queued one by one.
func (e *Engine) run(w *wave) ([]byte, error) {
	out := e.staging[w.planBytes:][:w.outBytes]
	work := func() error { return w.exec.Launch(e.stream) }
	if e.timing() {
		work = func() error { return e.record(w) }
	}
	for _, queue := range []func() error{
		e.begin,
		func() error { return e.stream.CopyToDevice(w.plan, e.staging[:w.planBytes]) },
		func() error { return e.mark("upload", 0, float64(w.planBytes)) },
		work,
		func() error { return e.stream.CopyFromDevice(out, w.results) },
		func() error { return e.mark("download", 0, float64(w.outBytes)) },
		e.stream.Synchronize,
		e.collect,
	} {
		if err := queue(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
