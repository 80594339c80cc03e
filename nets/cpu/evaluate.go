package cpu

import (
	"context"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
)

// evalUnit is the number of samples whose losses a slot sums at a time. The sums of the units are added in order, so
// another number gives other results.
const evalUnit = 512

// Evaluate implements [nets.Engine].
func (e *Engine) Evaluate(ctx context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	type unit struct {
		job    int
		lo, hi int
		row    []float32
		result nets.EvalResult
	}
	var units []unit
	for j, job := range jobs {
		n, err := job.Check(j, e.parts[:])
		if err != nil {
			return nil, err
		}
		row, err := e.row("evaluate", job.Row)
		if err != nil {
			return nil, err
		}
		for lo := 0; lo < n; lo += evalUnit {
			units = append(units, unit{job: j, lo: lo, hi: min(lo+evalUnit, n), row: row})
		}
	}
	err := e.each(len(units), func(s *slot, i int) error {
		u := &units[i]
		var err error
		u.result, err = s.evaluate(ctx, jobs[u.job], u.row, u.lo, u.hi)
		return err
	})
	if err != nil {
		return nil, err
	}
	results := make([]nets.EvalResult, len(jobs))
	for _, u := range units { // Loss is a sum here, and becomes a mean below
		r := &results[u.job]
		r.N += u.result.N
		r.Correct += u.result.Correct
		r.Loss += u.result.Loss
	}
	for i := range results {
		if results[i].N > 0 {
			results[i].Loss /= float64(results[i].N)
		}
	}
	return results, nil
}

// evaluate evaluates samples lo … hi of a job. Loss of the result is the sum of the losses, not yet their mean.
func (s *slot) evaluate(ctx context.Context, job nets.EvalJob, row []float32, lo, hi int) (nets.EvalResult, error) {
	m, err := s.machine(false)
	if err != nil {
		return nets.EvalResult{}, err
	}
	copy(s.row, row)
	samples := s.engine.parts[job.Part]
	var labels [evalBatch]int32
	var r nets.EvalResult
	for ; lo < hi; lo += evalBatch {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		for b := range evalBatch {
			i := int32(-1)
			if lo+b < hi {
				i = int32(lo + b)
				if job.Index != nil {
					i = job.Index[lo+b]
				}
			}
			labels[b] = kernels.Ignore
			if i >= 0 {
				labels[b] = int32(samples.Labels[i])
			}
			s.gather(m, job.Part, b, i, samples, kernels.Crop{Row: plan.Pad, Col: plan.Pad})
		}
		if err := m.run(); err != nil {
			return r, err
		}
		loss, correct, count := kernels.Score(s.exec, m.Logits, labels[:])
		r.Loss += loss
		r.Correct += correct
		r.N += count
	}
	return r, nil
}
