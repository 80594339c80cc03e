//go:build gpu && linux && cgo

package gpu

import (
	"context"
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// unit is what one slot evaluates: samples lo … hi of a job.
type unit struct {
	job    int
	row    driver.Ptr
	lo, hi int
}

// evalRoom bounds the slots of an evaluation: more would only take memory.
const evalRoom = 64

// Evaluate implements [nets.Engine]. A job is cut in units of EvalBatch samples, whose sums are added in order.
func (e *Engine) Evaluate(ctx context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	var units [len(Engine{}.samples)][]unit // of each part
	for j := range jobs {
		job := &jobs[j]
		n, err := job.Check(j, e.samples[:])
		if err != nil {
			return nil, err
		}
		row, err := e.row("evaluate", job.Row)
		if err != nil {
			return nil, err
		}
		for lo := 0; lo < n; lo += e.options.EvalBatch {
			units[job.Part] = append(units[job.Part], unit{j, row, lo, min(lo+e.options.EvalBatch, n)})
		}
	}
	results := make([]nets.EvalResult, len(jobs))
	for part, units := range units {
		for len(units) > 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			err := e.do(func() error {
				w, err := e.wave(waveKey{part: nets.Part(part), steps: 1}, min(len(units), evalRoom))
				if err != nil {
					return err
				}
				n := min(w.key.room, len(units))
				err = e.evalWave(w, jobs, units[:n], results)
				units = units[n:]
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for i := range results {
		if r := &results[i]; r.N > 0 {
			r.Loss /= float64(r.N)
		}
	}
	return results, nil
}

// evalWave adds what the units bring to the results, whose losses are sums here.
func (e *Engine) evalWave(w *wave, jobs []nets.EvalJob, units []unit, results []nets.EvalResult) error {
	room, B := w.key.room, w.program.B
	host, at, f := e.staging, &w.at, &w.frame
	slots := unsafe.Slice((*kernels.Slot)(unsafe.Pointer(&host[at.slots])), room)
	rowSlots := unsafe.Slice((*kernels.Slot)(unsafe.Pointer(&host[at.rowSlots])), room)
	index, count := driver.View[int32](host[at.index:][:room*B*4]), driver.View[int32](host[at.count:][:room*4])
	rows := map[driver.Ptr]uint64{} // where the weights of each row are rounded to
	for k, u := range units {
		weights, known := rows[u.row]
		if !known {
			weights = w.rounded(len(rows), u.row, e)
			rowSlots[len(rows)] = kernels.Slot{Row: uint64(u.row), Weights: weights}
			rows[u.row] = weights
		}
		slots[k] = kernels.Slot{Row: uint64(u.row), Weights: weights}
		count[k] = int32(u.hi - u.lo)
		for b := range B {
			i := int32(-1)
			if u.lo+b < u.hi {
				i = int32(u.lo + b)
				if list := jobs[u.job].Index; list != nil {
					i = list[u.lo+b]
				}
			}
			index[k*B+b] = i
		}
	}
	wave := kernels.Work{Slots: f.work + uint64(at.slots), Index: f.work + uint64(at.index), Count: f.work +
		uint64(at.count), Clients: uint32(len(units))}
	*(*kernels.Work)(unsafe.Pointer(&host[at.work])) = wave
	wave.Slots, wave.Clients = f.work+uint64(at.rowSlots), uint32(len(rows))
	*(*kernels.Work)(unsafe.Pointer(&host[at.rows])) = wave
	out, err := e.run(w)
	if err != nil {
		return err
	}
	loss, hits := driver.View[float64](out[:8*room]), driver.View[int32](out[8*room:]) // [room], [room,2]
	for k, u := range units {
		r := &results[u.job]
		r.Loss += loss[k]
		r.Correct += int(hits[2*k])
		r.N += int(hits[2*k+1])
	}
	return nil
}
