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

// rooms are the numbers of slots that graphs are captured for: 8, 16, 24, 32, 48, 64, 96, 128 and so on.
func roomFor(slots int) int {
	if slots <= 32 {
		return max(8, alignUp(slots, 8))
	}
	size := 32
	for ; 2*size < slots; size *= 2 {
	}
	if slots <= size+size/2 {
		return size + size/2
	}
	return 2 * size
}

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
		pieces = append(pieces, piece{&weights, room * l.P * actBytes(p)})
	}
	if w.key.train {
		w.outBytes = steps * room * 4
		clip := kernels.ClipArgs{P: uint32(l.P), N: uint32(l.trained)}
		pieces = append(pieces, piece{&f.grad, room * l.P * 4}, piece{&f.scale, room * 4}, piece{&f.norms, room * clip.Partials() * 8})
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

// size returns the bytes a wave takes in an arena.
func (w *wave) size(l layout, p Precision) int64 {
	var total int64
	_ = w.layOut(l, p, func(bytes int64) (uint64, error) { // which cannot fail
		total += int64(alignUp(int(bytes), bufferAlign))
		return 0, nil
	})
	return total + arrange(w.program.buffers, w.key.room)
}

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

// allocate gives a wave its addresses: in the arena that all share, which grows if it must, or in guard mode in
// allocations of their own.
func (e *Engine) allocate(w *wave) error {
	if e.guard {
		own := func(bytes int64) (uint64, error) {
			p, err := e.device.Alloc(max(bytes, 1))
			if err == nil {
				w.owned = append(w.owned, p)
			}
			return uint64(p), err
		}
		err := w.layOut(e.layout, e.options.Precision, own)
		w.frame.guard = map[*buffer]uint64{}
		for _, b := range w.program.buffers {
			if err == nil {
				w.frame.guard[b], err = own(int64(b.n) * int64(b.size) * int64(w.key.room))
			}
		}
		if err != nil {
			return errors.Join(err, e.disown(w))
		}
		return nil
	}
	if need := w.size(e.layout, e.options.Precision); need > e.arenaSize {
		if err := e.dropWaves(); err != nil {
			return err
		}
		var err error
		if e.arena, err = e.device.Alloc(need); err != nil {
			return fmt.Errorf("%s: %w", size(need), err)
		}
		e.arenaSize = need
	}
	next := uint64(e.arena)
	err := w.layOut(e.layout, e.options.Precision, func(bytes int64) (uint64, error) {
		at := next
		next += uint64(alignUp(int(bytes), bufferAlign))
		return at, nil
	})
	arrange(w.program.buffers, w.key.room)
	w.frame.base = next
	return err
}

// disown gives back what a wave holds for itself.
func (e *Engine) disown(w *wave) error {
	var first error
	if w.exec != nil {
		first = w.exec.Destroy()
		w.exec = nil
	}
	for _, p := range w.owned {
		if err := e.device.Free(p); err != nil && first == nil {
			first = err
		}
	}
	w.owned = nil
	return first
}

// dropGraphs forgets all waves, dropWaves their memory as well.
func (e *Engine) dropGraphs() error {
	var first error
	for _, w := range e.waves {
		if err := e.disown(w); err != nil && first == nil {
			first = err
		}
	}
	clear(e.waves)
	return first
}

func (e *Engine) dropWaves() error {
	err := e.dropGraphs()
	if e.arena != 0 {
		err = errors.Join(err, e.device.Free(e.arena))
		e.arena, e.arenaSize = 0, 0
	}
	return err
}

// stage sees to it that the pinned memory holds so many bytes.
func (e *Engine) stage(bytes int) error {
	if bytes <= len(e.staging) {
		return nil
	}
	if err := e.stream.Synchronize(); err != nil {
		return err
	}
	if e.staging != nil {
		if err := e.device.FreeHost(e.staging); err != nil {
			return err
		}
		e.staging = nil
	}
	var err error
	e.staging, err = e.device.AllocHost(int64(bytes))
	return err
}

// rows is what fills the weights before the first step.
func (e *Engine) rows(w *wave) launch {
	a, p := kernels.RowsArgs{P: uint32(e.layout.P)}, e.options.Precision
	l := launch{kernel: "begin_" + string(p), layer: "weights", geometry: a.Geometry(), cost: func(*frame) kernels.Cost { return a.BeginCost(p) }}
	offset := w.at.work
	if !w.key.train {
		l.kernel, l.cost = "round_weights_"+string(p), func(*frame) kernels.Cost { return a.RoundCost(p) }
		offset = w.at.rows
	}
	l.args = func(f *frame) []byte {
		a := a
		a.Work = f.work + uint64(offset)
		return pack(a)
	}
	return l
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

// run sends the plan that lies in the staging memory, replays the graph, and returns the results. Where kernels are timed, what
// the graph holds is queued one by one.
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

// size writes bytes for people.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (bytes+1<<10-1)>>10)
}
