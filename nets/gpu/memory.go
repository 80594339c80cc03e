//go:build gpu && linux && cgo

package gpu

import (
	"cmp"
	"errors"
	"fmt"
)

// estimate says what bytes of the card the samples take, and training so many clients at once for so many steps and
// evaluating with all the room there may be; rows of parameters come on top.
func (e *Engine) estimate(clients, steps int) (samples, waves int64, err error) {
	for _, s := range e.samples {
		if s != nil {
			samples += int64(len(s.Images) + 4*len(s.Features) + len(s.Labels) + 4*256*len(s.Mean))
		}
	}
	for _, key := range []waveKey{
		{programKey: programKey{train: true}, room: roomFor(clients), steps: steps},
		{room: evalRoom, steps: 1},
	} {
		p, err := e.program(key.programKey)
		if err != nil {
			return 0, 0, err
		}
		w := &wave{key: key, program: p}
		waves = max(waves, w.size(e.layout, e.options.Precision))
	}
	return samples, waves, nil
}

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
		first = cmp.Or(first, e.device.Free(p))
	}
	w.owned = nil
	return first
}

// dropGraphs forgets all waves, dropWaves their memory as well.
func (e *Engine) dropGraphs() error {
	var first error
	for _, w := range e.waves {
		first = cmp.Or(first, e.disown(w))
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

// size returns the bytes a wave takes in an arena.
func (w *wave) size(l layout, p Precision) int64 {
	var total int64
	_ = w.layOut(l, p, func(bytes int64) (uint64, error) { // which cannot fail
		total += int64(alignUp(int(bytes), bufferAlign))
		return 0, nil
	})
	return total + arrange(w.program.buffers, w.key.room)
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
