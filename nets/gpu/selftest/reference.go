//go:build gpu && linux && cgo

package selftest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu"
	"rollcall/nets/models"
)

// reference is what the CPU engine computes for a net.
type reference struct {
	step      result            // after one step
	steps     result            // after several
	evaluated []nets.EvalResult // of the start rows
	// near has the largest deviations that a reduced precision explains.
	near map[gpu.Precision]limits
}

// limits are how far a reduced precision may lead from what the CPU engine computes.
type limits struct {
	step, steps rowLimits
	loss        float64 // of evaluations
}

// rowLimits bound the distances of the rows of a result.
type rowLimits struct{ weights, statistics float64 }

// widen makes the limits so many times a deviation, if they are below.
func (l *rowLimits) widen(by rowLimits, times float64) {
	l.weights, l.statistics = max(l.weights, times*by.weights), max(l.statistics, times*by.statistics)
}

// rounding is twice the error of a weight that is rounded to a precision: 11 or 8 significant bits are kept. It is
// twice, since images and gradients are rounded too.
var rounding = map[gpu.Precision]float64{gpu.TF32: 0x1p-10, gpu.BF16: 0x1p-7}

// newReference computes what the CPU engine makes of a net's rounds.
//
// What a reduced precision does to a whole step has no bound that could be derived, since a ReLU or the maximum of a
// window may change sides. It is therefore measured how sensitive the net is: the CPU engine trains four times from
// weights that are wrong by the rounding, up and down at random. A card may be three times as far from the truth as the
// worst of these runs after a step. A card rounds anew in every step: after E steps it may be 3√E times as far.
func newReference(ctx context.Context, t *netTest) (ref *reference, err error) {
	e, err := cpu.Open(t.model, t.train, t.test, cpu.Options{Batch: t.step.batch})
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
		for seed := range uint64(4) {
			if err := ref.widen(ctx, &near, e, t, off, seed); err != nil {
				return nil, err
			}
		}
		ref.near[p] = near
	}
	return ref, nil
}

// widen widens limits by a run from weights that are wrong by up to off of themselves.
func (ref *reference) widen(
	ctx context.Context, l *limits, e nets.Engine, t *netTest, off float64, seed uint64,
) error {
	for _, c := range []struct {
		round *round
		truth result
		to    *rowLimits
	}{{&t.step, ref.step, &l.step}, {&t.steps, ref.steps, &l.steps}} {
		wrong := c.round.disturbed(off, seed)
		got, err := wrong.train(ctx, e)
		if err != nil {
			return err
		}
		c.to.widen(rowDistances(t.model, got, c.truth), 3*math.Sqrt(float64(c.round.steps)))
		if c.round.steps > 1 {
			continue
		}
		results, err := wrong.evaluate(ctx, e)
		if err != nil {
			return err
		}
		l.loss = max(l.loss, 3*lossesOff(losses(results), losses(ref.evaluated)))
	}
	return nil
}

func rowDistances(m *models.Model, got, want result) (d rowLimits) {
	to := &d.weights
	parts(m, func(_ string, mine func(models.Param) bool) {
		*to, _ = distance(m, got, want, mine)
		to = &d.statistics
	})
	return d
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

func losses(results []nets.EvalResult) (loss []float64) {
	for _, r := range results {
		loss = append(loss, r.Loss)
	}
	return loss
}
