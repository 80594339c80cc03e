//go:build gpu && linux && cgo

package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/gpu"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/models"
)

// The largest deviations in fp32. Correct float32 programs agree to 1e-5 of the largest update after a step, and to
// 1e-3 after several. A residual net has many batch normalisations in a row, which multiply rounding errors, and half a
// million ReLUs: one that changes sides takes a pixel's share from the gradients of every earlier layer. The weights of
// such a net agree to 2e-2, and those of the closest client to much less.
const (
	mostAfterStep  = 1e-5
	mostAfterSteps = 1e-3
	mostResidual   = 1e-4 // after a step: running statistics, and the closest weights
	mostFlipped    = 2e-2
	mostLoss       = 1e-5
)

// mostReduced caps what a reduced precision may be off, however sensitive a net is: a wrong kernel is wrong by the size
// of the update itself.
const mostReduced = 0.5

// netTest is the test of a net: the rounds, and what the CPU engine makes of them.
type netTest struct {
	model       *models.Model
	train, test *plan.Samples
	step, steps round // one step with clipping, several without
	want        *reference
}

// newNetTest makes the rounds of a net and trains them on the CPU.
func newNetTest(ctx context.Context, net string) (*netTest, error) {
	m, err := models.New(net)
	if err != nil {
		return nil, err
	}
	clip := 1.5
	r := round{model: m, steps: 1, batch: batchOf(m), clip: &clip}
	for i := range r.start {
		r.start[i] = m.Init(models.Kaiming, uint32(i))
	}
	t := &netTest{
		model: m, step: r, steps: r,
		train: crowd.Samples(m, crowd.TrainSamples, 1), test: crowd.Samples(m, crowd.TestSamples, 2),
	}
	t.steps.steps, t.steps.clip = severalSteps(m), nil
	t.want, err = newReference(ctx, t)
	return t, err
}

// severalSteps returns the number of steps of a net's longer round. Rounding leads a net with kinks (ReLUs, maxima)
// astray with every step, so that its limits say little after many. A net of one layer has none.
func severalSteps(m *models.Model) int {
	if len(m.Params) == 2 {
		return 4
	}
	return 2
}

// batchOf returns the batch size of a net's rounds.
func batchOf(m *models.Model) int {
	if hasStatistics(m) {
		return 8
	}
	return 5
}

// check trains the rounds on a card and compares them with the CPU's. The longer one is trained twice, as a graph, and
// must give the same bytes; the shorter one and the evaluation are launched kernel by kernel. found has the deviations,
// and launched the kernels.
func (t *netTest) check(ctx context.Context, card int, p gpu.Precision) (found string, launched []string, err error) {
	e, err := gpu.Open(t.model, t.train, t.test, gpu.Options{
		Device: card, Precision: p, Batch: t.step.batch, EvalBatch: 8,
	})
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	first, err := t.steps.train(ctx, e)
	if err != nil {
		return "", nil, err
	}
	again, err := t.steps.train(ctx, e)
	if err != nil {
		return "", nil, err
	}
	profiler := e.(nets.Profiler)
	if err := profiler.Profile(true); err != nil {
		return "", nil, err
	}
	step, err := t.step.train(ctx, e)
	if err != nil {
		return "", nil, err
	}
	evaluated, err := t.step.evaluate(ctx, e)
	if err != nil {
		return "", nil, err
	}
	for _, k := range profiler.Kernels() {
		launched = append(launched, k.Kernel)
	}
	switch {
	case !first.same(again):
		return "", launched, errors.New("the same round again gives other bytes")
	case !slices.Equal(first.loss, step.loss): // both begin with the same batch
		return "", launched, errors.New("kernels give other losses as a graph than one by one")
	}
	found, err = t.judge(p, step, first, evaluated)
	return found, launched, err
}

// judge compares what a card has computed with what the CPU has. An error names the worst deviation that is too large.
func (t *netTest) judge(p gpu.Precision, step, steps result, evaluated []nets.EvalResult) (found string, err error) {
	losses, err := t.evaluation(p, evaluated)
	if err != nil {
		return "", err
	}
	var after, later []deviation
	if p == gpu.FP32 {
		after = t.exact(step, t.want.step, mostAfterStep, mostResidual)
		later = t.exact(steps, t.want.steps, mostAfterSteps, mostAfterSteps)
	} else {
		near := t.want.near[p]
		after = t.rounded(step, t.want.step, near.step)
		later = t.rounded(steps, t.want.steps, near.steps)
	}
	if d := worst(slices.Concat(after, later, []deviation{losses})); d.wrong() {
		return "", fmt.Errorf("%s: off by %.2g, at most %.2g", d.where, d.off, d.most)
	}
	return fmt.Sprintf("1 step %s, %d steps %s, evaluation %s, again the same bytes",
		worst(after), t.steps.steps, worst(later), losses), nil
}

// evaluation returns the deviation of the losses of evaluations. An error says that samples were counted wrong. In a
// reduced precision a sample may be predicted otherwise, so that only fp32 must have as many right.
func (t *netTest) evaluation(p gpu.Precision, got []nets.EvalResult) (d deviation, err error) {
	for i, want := range t.want.evaluated {
		if got[i].N != want.N || p == gpu.FP32 && got[i].Correct != want.Correct {
			return d, fmt.Errorf("evaluation: %d of %d samples right, on the CPU %d of %d",
				got[i].Correct, got[i].N, want.Correct, want.N)
		}
	}
	return deviation{
		lossesOff(losses(got), losses(t.want.evaluated)), mostLoss + t.want.near[p].loss,
		"the losses of an evaluation",
	}, nil
}

