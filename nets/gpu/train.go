//go:build gpu && linux && cgo

package gpu

import (
	"context"
	"math"
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// trainer is the checked local work of one client.
type trainer struct {
	*nets.ClientWork
	rows nets.ClientRows[driver.Ptr]
}

// Train implements [nets.Engine]. The clients are trained in waves, as many at a time as memory holds; how many changes
// no result.
func (e *Engine) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	if err := work.Check(ctx, e.options.Batch, e.samples[nets.Train]); err != nil {
		return nil, err
	}
	clients := make([]trainer, len(work.Clients))
	key := waveKey{programKey: programKey{train: true, clip: work.Clip != nil}}
	for i := range clients {
		c := &work.Clients[i]
		rows, err := nets.LocateRows(c, e.row)
		if err != nil {
			return nil, err
		}
		clients[i] = trainer{c, rows}
		key.steps = max(key.steps, c.Plan.E)
	}
	loss := make([]float32, len(clients))
	for done := 0; done < len(clients) && key.steps > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := e.do(func() error {
			w, err := e.wave(key, len(clients)-done)
			if err != nil {
				return err
			}
			n := min(w.key.room, len(clients)-done)
			err = e.trainWave(w, &work, clients[done:done+n], loss[done:done+n])
			done += n
			return err
		})
		if err != nil {
			return loss, err
		}
	}
	return loss, nil
}

// trainWave trains clients, as many as the wave has room for at most, and fills in the losses of their first batches.
func (e *Engine) trainWave(w *wave, work *nets.LocalWork, clients []trainer, first []float32) error {
	room, steps, B := w.key.room, w.key.steps, w.program.B
	host, at, f := e.staging, &w.at, &w.frame
	wave := kernels.Work{
		Slots: f.work + uint64(at.slots), Index: f.work + uint64(at.index), Crop: f.work + uint64(at.crop),
		Flip: f.work + uint64(at.flip), Count: f.work + uint64(at.count),
		Clients: uint32(len(clients)), Seed: work.Seed, Round: uint32(work.Round),
		LR: float32(work.LR), WeightDecay: float32(work.WeightDecay), Momentum: float32(work.Momentum),
	}
	if work.Clip != nil {
		wave.Clip = float32(*work.Clip)
	}
	*(*kernels.Work)(unsafe.Pointer(&host[at.work])) = wave
	slots := unsafe.Slice((*kernels.Slot)(unsafe.Pointer(&host[at.slots])), room)
	index, count := driver.View[int32](host[at.index:][:room*steps*B*4]),
		driver.View[int32](host[at.count:][:room*steps*4])
	for k, c := range clients {
		slots[k] = kernels.Slot{
			Row: uint64(c.rows.End), Start: uint64(c.rows.Start), Weights: w.rounded(k, c.rows.End, e),
			Momentum: uint64(c.rows.Momentum), Drift: uint64(c.rows.Drift), Client: uint32(c.Client),
		}
		p := &c.Plan
		batches := index[k*steps*B:][:steps*B]
		for b := copy(batches, p.Index); b < len(batches); b++ {
			batches[b] = -1 // steps that others take
		}
		for s := range steps {
			count[k*steps+s] = samplesOf(batches[s*B:][:B])
		}
		copy(host[at.crop+2*k*steps*B:], p.Crop)
		copy(host[at.flip+k*steps*B:], p.Flip)
	}
	out, err := e.run(w)
	if err != nil {
		return err
	}
	loss := driver.View[float32](out) // [steps,room]
	for k, c := range clients {
		first[k] = loss[k]
		for s := range c.Plan.E {
			if v := float64(loss[s*room+k]); math.IsNaN(v) || math.IsInf(v, 0) {
				return &nets.DivergedError{Round: work.Round, Client: c.Client, Step: s, Loss: v}
			}
		}
	}
	return nil
}

// samplesOf returns how many samples a batch has, wherever its padding is.
func samplesOf(batch []int32) (n int32) {
	for _, i := range batch {
		if i >= 0 {
			n++
		}
	}
	return n
}

// rounded is where the matrix products find the weights of a row: in place `slot` of the rounded copies, with fp32 in
// the row.
func (w *wave) rounded(slot int, row driver.Ptr, e *Engine) uint64 {
	if w.weights == 0 {
		return uint64(row)
	}
	return uint64(w.weights) + uint64(slot*e.layout.P*e.options.Precision.Act())
}
