package optimum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"rollcall/datasets/plan"
	"rollcall/internal/files"
)

// stripeSamples is the number of samples that one goroutine adds at a time. The sums of the stripes are added in order,
// so another number gives other results.
const stripeSamples = 1024

// objective is the function that linear-mnist, linear-synthetic and linear-binary minimise for one client:
//
//	F(w) + ½·ridge·‖w‖²
//
// F is the mean cross-entropy of the client's samples, not augmented. w is [P] in PyTorch's order: weights [O,I],
// biases [O]. For two classes there is one output, as in linear-binary: the logit of class 1. The objective keeps the
// value and the gradient at the last w, since the optimiser asks for them one by one.
type objective struct {
	samples         *plan.Samples
	weight          float64 // 1/n, the weight of each of the n samples of the client
	ridge           float64 // positive
	freeBias        bool    // the ridge leaves the biases out
	inputs, outputs int
	pixel           []float64 // [C,256] the number that a byte becomes; nil with features
	stripes         []stripe

	place       []float64 // the last w
	value, loss float64   // at place: F with the ridge penalty, and F alone
	gradient    []float64 // [P] of value, at place
	evaluations int
}

// stripe is a part of the samples, with the sums of their losses and gradients.
type stripe struct {
	index    []int32 // the numbers of the samples
	loss     float64
	gradient []float64 // [P]
	x, p     []float64 // [I], [O] the inputs and the logits of one sample
}

// newObjective returns the objective of the samples part, with a ridge on weights and biases.
func newObjective(s *plan.Samples, part []int32, ridge float64) *objective {
	o := &objective{
		samples: s, weight: 1 / float64(len(part)), ridge: ridge, inputs: s.H * s.W * s.C, outputs: s.Classes,
	}
	if s.Classes == 2 {
		o.outputs = 1
	}
	for c := range s.Mean {
		for v := range 256 {
			o.pixel = append(o.pixel, float64((float32(v)/255-s.Mean[c])/s.Std[c])) // as the engines round it
		}
	}
	for index := range slices.Chunk(part, stripeSamples) {
		o.stripes = append(o.stripes, stripe{
			index: index, gradient: make([]float64, o.size()),
			x: make([]float64, o.inputs), p: make([]float64, o.outputs),
		})
	}
	o.gradient = make([]float64, o.size())
	return o
}

// size returns P, the number of weights and biases.
func (o *objective) size() int { return o.outputs * (o.inputs + 1) }

// at evaluates the objective and its gradient at w, unless they are known already. It returns o.
func (o *objective) at(w []float64) *objective {
	if o.place != nil && floats.Equal(o.place, w) {
		return o
	}
	o.place = append(o.place[:0], w...)
	o.evaluations++
	// The optimiser obeys the context between evaluations.
	_ = files.Parallel(context.Background(), len(o.stripes), func(i int) { o.add(&o.stripes[i], w) })
	o.loss = 0
	clear(o.gradient)
	for i := range o.stripes {
		o.loss += o.stripes[i].loss
		floats.Add(o.gradient, o.stripes[i].gradient)
	}
	ridged := w
	if o.freeBias {
		ridged = w[:o.outputs*o.inputs]
	}
	floats.AddScaled(o.gradient[:len(ridged)], o.ridge, ridged)
	o.value = o.loss + 0.5*o.ridge*floats.Dot(ridged, ridged)
	return o
}

// add sums the losses of a stripe, and their gradients, weighted with 1/n.
func (o *objective) add(s *stripe, w []float64) {
	s.loss = 0
	clear(s.gradient)
	weights := o.outputs * o.inputs
	for _, i := range s.index {
		o.read(s.x, i)
		s.loss += o.weight * o.forward(s, w, o.samples.Labels[i])
		for k, d := range s.p { // forward has put the gradient by the logits into s.p
			if d *= o.weight; d != 0 {
				floats.AddScaled(s.gradient[k*o.inputs:][:o.inputs], d, s.x)
				s.gradient[weights+k] += d
			}
		}
	}
}

