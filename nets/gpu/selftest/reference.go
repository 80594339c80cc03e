//go:build gpu && linux && cgo

package selftest

import (
	"context"
	"errors"
	"math/rand/v2"

	"rollcall/nets"
	"rollcall/nets/gpu"
)

// reference is what the CPU engine computes for a net.
type reference struct {
	step      result            // after one step
	steps     result            // after several
	evaluated []nets.EvalResult // of the start rows
	// near has, for each reduced precision, how far rounding alone may lead from it.
	near map[gpu.Precision]limits
}

// limits are the largest deviations that a reduced precision explains.
type limits struct{ weights, statistics, loss float64 }

// rounding is twice the error of a weight that is rounded to a precision: 11 or 8 significant bits are kept. It is
// twice, since images and gradients are rounded too.
var rounding = map[gpu.Precision]float64{gpu.TF32: 0x1p-10, gpu.BF16: 0x1p-7}

// newReference computes what the CPU engine makes of a net's rounds.
//
// What a reduced precision does to a whole step has no bound that could be derived, since a ReLU or the maximum of a
// window may change sides. It is therefore measured how sensitive the net is: the CPU engine trains four times from
// weights that are wrong by the rounding, up and down at random. A card may be three times as far from the truth as the
// worst of these runs. A wrong kernel is wrong by the size of the update itself.
func newReference(ctx context.Context, t *netTest) (ref *reference, err error) {
	e, err := nets.NewCPU(t.model, t.train, t.test, nets.CPUOptions{Batch: t.step.batch})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	ref = &reference{near: map[gpu.Precision]limits{}}
	if ref.step, err = t.step.train(ctx, e); err != nil {
		return nil, err
	}
	if ref.steps, err = t.steps.train(ctx, e); err != nil {
		return nil, err
	}
	if ref.evaluated, err = t.step.evaluate(ctx, e); err != nil {
		return nil, err
	}
	for p, off := range rounding {
		var near limits
		for i := range 4 {
			l, err := ref.sensitivity(ctx, e, t.step.disturbed(off, uint64(i)))
			if err != nil {
				return nil, err
			}
			near.weights = max(near.weights, 3*l.weights)
			near.statistics = max(near.statistics, 3*l.statistics)
			near.loss = max(near.loss, 3*l.loss)
		}
		ref.near[p] = near
	}
	return ref, nil
}

// sensitivity returns how far a round leads that begins elsewhere.
func (ref *reference) sensitivity(ctx context.Context, e nets.Engine, r round) (l limits, err error) {
	got, err := r.train(ctx, e)
	if err != nil {
		return l, err
	}
	results, err := r.evaluate(ctx, e)
	if err != nil {
		return l, err
	}
	l.loss = lossesOff(losses(results), losses(ref.evaluated))
	to := &l.weights
	parts(r.model, func(_ string, mine func(nets.Param) bool) {
		*to, _ = distance(r.model, got, ref.step, mine)
		to = &l.statistics
	})
	return l, nil
}

// disturbed returns the round with start weights that are wrong by up to off of themselves.
func (r round) disturbed(off float64, seed uint64) round {
	random := rand.New(rand.NewPCG(seed, 5))
	for i, row := range r.start {
		wrong := make([]float32, len(row))
		for j, v := range row {
			wrong[j] = v * float32(1+off*(2*random.Float64()-1))
		}
		r.start[i] = wrong
	}
	return r
}

// losses returns the losses of evaluations.
func losses(results []nets.EvalResult) (loss []float64) {
	for _, r := range results {
		loss = append(loss, r.Loss)
	}
	return loss
}
