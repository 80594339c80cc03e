package optimum

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"rollcall/datasets/plan"
)

// stripeSamples is the number of samples that are added up as one; stripes are added in order, so it is part of the result.
const stripeSamples = 1024

// objective evaluates the problem of one client. It keeps the last place it was asked about.
type objective struct {
	*Problem
	inputs, outputs int
	pixel           []float64 // [C,256] the value of a byte; nil with features
	index           []int32   // [n] the client's samples
	weight          float64   // of each of them, 1/n
	stripes         []stripe

	place       []float64
	value, loss float64
	gradient    []float64
	evaluations int
}

// stripe is a part of the samples, and what they sum up to.
type stripe struct {
	from, to int
	loss     float64
	gradient []float64 // [P]
	x, p     []float64 // [I], [O] scratch
}

func newObjective(p *Problem, part []int32) *objective {
	s := p.Samples
	o := &objective{Problem: p, inputs: s.H * s.W * s.C, outputs: s.Classes, index: part, weight: 1 / float64(len(part))}
	if s.Classes == 2 {
		o.outputs = 1
	}
	for c := range s.Mean {
		for v := range 256 {
			o.pixel = append(o.pixel, float64((float32(v)/255-s.Mean[c])/s.Std[c])) // as the engines round it
		}
	}
	for from := 0; from < len(o.index); from += stripeSamples {
		o.stripes = append(o.stripes, o.newStripe(from, min(from+stripeSamples, len(o.index))))
	}
	o.gradient = make([]float64, o.size())
	return o
}

func (o *objective) newStripe(from, to int) stripe {
	return stripe{from: from, to: to, gradient: make([]float64, o.size()), x: make([]float64, o.inputs), p: make([]float64, o.outputs)}
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
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(o.stripes)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(o.stripes) {
					return
				}
				o.add(&o.stripes[i], w)
			}
		})
	}
	wg.Wait()
	o.loss = 0
	clear(o.gradient)
	for i := range o.stripes {
		o.loss += o.stripes[i].loss
		floats.Add(o.gradient, o.stripes[i].gradient)
	}
	ridged := w
	if o.FreeBias {
		ridged = w[:o.outputs*o.inputs]
	}
	squares := floats.Dot(ridged, ridged)
	floats.AddScaled(o.gradient[:len(ridged)], o.Ridge, ridged)
	o.value = o.loss + 0.5*o.Ridge*squares
	return o
}

// add sums the weighted losses of a stripe and their gradients.
func (o *objective) add(s *stripe, w []float64) {
	s.loss = 0
	clear(s.gradient)
	weights := o.outputs * o.inputs
	for at := s.from; at < s.to; at++ {
		o.read(s.x, o.Samples, o.index[at])
		s.loss += o.weight * o.forward(s, w, o.Samples.Labels[o.index[at]])
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
func (o *objective) read(x []float64, s *plan.Samples, i int32) {
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