// exact returns the deviations of a result in fp32. most is the limit for the rows of a net, residual for the rows of a
// residual net, see mostFlipped.
func (t *netTest) exact(got, want result, most, residual float64) (all []deviation) {
	all = append(all, deviation{lossesOff(widened(got.loss), widened(want.loss)), mostLoss, "the losses of a round"})
	isResidual := hasStatistics(t.model)
	if isResidual {
		most = residual
	}
	parts(t.model, func(what string, mine func(models.Param) bool) {
		closest := deviation{math.Inf(1), most, ""}
		for i := range want.rows {
			off, name := apart(t.model, got.rows[i], want.rows[i], mine)
			d := deviation{off, most, fmt.Sprintf("%s of %s, %s", what, rowName(i), name)}
			if isResidual && what == "weights" {
				if off > 0 && off < closest.off { // 0 for the client without samples
					closest = d
				}
				d.most = mostFlipped
			}
			all = append(all, d)
		}
		if !math.IsInf(closest.off, 1) {
			all = append(all, closest)
		}
	})
	return all
}

// rounded returns the deviations of a result in a reduced precision.
func (t *netTest) rounded(got, want result, most rowLimits) (all []deviation) {
	limit := most.weights
	parts(t.model, func(what string, mine func(models.Param) bool) {
		off, name := distance(t.model, got, want, mine)
		all = append(all, deviation{off, min(limit, mostReduced), fmt.Sprintf("%s, %s above all", what, name)})
		limit = most.statistics
	})
	return all
}

func rowName(i int) string {
	if i < crowd.Clients {
		return fmt.Sprintf("client %d's update", i)
	}
	return fmt.Sprintf("client %d's momentum", i-crowd.Clients)
}

// widened returns losses in float64.
func widened(loss []float32) (wide []float64) {
	for _, v := range loss {
		wide = append(wide, float64(v))
	}
	return wide
}

// deviation says how far something is from what the CPU engine computes, as a fraction, and how far it may be.
type deviation struct {
	off, most float64
	where     string // what deviates, for an error
}

// wrong reports whether a deviation is larger than it may be. A number that is not finite is wrong.
func (d deviation) wrong() bool { return !(d.off <= d.most) }

// String returns both numbers of a deviation that is not wrong, always in as many columns.
func (d deviation) String() string {
	return fmt.Sprintf("%.1e ≤ %.1e", d.off, d.most)
}

// worst returns the deviation that is nearest to its limit, or farthest beyond it. Limits are above 0.
func worst(all []deviation) deviation {
	return slices.MaxFunc(all, func(a, b deviation) int { return cmp.Compare(a.off/a.most, b.off/b.most) })
}

// finite returns a deviation, or +Inf for a deviation that is not a number.
func finite(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// lossesOff returns the largest difference between losses, as a fraction of the loss in want. The loss of a client
// without samples is 0, and must be 0.
func lossesOff(got, want []float64) (share float64) {
	for i, w := range want {
		if got[i] != w {
			share = max(share, finite(math.Abs(got[i]-w)/w))
		}
	}
	return share
}

// parts calls f for the weights of a net and then, if it has any, for its running statistics. mine says which
// parameters belong to them.
func parts(m *models.Model, f func(what string, mine func(models.Param) bool)) {
	f("weights", func(p models.Param) bool { return !p.Buffer })
	if hasStatistics(m) {
		f("running statistics", func(p models.Param) bool { return p.Buffer })
	}
}

func hasStatistics(m *models.Model) bool {
	return slices.ContainsFunc(m.Params, func(p models.Param) bool { return p.Buffer })
}

// apart returns the largest difference between some parameters of two rows, as a fraction of the largest of want, and
// the parameter that has it.
func apart(m *models.Model, got, want []float32, mine func(models.Param) bool) (share float64, name string) {
	largest, diff := 0.0, -1.0
	for _, p := range m.Params {
		if !mine(p) {
			continue
		}
		for i := p.Offset; i < p.Offset+p.Size; i++ {
			largest = max(largest, math.Abs(float64(want[i])))
			if d := finite(math.Abs(float64(got[i]) - float64(want[i]))); d > diff {
				diff, name = d, p.Name
			}
		}
	}
	if largest == 0 {
		return diff, name
	}
	return diff / largest, name
}

// distance returns the norm of the difference between some parameters of all rows of two results, as a fraction of the
// norm of want, and the parameter that contributes most.
func distance(m *models.Model, got, want result, mine func(models.Param) bool) (share float64, name string) {
	diff, norm, most := 0.0, 0.0, -1.0
	for _, p := range m.Params {
		if !mine(p) {
			continue
		}
		of := 0.0
		for i, row := range want.rows {
			for j := p.Offset; j < p.Offset+p.Size; j++ {
				d := float64(got.rows[i][j]) - float64(row[j])
				of += d * d
				norm += float64(row[j]) * float64(row[j])
			}
		}
		if of = finite(of); of > most {
			most, name = of, p.Name
		}
		diff += of
	}
	return finite(math.Sqrt(diff / norm)), name
}
