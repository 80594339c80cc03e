//go:build gpu && linux && cgo

package gpu

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/models"
)

// The order of launches, and what may lie over each other in memory, follow from what each launch says that it reads
// and writes. So the interpreter runs every launch of a step, and of an evaluation, with that memory alone, where any
// other access is a fault, and what the launch says that it only reads must have the same bytes afterwards.
func TestAccess(t *testing.T) {
	if gputest.Real() || gputest.LeftOut != "" {
		t.Skip("left out: the interpreter runs on the emulator's memory. " + gputest.LeftOut)
	}
	t.Setenv(guardVariable, "guard")
	clip := 0.5
	for _, c := range []struct {
		net       string
		precision Precision
		clip      *float64
	}{
		{"lenet5", FP32, nil},
		{"lenet5", BF16, &clip},
		{"linear-binary", TF32, nil},
		{"cnn-cifar10", BF16, nil},
		{"cnn-cifar10", TF32, &clip},
		{"cnn-cinic10", TF32, nil},
		{"resnet20", BF16, nil},
		{"resnet20", TF32, &clip},
	} {
		t.Run(fmt.Sprintf("%s_%s_%t", c.net, c.precision, c.clip != nil), func(t *testing.T) {
			small := c.net == "lenet5" || c.net == "linear-binary"
			if !small && !gputest.Long() {
				t.Skip("left to make test-long")
			}
			gputest.Need(t, "kernels")
			m := must.Get(models.New(c.net))(t)
			o := Options{Precision: c.precision, Batch: 2, EvalBatch: 2}
			e := must.Get(openEngine(m, crowd.Samples(m, crowd.TrainSamples, 1), crowd.Samples(m, 5, 2), o))(t)
			defer e.Close()
			round := newRound(t, e, m, 1, 2, c.clip)
			round.work.Clients = round.work.Clients[:2] // the second has momentum and drift
			must.Get(e.Train(t.Context(), round.work))(t)
			must.Get(e.Evaluate(t.Context(), []nets.EvalJob{
				{Row: round.work.Clients[0].End, Part: nets.Train, Index: []int32{3}},
				{Row: round.work.Clients[1].End, Part: nets.Train, Index: []int32{4, 2}},
			}))(t)
			for _, w := range e.waves {
				w.frames[0].step = 0
				for _, l := range w.program.launches {
					runAlone(t, e, w, l)
				}
			}
		})
	}
}

// runAlone runs a launch for the second slot of a wave, with the memory that the launch says it accesses.
func runAlone(t *testing.T, e *Engine, w *wave, l launch) {
	t.Helper()
	memory := sharedMemory(e, w)
	var untouched, before []ptx.Buffer
	seen := buffers{}
	for _, b := range slices.Concat(l.access.writes, l.access.reads) { // what is written comes first
		if slices.Contains(seen, b) {
			continue
		}
		seen = append(seen, b)
		pieces := memoryOfBuffer(e, w, 1, b)
		memory = append(memory, pieces...)
		if !slices.Contains(l.access.writes, b) {
			untouched = append(untouched, pieces...)
		}
	}
	for _, p := range untouched {
		before = append(before, ptx.Buffer{At: p.At, Bytes: bytes.Clone(p.Bytes)})
	}
	memory.Sort()
	g := l.geometry(w.key.capacity)
	run := ptx.Launch{Grid: [2]int{g.X, 2}, Threads: g.Threads, Shared: g.Shared, Args: l.args(&w.frames[0])}
	for x := range g.X {
		run.Blocks = append(run.Blocks, [2]int{x, 1})
	}
	module, _ := kernels.Find(l.kernel)
	if _, err := must.Get(ptx.Parse(module.PTX))(t).Kernel(l.kernel).Run(run, memory); err != nil {
		t.Errorf("%s of %s: %v", l.kernel, l.layer, err)
	}
	for i, p := range untouched {
		if !bytes.Equal(p.Bytes, before[i].Bytes) {
			t.Errorf("%s of %s writes what it says that it reads", l.kernel, l.layer)
		}
	}
}

// sharedMemory returns what no launch names: the plan, the samples, and the losses or scores.
func sharedMemory(e *Engine, w *wave) (m ptx.Memory) {
	m = append(samplesMemory(e), pieceAt(w.frames[0].work, w.layout.size)...)
	m = append(m, pieceAt(w.frames[0].loss, w.resultBytes)...)
	return append(m, pieceAt(w.frames[0].score, w.resultBytes)...)
}

func samplesMemory(e *Engine) (m ptx.Memory) {
	s, part := e.samples[nets.Train], e.parts[nets.Train]
	m = append(m, pieceAt(part.images, len(s.Images))...)
	m = append(m, pieceAt(part.features, len(s.Features)*4)...)
	m = append(m, pieceAt(part.classes, len(s.Labels))...)
	return append(m, pieceAt(part.table, len(s.Mean)*256*4)...)
}

// pieceAt returns memory of the emulator, which is this process's own; nothing at address 0.
func pieceAt(at uint64, bytes int) (m ptx.Memory) {
	if at == 0 || bytes == 0 {
		return nil
	}
	return ptx.Memory{{At: at, Bytes: unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), bytes)}}
}

// memoryOfBuffer returns the memory of a buffer: of the program's own, of all slots; of weights and gradients, the part
// of one slot's rows, up to the next parameter.
func memoryOfBuffer(e *Engine, w *wave, slot int, b *buffer) (m ptx.Memory) {
	if at, ok := w.frames[0].buffers[b]; ok {
		return pieceAt(at, b.n*b.size*w.key.capacity)
	}
	switch b.name {
	case "norms":
		return pieceAt(w.frames[0].norms, w.key.capacity*kernels.Partials(uint32(e.layout.trained))*8)
	case "scale":
		return pieceAt(w.frames[0].scale, w.key.capacity*4)
	}
	work := (*kernels.Work)(unsafe.Pointer(*(**byte)(unsafe.Pointer(&w.frames[0].work))))
	s := *(*kernels.Slot)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&work.Slots)), slot*slotBytes))
	for i, p := range e.model.Params {
		from, to := e.layout.offset[i], e.layout.P
		for _, at := range e.layout.offset {
			if at > from {
				to = min(to, at)
			}
		}
		switch b.name {
		case p.Name:
			for _, row := range []uint64{s.Row, s.Momentum, s.Drift} {
				if row != 0 {
					m = append(m, pieceAt(row+uint64(from*4), (to-from)*4)...)
				}
			}
			if s.Weights != s.Row {
				m = append(m, pieceAt(s.Weights+uint64(from*2), (to-from)*2)...)
			}
		case p.Name + " gradient":
			if span := w.program.gradients; from >= span.from && span.size() > 0 {
				m = append(m, pieceAt(w.frames[0].grad+uint64((slot*span.size()+from-span.from)*4), (to-from)*4)...)
			}
		}
	}
	return m
}
