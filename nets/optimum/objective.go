package optimum

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"rollcall/datasets/plan"
)

// stripeSamples is the number of samples that are added up as one; stripes are added in order, so it is part of the
// result.
const stripeSamples = 1024

// objective is what linear-mnist, linear-synthetic and linear-binary minimise for one client,
//
//	F(w) + ½·ridge·‖w‖²
//
// with F the mean cross-entropy of the client's samples, not augmented, and w [P] in PyTorch's order: weights [O,I],
// biases [O]. Two classes have one output, as linear-binary does: the logit of class 1. It keeps the last place it was
// asked about.
type objective struct {
	samples         *plan.Samples
	weight          float64 // of each of the client's n samples, 1/n
	ridge           float64 // positive
	freeBias        bool    // the ridge leaves biases out
	inputs, outputs int
	pixel           []float64 // [C,256] the value of a byte; nil with features
	stripes         []stripe

	place       []float64 // w
	value, loss float64   // with the ridge's part, and F without
	gradient    []float64 // [P]
	evaluations int
}

// stripe is a part of the samples, and what they sum up to.
type stripe struct {
	index    []int32
	loss     float64
	gradient []float64 // [P]
	x, p     []float64 // [I], [O] scratch
}

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

// size is P.
func (o *objective) size() int { return o.outputs * (o.inputs + 1) }

// at evaluates the objective and its gradient at w.
func (o *objective) at(w []float64) *objective {
	if o.place != nil && floats.Equal(o.place, w) {
		return o
	}
	o.place = append(o.place[:0], w...)
	o.evaluations++
	onAllCores(len(o.stripes), func(i int) { o.add(&o.stripes[i], w) })
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

// add sums the weighted losses of a stripe and their gradients.
func (o *objective) add(s *stripe, w []float64) {
	s.loss = 0
	clear(s.gradient)
	weights := o.outputs * o.inputs
	for _, i := range s.index {
		o.read(s.x, i)
		s.loss += o.weight * o.forward(s, w, o.samples.Labels[i])
		for k, d := range s.p { // p is now the gradient of the logits
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
	if o.outputs == 1 { // −log σ(±z), of a number that cannot overflow
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
