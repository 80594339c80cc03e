// Package crowd makes the rounds by which CUDA engines are compared with the CPU engine: samples, plans and work.
package crowd

import (
	"math/rand/v2"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/models"
)

// Numbers of samples. The batch size of an evaluation does not divide TestSamples, so that its last slot is not full.
const (
	TrainSamples = 40
	TestSamples  = 23
)

// Numbers of clients, and of those that have momentum, the first ones.
const (
	Clients      = 4
	WithMomentum = 2
)

// Samples returns n random samples for a net: images, or features if the net's samples have no height.
func Samples(m *models.Model, n int, seed uint64) *plan.Samples {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &plan.Samples{
		Name: "random", H: m.H, W: m.W, C: m.C, Classes: m.Classes,
		Images: make([]uint8, n*m.H*m.W*m.C), Labels: make([]uint8, n),
	}
	for i := range s.Images {
		s.Images[i] = uint8(r.IntN(256))
	}
	for i := range s.Labels {
		s.Labels[i] = uint8(r.IntN(m.Classes))
	}
	if m.H == 1 {
		s.Images = nil
		for range n * m.W * m.C {
			s.Features = append(s.Features, float32(r.NormFloat64()))
		}
		return s
	}
	for c := range m.C {
		s.Mean, s.Std = append(s.Mean, 0.5-float32(c)/16), append(s.Std, 0.25+float32(c)/32)
	}
	return s
}

// Plan returns a plan of random training samples, crops and flips. Its batches have count samples, and padding behind
// them.
func Plan(client, steps, batch, count int) plan.Local {
	r := rand.New(rand.NewPCG(uint64(client), 3))
	l := plan.Local{E: steps, B: batch}
	for range steps {
		for b := range batch {
			i := int32(r.IntN(TrainSamples))
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

// Work returns a round of four clients that differ in all they can: they start at two rows, have momentum and drift or
// not, and their plans have full batches, padded batches, a step less and no samples. The banks have 2, [Clients],
// [WithMomentum] and 1 rows.
func Work(start, end, momentum, drift nets.Bank, steps, batch int, clip *float64) nets.LocalWork {
	work := nets.LocalWork{Round: 4, Seed: 8, LR: 0x1p-5, WeightDecay: 0x1p-6, Momentum: 0.75, Clip: clip}
	for i, count := range [Clients]int{batch, max(1, batch-2), batch, 0} {
		steps := steps
		if i == 2 {
			steps = max(1, steps-1)
		}
		w := nets.ClientWork{
			Client: 3 * i, Start: nets.Row{Bank: start, Index: i % 2}, End: nets.Row{Bank: end, Index: i},
			Plan: Plan(i, steps, batch, count),
		}
		if i < WithMomentum {
			w.Momentum = nets.Row{Bank: momentum, Index: i}
		}
		if i == 1 {
			w.Drift = nets.Row{Bank: drift}
		}
		work.Clients = append(work.Clients, w)
	}
	return work
}
