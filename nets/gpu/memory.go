//go:build gpu && linux && cgo

package gpu

import (
	"cmp"
	"errors"
	"fmt"

	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// All waves of an engine share one arena on the device, since they never run at the same time. In guard mode each piece
// of memory is an allocation of its own instead, so that memory checkers see every overrun.

// allocate gives a wave its memory on the device, and sees to it that the pinned memory holds its plan and its results.
func (e *Engine) allocate(w *wave) error {
	pieces := w.pieces(e.layout, e.options.Precision)
	for g := range w.frames {
		w.frames[g].buffers = map[*buffer]uint64{}
	}
	var err error
	if e.guard {
		err = e.placeApart(w, pieces)
	} else {
		err = e.placeInArena(w, pieces)
	}
	if err != nil {
		return fmt.Errorf("gpu: room for %d clients: %w", w.key.capacity, err)
	}
	w.spread(e.layout)
	return e.stage(w.layout.size + w.resultBytes)
}

// spread sets the addresses of all groups of a wave, given those of the first, where the pieces of all begin.
func (w *wave) spread(l layout) {
	all := w.frames[0]
	for g := range w.frames {
		f, first := &w.frames[g], uint64(g*all.capacity) // slot
		f.work, f.rowWork = all.work+uint64(w.layout.work+g*workBytes), all.work+uint64(w.layout.rowWork)
		at := func(all uint64, bytes int) uint64 {
			if all == 0 {
				return 0
			}
			return all + first*uint64(bytes)
		}
		f.loss, f.score = at(all.loss, w.key.steps*4), all.score
		f.grad, f.scale = at(all.grad, w.program.gradients.size()*4), at(all.scale, 4)
		f.norms = at(all.norms, kernels.Partials(uint32(l.trained))*8)
	}
}

// piece is memory that a wave has besides the buffers of its program: its size in bytes, and the place for its address.
type piece struct {
	bytes int
	at    *uint64
}

// pieces returns the pieces of a wave's memory. Their sizes depend on the wave alone.
func (w *wave) pieces(l layout, p Precision) []piece {
	f, capacity := &w.frames[0], w.key.capacity
	pieces := []piece{{w.layout.size, &f.work}}
	if p == BF16 {
		pieces = append(pieces, piece{capacity * l.P * p.Act(), &w.weights})
	}
	if !w.key.train {
		return append(pieces, piece{w.resultBytes, &f.score})
	}
	if n := w.program.gradients.size(); n > 0 {
		pieces = append(pieces, piece{capacity * n * 4, &f.grad})
	}
	if w.key.clip {
		norms := capacity * kernels.Partials(uint32(l.trained)) * 8
		pieces = append(pieces, piece{capacity * 4, &f.scale}, piece{norms, &f.norms})
	}
	return append(pieces, piece{w.resultBytes, &f.loss})
}

// placeInArena places the pieces and the buffers of a wave in the arena. If the arena is too small, all waves are
// dropped and it grows.
func (e *Engine) placeInArena(w *wave, pieces []piece) error {
	if need := w.arenaBytes(pieces); need > e.arenaBytes {
		if err := e.dropArena(); err != nil {
			return err
		}
		leave := headroom(e.card.Memory)
		if w.key.capacity == 1 { // there is no smaller wave
			leave = 0
		}
		var err error
		if e.arena, err = e.device.AllocLeaving(need, leave); err != nil {
			return err
		}
		e.arenaBytes = need
	}
	// The pieces come first, in order. The buffers follow, where arrange has put them.
	next := uint64(e.arena)
	for _, p := range pieces {
		*p.at = next
		next += uint64(alignUp(p.bytes, bufferAlign))
	}
	for g := range w.frames {
		for _, b := range w.program.buffers {
			w.frames[g].buffers[b] = next + uint64(b.offset)
		}
		next += uint64(w.bufferBytes)
	}
	return nil
}

// headroom returns how much of a card's memory an arena leaves free, for what the driver takes later: graphs, events,
// the local memory of kernels. Only a wave of one slot may take that too. On a card with less than 4 GiB, as no real
// one has, it is a sixteenth.
func headroom(memory int64) int64 { return min(max(256<<20, memory/50), memory/16) }

// arenaBytes arranges the buffers of a wave and returns the bytes that the wave takes in an arena.
func (w *wave) arenaBytes(pieces []piece) int64 {
	w.bufferBytes = arrange(w.program.buffers, w.frames[0].capacity, w.program.share)
	total := int64(len(w.frames)) * w.bufferBytes
	for _, p := range pieces {
		total += int64(alignUp(p.bytes, bufferAlign))
	}
	return total
}

// placeApart allocates every piece and every buffer of a wave on its own.
func (e *Engine) placeApart(w *wave, pieces []piece) error {
	alloc := func(bytes int64) (uint64, error) {
		p, err := e.device.Alloc(max(bytes, 1))
		if err == nil {
			w.owned = append(w.owned, p)
		}
		return uint64(p), err
	}
	var err error
	for _, p := range pieces {
		if *p.at, err = alloc(int64(p.bytes)); err != nil {
			return err
		}
	}
	for _, f := range w.frames {
		for _, b := range w.program.buffers {
			if f.buffers[b], err = alloc(int64(b.n) * int64(b.size) * int64(f.capacity)); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage makes the pinned memory hold at least so many bytes. Its contents are lost when it grows.
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

// release gives back the graph of a wave, and its memory in guard mode.
func (e *Engine) release(w *wave) error {
	var first error
	if w.exec != nil {
		first = w.exec.Destroy()
		w.exec = nil
	}
	for _, p := range w.owned {
		first = cmp.Or(first, e.device.Free(p))
	}
	w.owned = nil
	return first
}

// dropOldest forgets the wave that was least recently used.
func (e *Engine) dropOldest() error {
	var oldest *wave
	for _, w := range e.waves {
		if oldest == nil || w.lastUse < oldest.lastUse {
			oldest = w
		}
	}
	delete(e.waves, oldest.key)
	return e.release(oldest)
}

// dropArena forgets all waves and gives the arena back.
func (e *Engine) dropArena() error {
	var err error
	for _, w := range e.waves {
		err = cmp.Or(err, e.release(w))
	}
	clear(e.waves)
	if e.arena != 0 {
		err = errors.Join(err, e.device.Free(e.arena))
		e.arena, e.arenaBytes = 0, 0
	}
	return err
}

// estimate returns the bytes that the samples take on the card, and the bytes that waves take when so many clients at
// once train for so many steps and evaluation uses as many slots as it ever does. Rows of parameters are not included.
func (e *Engine) estimate(clients, steps int) (samples, waves int64, err error) {
	for _, s := range e.samples {
		if s != nil {
			samples += int64(len(s.Images) + 4*len(s.Features) + len(s.Labels) + 4*256*len(s.Mean))
		}
	}
	for _, key := range []waveKey{
		{programKey: programKey{train: true}, capacity: capacityFor(clients), steps: steps},
		{capacity: maxEvalSlots, steps: 1},
	} {
		p, err := e.program(key.programKey)
		if err != nil {
			return 0, 0, err
		}
		w := e.unplaced(key, p)
		waves = max(waves, w.arenaBytes(w.pieces(e.layout, e.options.Precision)))
	}
	return samples, waves, nil
}

// ring carries small arrays between host and device, such as the coefficients of Combine: a piece of pinned host memory
// and a piece of device memory of the same size, which are handed out in parts, front to back. When the end is reached
// the ring waits for the device and starts over, so that no part is written while the device may still read it.
type ring struct {
	host   []byte
	device driver.Ptr
	used   int // bytes handed out
}

// scratch is a part of a ring: an array on the host and an array of the same size on the device. The caller copies.
type scratch struct {
	host   []byte
	device driver.Ptr
}

// ringBytes is the size of a new ring. A larger request makes the ring grow.
const ringBytes = 1 << 18

// scratch returns n bytes on the host and on the device, valid until the ring starts over: the caller queues all that
// uses them before the next call.
func (e *Engine) scratch(n int) (scratch, error) {
	r := &e.ring
	take := alignUp(n, bufferAlign)
	if r.used+take > len(r.host) {
		if err := e.stream.Synchronize(); err != nil {
			return scratch{}, err
		}
		r.used = 0
	}
	if take > len(r.host) {
		if err := r.free(e.device); err != nil {
			return scratch{}, err
		}
		if err := r.alloc(e.device, 2*take); err != nil {
			return scratch{}, err
		}
	}
	at := r.used
	r.used += take
	return scratch{r.host[at : at+n], r.device + driver.Ptr(at)}, nil
}

// alloc gives the ring n bytes of host memory and n bytes of device memory.
func (r *ring) alloc(d *driver.Device, n int) error {
	var err error
	if r.host, err = d.AllocHost(int64(n)); err != nil {
		return err
	}
	r.device, err = d.Alloc(int64(n))
	return err
}

// free gives the memory back. It waits for the work under way, as [driver.Device.Free] does.
func (r *ring) free(d *driver.Device) error {
	if r.host == nil {
		return nil
	}
	host, device := r.host, r.device
	*r = ring{}
	if err := d.Free(device); err != nil {
		return err
	}
	return d.FreeHost(host)
}