// forward returns the cross-entropy of the sample in s.x, and puts its gradient by the logits into s.p.
func (o *objective) forward(s *stripe, w []float64, label uint8) float64 {
	top := math.Inf(-1)
	for k := range s.p {
		s.p[k] = w[o.outputs*o.inputs+k] + floats.Dot(w[k*o.inputs:][:o.inputs], s.x)
		top = max(top, s.p[k])
	}
	if o.outputs == 1 { // −log σ(±z), in a form whose exponential cannot overflow
		z := s.p[0]
		sign := 2*float64(label) - 1
		e := math.Exp(-math.Abs(z))
		s.p[0] = e / (1 + e) // σ(−|z|)
		if z > 0 {
			s.p[0] = 1 / (1 + e)
		}
		s.p[0] -= float64(label)
		return max(0, -sign*z) + math.Log1p(e)
	}
	own, sum := s.p[label], 0.0
	for k := range s.p {
		s.p[k] = math.Exp(s.p[k] - top)
		sum += s.p[k]
	}
	floats.Scale(1/sum, s.p)
	s.p[label]--
	return math.Log(sum) + top - own
}

// read puts sample i into x [I].
func (o *objective) read(x []float64, i int32) {
	s := o.samples
	if s.Features != nil {
		for j, v := range s.Features[int(i)*o.inputs:][:o.inputs] {
			x[j] = float64(v)
		}
		return
	}
	for j, v := range s.Images[int(i)*o.inputs:][:o.inputs] {
		x[j] = o.pixel[j%s.C*256+int(v)]
	}
}

// tolerance is the largest Euclidean norm of the gradient at a solution. The ridge makes the objective strongly convex,
// so its value there is at most tolerance²/(2·ridge) above the minimum: 5·10⁻¹¹ with a ridge of 10⁻². If the ridge
// leaves the biases out, this bound is an estimate.
const tolerance = 1e-6

// maxEvaluations is the number of evaluations after which a search gives up. With a ridge of 10⁻² a search takes about
// a hundred.
const maxEvaluations = 20_000

// minimise searches for the minimum with L-BFGS in float64, from w = 0, and evaluates the objective there. The result
// does not depend on the number of threads. It is an error if the search does not reach the tolerance.
func (o *objective) minimise(ctx context.Context) error {
	x := make([]float64, o.size())
	problem := optimize.Problem{
		Func: func(w []float64) float64 { return o.at(w).value },
		Grad: func(grad, w []float64) { copy(grad, o.at(w).gradient) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	var failure error
	slope := math.Inf(1)
	// L-BFGS ends when its line search finds no lower value. Start it again from that point with an empty memory, as
	// long as that makes the gradient smaller.
	for o.evaluations < maxEvaluations {
		r, err := optimize.Minimize(problem, x, &optimize.Settings{
			Converger: flat(tolerance), FuncEvaluations: maxEvaluations, GradEvaluations: maxEvaluations,
		}, &optimize.LBFGS{Store: 20})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failure = err
		if r == nil {
			break
		}
		copy(x, r.X)
		before := slope
		slope = floats.Norm(o.at(x).gradient, 2)
		if slope <= tolerance {
			return nil
		}
		if !(slope < before) {
			break
		}
	}
	if failure == nil {
		failure = errors.New("no progress")
	}
	return fmt.Errorf("%s: gradient %g after %d evaluations, want at most %g: %w",
		o.samples.Name, slope, o.evaluations, tolerance, failure)
}

// flat ends a search where the Euclidean norm of the gradient is at most the given number.
type flat float64

// Init implements [optimize.Converger].
func (flat) Init(int) {}

// Converged implements [optimize.Converger].
func (f flat) Converged(l *optimize.Location) optimize.Status {
	if len(l.Gradient) > 0 && floats.Norm(l.Gradient, 2) <= float64(f) {
		return optimize.GradientThreshold
	}
	return optimize.NotTerminated
}
