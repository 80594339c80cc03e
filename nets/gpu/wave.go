//go:build gpu && linux && cgo

package gpu

import (
	"errors"
	"fmt"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
)

// waveKey says what a CUDA graph is for. Training has a graph for every capacity and number of steps that
// occurs, evaluation for every capacity and part of the samples.
type waveKey struct {
	programKey
	part     nets.Part // in evaluation
	capacity int       // slots that the wave has memory for
	steps    int       // 1 in evaluation
}

// wave is a program in memory, for a number of slots and steps, as one CUDA graph. Clients beyond a wave's
// capacity are trained by running the wave again.
type wave struct {
	key         waveKey
	program     *program
	frames      []frame // of its groups of slots; the first begins where the memory of all does
	exec        *driver.Exec
	owned       []driver.Ptr // allocations of guard mode (ROLLCALL_GPU_ARENA=guard), where each buffer has its own
	layout      planLayout
	bufferBytes int64  // of a group, in the arena
	weights     uint64 // address of the weights in bf16 [capacity,P]; 0 in other precisions
	lastUse     int    // the number of the use, among all uses of waves
	resultBytes int    // of the losses of training, or of the scores of evaluation
}

// fewestOfGroup are the slots that a group of a wave has at the least.
const fewestOfGroup = 8

// groups returns in how many groups the slots of a wave are trained: two, if each has enough slots. No launch of one
// group waits for a launch of another. So while a kernel of one group has too little work for all multiprocessors, or
// waits for memory, kernels of the other run beside it. Slots are independent, so that no result depends on the groups.
func (k waveKey) groups() int {
	if k.train && k.capacity >= 2*fewestOfGroup && k.capacity%2 == 0 {
		return 2
	}
	return 1
}

// slot returns the group and the slot of the k-th of the clients of a wave, which are dealt out to the groups in turn.
func (w *wave) slot(k int) (group, slot int) {
	group = k % len(w.frames)
	return group, group*w.frames[0].capacity + k/len(w.frames)
}

// clients returns how many of n clients are in a group.
func (w *wave) clients(group, n int) int { return (n + len(w.frames) - 1 - group) / len(w.frames) }

// mostWaves bounds the number of waves that an engine keeps. The one that was least recently used goes first.
const mostWaves = 32

// maxSlots bounds the slots of a wave: the y dimension of a grid has at most 65,535 blocks.
const maxSlots = 1 << 15

// wave returns a wave for at least one slot and at most the slots asked for, rounded up. The wave is smaller than asked
// for when the device has too little memory; the user is then told.
func (e *Engine) wave(key waveKey, slots int) (*wave, error) {
	for {
		slots = min(slots, e.slotLimit)
		key.capacity = min(capacityFor(slots), max(e.slotLimit, 1))
		var err error
		w := e.waves[key]
		if w == nil {
			w, err = e.newWave(key)
		}
		if err == nil {
			e.uses++
			w.lastUse = e.uses
			return w, nil
		}
		if err := e.shrink(key.capacity, err); err != nil {
			return nil, err
		}
	}
}

// shrink answers the error of a wave of some capacity. If memory has run out, it gives back all that waves take and
// makes later waves half as large: they take about half the memory. It returns an error that a smaller wave would not
// cure. The new limit stays, so that later rounds need not try again.
func (e *Engine) shrink(capacity int, err error) error {
	if !errors.Is(err, driver.ErrOutOfMemory) || capacity == 1 {
		return err
	}
	if err := e.dropArena(); err != nil {
		return err
	}
	e.slotLimit = capacity / 2
	limit := fmt.Sprintf("training and evaluating at most %d clients at once", e.slotLimit)
	e.notice(limit, fmt.Sprintf("%v: %s", err, limit))
	return nil
}

// newWave lowers the program of a wave, finds memory for it, loads its kernels and makes its graph.
func (e *Engine) newWave(key waveKey) (*wave, error) {
	if len(e.waves) >= mostWaves {
		if err := e.dropOldest(); err != nil {
			return nil, err
		}
	}
	p, err := e.program(key.programKey)
	if err != nil {
		return nil, err
	}
	w := e.unplaced(key, p)
	if err = e.allocate(w); err == nil {
		err = e.load(p.all())
	}
	if err == nil {
		w.exec, err = e.graph(w)
	}
	if err != nil {
		return nil, errors.Join(err, e.release(w))
	}
	e.waves[key] = w
	return w, nil
}

// unplaced returns a wave without memory and without a graph. Its sizes are known.
func (e *Engine) unplaced(key waveKey, p *program) *wave {
	w := &wave{key: key, program: p, layout: layOutPlan(key, p.B), frames: make([]frame, key.groups())}
	for g := range w.frames {
		w.frames[g] = frame{
			capacity: key.capacity / len(w.frames), E: uint32(key.steps), parts: e.parts, part: key.part,
		}
	}
	w.resultBytes = key.capacity * 16 // a loss in float64 and two counts for each slot
	if key.train {
		w.resultBytes = key.steps * key.capacity * 4 // a loss in float32 for each step and slot
	}
	return w
}

// capacityFor rounds a number of slots up to 8, 16, 24, 32, 48, 64, 96, 128 and so on, so that few graphs serve the
// many numbers of clients that are active in a round.
func capacityFor(slots int) int {
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
