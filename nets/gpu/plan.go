//go:build gpu && linux && cgo

package gpu

import (
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// A graph holds fixed addresses, so everything that differs from round to round travels through memory: each
// wave has a plan, which the host writes in pinned memory (Engine.staging) and which reaches the device in one copy.

// planLayout says where the pieces of a plan start, in bytes.
type planLayout struct {
	work, rowWork   int // kernels.Work of the slots of each group, and of the rows to be rounded
	slots, rowSlots int // [capacity] kernels.Slot
	index           int // [capacity,E,B] int32, samples
	count           int // [capacity,E] int32, samples in each batch
	crop            int // [capacity,E,B,2] bytes, in training
	flip            int // [capacity,E,B] bytes, in training
	size            int
}

const (
	slotBytes = int(unsafe.Sizeof(kernels.Slot{}))
	workBytes = int(unsafe.Sizeof(kernels.Work{}))
)

// layOutPlan returns the layout of the plans of waves with a key, whose batches have B samples.
func layOutPlan(key waveKey, B int) (l planLayout) {
	place := func(bytes int) int {
		at := l.size
		l.size = alignUp(at+bytes, bufferAlign)
		return at
	}
	slots, batches := key.capacity, key.capacity*key.steps
	l.work, l.rowWork = place(key.groups()*workBytes), place(workBytes)
	l.slots, l.rowSlots = place(slots*slotBytes), place(slots*slotBytes)
	l.index, l.count = place(batches*B*4), place(batches*4)
	if key.train {
		l.crop, l.flip = place(batches*B*2), place(batches*B)
	}
	return l
}

// wavePlan is the image of a wave's plan in pinned memory. [planLayout] has the shapes.
type wavePlan struct {
	works           []kernels.Work // of each group
	rowWork         *kernels.Work
	slots, rowSlots []kernels.Slot
	index, count    []int32
	crop, flip      []byte // in training
}

// stagedPlan returns the image of a wave's plan. It is valid until the next call of [Engine.stage].
func (e *Engine) stagedPlan(w *wave) wavePlan {
	host, at, batches := e.staging, &w.layout, w.key.capacity*w.key.steps
	works := func(at, n int) []kernels.Work { return unsafe.Slice((*kernels.Work)(unsafe.Pointer(&host[at])), n) }
	slots := func(at int) []kernels.Slot {
		return unsafe.Slice((*kernels.Slot)(unsafe.Pointer(&host[at])), w.key.capacity)
	}
	p := wavePlan{
		works: works(at.work, len(w.frames)), rowWork: &works(at.rowWork, 1)[0],
		slots: slots(at.slots), rowSlots: slots(at.rowSlots),
		index: driver.View[int32](host[at.index:][:batches*w.program.B*4]),
		count: driver.View[int32](host[at.count:][:batches*4]),
	}
	if w.key.train {
		p.crop, p.flip = host[at.crop:][:batches*w.program.B*2], host[at.flip:][:batches*w.program.B]
	}
	return p
}

// writeTraining writes the plan of a wave that trains clients, at most as many as the wave's capacity.
func (e *Engine) writeTraining(w *wave, work *nets.LocalWork, clients []client) {
	steps, B, at, base := w.key.steps, w.program.B, &w.layout, w.frames[0].work
	p := e.stagedPlan(w)
	for g, f := range w.frames {
		first := g * f.capacity // slot
		from := func(at, bytes int) uint64 { return base + uint64(at+first*bytes) }
		p.works[g] = kernels.Work{
			Slots: from(at.slots, slotBytes), Index: from(at.index, steps*B*4), Crop: from(at.crop, steps*B*2),
			Flip: from(at.flip, steps*B), Count: from(at.count, steps*4),
			Clients: uint32(w.clients(g, len(clients))), Seed: work.Seed, Round: uint32(work.Round),
			LR: float32(work.LR), WeightDecay: float32(work.WeightDecay), Momentum: float32(work.Momentum),
		}
		if work.Clip != nil {
			p.works[g].Clip = float32(*work.Clip)
		}
	}
	for i, c := range clients {
		_, k := w.slot(i)
		p.slots[k] = kernels.Slot{
			Row: uint64(c.rows.End), Start: uint64(c.rows.Start), Weights: e.weightsOf(w, k, c.rows.End),
			Momentum: uint64(c.rows.Momentum), Drift: uint64(c.rows.Drift), Client: uint32(c.Client),
		}
		index := p.index[k*steps*B:][:steps*B]
		for b := copy(index, c.Plan.Index); b < len(index); b++ {
			index[b] = -1 // no sample: other clients of the wave take more steps than this one
		}
		for s := range steps {
			p.count[k*steps+s] = countSamples(index[s*B:][:B])
		}
		copy(p.crop[2*k*steps*B:], c.Plan.Crop)
		copy(p.flip[k*steps*B:], c.Plan.Flip)
	}
}

// writeEvaluation writes the plan of a wave that evaluates units, at most as many as the wave's capacity. Units of one
// model share the copy of its row.
func (e *Engine) writeEvaluation(w *wave, jobs []nets.EvalJob, units []unit) {
	B, at, base := w.program.B, &w.layout, w.frames[0].work
	p := e.stagedPlan(w)
	weights := map[driver.Ptr]uint64{} // of each row
	for k, u := range units {
		if _, known := weights[u.row]; !known {
			n := len(weights)
			weights[u.row] = e.weightsOf(w, n, u.row)
			p.rowSlots[n] = kernels.Slot{Row: uint64(u.row), Weights: weights[u.row]}
		}
		p.slots[k] = kernels.Slot{Row: uint64(u.row), Weights: weights[u.row]}
		p.count[k] = int32(u.hi - u.lo)
		for b := range B {
			i := int32(-1)
			if u.lo+b < u.hi {
				i = int32(u.lo + b)
				if list := jobs[u.job].Index; list != nil {
					i = list[u.lo+b]
				}
			}
			p.index[k*B+b] = i
		}
	}
	p.works[0] = kernels.Work{
		Slots: base + uint64(at.slots), Index: base + uint64(at.index),
		Count: base + uint64(at.count), Clients: uint32(len(units)),
	}
	*p.rowWork = p.works[0]
	p.rowWork.Slots, p.rowWork.Clients = base+uint64(at.rowSlots), uint32(len(weights))
}

// weightsOf returns the address where matrix products find the weights of a row: with BF16 copy number `slot` of the
// wave's copies, else the row itself.
func (e *Engine) weightsOf(w *wave, slot int, row driver.Ptr) uint64 {
	if w.weights == 0 {
		return uint64(row)
	}
	return w.weights + uint64(slot*e.layout.P*e.options.Precision.Act())
}

// countSamples returns the number of samples in a batch; -1 stands for none, anywhere in the batch.
func countSamples(batch []int32) (n int32) {
	for _, i := range batch {
		if i >= 0 {
			n++
		}
	}
	return n
}
