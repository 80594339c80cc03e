//go:build gpu && linux && cgo

package selftest

import (
	"math/rand/v2"

	"rollcall/datasets/plan"
	"rollcall/nets/models"
)

// Numbers of samples. The batch size of an evaluation does not divide testSamples, so that its last slot is not full.
const (
	trainSamples = 40
	testSamples  = 23
)

// samplesFor returns n random samples for a net: images, or features if the net's samples have no height.
func samplesFor(m *models.Model, n int, seed uint64) *plan.Samples {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &plan.Samples{
		Name: "random", H: m.H, W: m.W, C: m.C, Classes: m.Classes, Labels: make([]uint8, n),
	}
	for i := range s.Labels {
		s.Labels[i] = uint8(r.IntN(m.Classes))
	}
	if m.H == 1 {
		for range n * m.W * m.C {
			s.Features = append(s.Features, float32(r.NormFloat64()))
		}
		return s
	}
	s.Images = make([]uint8, n*m.H*m.W*m.C)
	for i := range s.Images {
		s.Images[i] = uint8(r.IntN(256))
	}
	for c := range m.C {
		s.Mean, s.Std = append(s.Mean, 0.5-float32(c)/16), append(s.Std, 0.25+float32(c)/32)
	}
	return s
}

// planOf returns a plan of random samples, crops and flips. Its batches have count samples, and padding behind them.
func planOf(client, steps, batch, count int) plan.Local {
	r := rand.New(rand.NewPCG(uint64(client), 3))
	l := plan.Local{E: steps, B: batch}
	for range steps {
		for b := range batch {
			i := int32(r.IntN(trainSamples))
			if b >= count {
				i = -1
			}
			l.Index = append(l.Index, i)
			l.Crop = append(l.Crop, uint8(r.IntN(2*plan.Pad+1)), uint8(r.IntN(2*plan.Pad+1)))
			l.Flip = append(l.Flip, uint8(r.IntN(2)))
		}
	}
	return l
}
