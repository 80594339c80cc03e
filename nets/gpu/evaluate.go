//go:build gpu && linux && cgo

package gpu

import (
	"context"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
)

// unit is the work of one slot in evaluation: samples lo … hi-1 of a job, or of the job's list of samples.
type unit struct {
	job    int
	row    driver.Ptr // parameters of the model
	lo, hi int
}

// maxEvalSlots bounds the slots of an evaluation. More slots would take memory and gain no time.
const maxEvalSlots = 64

// Evaluate implements [nets.Engine]. It cuts a job in units of at most EvalBatch samples and adds the units' sums in
// order.
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
	for part, units := range units { // a wave reads one part of the samples
		for len(units) > 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			err := e.do(func() error {
				n, err := e.evalWave(waveKey{part: nets.Part(part), steps: 1}, jobs, units, results)
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

// evalWave evaluates the first n units, as many as one wave takes, and adds their sums to the results of their jobs.
// Loss is a sum here, not yet a mean.
func (e *Engine) evalWave(
	key waveKey, jobs []nets.EvalJob, units []unit, results []nets.EvalResult,
) (n int, err error) {
	w, out, err := e.run(key, min(len(units), maxEvalSlots), func(w *wave) {
		n = min(w.key.capacity, len(units))
		e.writeEvaluation(w, jobs, units[:n])
	})
	if err != nil {
		return 0, err
	}
	scores := 8 * w.key.capacity
	loss, hits := driver.View[float64](out[:scores]), driver.View[int32](out[scores:]) // [capacity], [capacity,2]
	for k, u := range units[:n] {
		r := &results[u.job]
		r.Loss += loss[k]
		r.Correct += int(hits[2*k])
		r.N += int(hits[2*k+1])
	}
	return n, nil
}
