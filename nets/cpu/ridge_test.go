package cpu

import (
	"math"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/nets"
)

// ridged returns the mean cross-entropy of a linear net plus ½·ridge·‖w‖², in float64 and the plainest loops; w [P] is
// in PyTorch's order, weights [O,I] and then biases [O]. One output is the logit of class 1.
func ridged(s *plan.Samples, index []int32, w []float64, outputs int, ridge float64) float64 {
	features := s.H * s.W * s.C
	sum := 0.0
	for _, i := range index {
		z := make([]float64, outputs)
		for o := range z {
			z[o] = w[outputs*features+o]
			for j := range features {
				z[o] += w[o*features+j] * float64(s.Features[int(i)*features+j])
			}
		}
		if outputs == 1 { // −log σ(z) or −log(1 − σ(z))
			if s.Labels[i] == 1 {
				z[0] = -z[0]
			}
			sum += math.Log1p(math.Exp(z[0]))
			continue
		}
		all := 0.0
		for _, v := range z {
			all += math.Exp(v)
		}
		sum += math.Log(all) - z[s.Labels[i]]
	}
	sum /= float64(len(index))
	for _, v := range w {
		sum += 0.5 * ridge * v * v
	}
	return sum
}

// The gradient of a step with weight decay is that of the ridge objective, by central differences in float64: their
// error is of order h² + 2⁻⁵²/h < 1e-9. The tolerance is the engine's float32 rounding, 1e-5 of the largest element as
// in the goldens. The ridge is so large that its share of every element is far above the tolerance, biases included.
func TestRidgeGradient(t *testing.T) {
	for net, outputs := range map[string]int{"linear-synthetic": 10, "linear-binary": 1} {
		t.Run(net, func(t *testing.T) {
			const batch, ridge, h = 8, 0.25, 1e-5
			e := newTest(t, net, 1, batch)
			w0 := hashedWeights(e.model)
			bank := must(e.NewBank(3))(t)
			ok(t, e.Load(rowOf(bank, 0), w0))
			p := hashedPlan(0, 1, batch, batch-2, 40)
			work := nets.LocalWork{LR: 1, WeightDecay: ridge, Momentum: 0.5, Clients: []nets.ClientWork{{
				// momentum was zero: the row becomes the gradient
				Start: rowOf(bank, 0), End: rowOf(bank, 1), Momentum: rowOf(bank, 2), Plan: p,
			}}}
			loss := must(e.Train(t.Context(), work))(t)
			w := make([]float64, len(w0))
			for i, v := range w0 {
				w[i] = float64(v)
			}
			index, s := p.Index[:batch-2], e.parts[nets.Train]
			if want := ridged(s, index, w, outputs, 0); math.Abs(float64(loss[0])-want) > oneStep {
				t.Errorf("loss %.9g, want the cross-entropy alone, %.9g ± %g", loss[0], want, oneStep)
			}
			grad := load(t, e, rowOf(bank, 2))
			largest := 0.0
			for _, g := range grad {
				largest = max(largest, math.Abs(float64(g)))
			}
			for i, g := range grad {
				old := w[i]
				w[i] = old + h
				up := ridged(s, index, w, outputs, ridge)
				w[i] = old - h
				down := ridged(s, index, w, outputs, ridge)
				w[i] = old
				if want := (up - down) / (2 * h); math.Abs(float64(g)-want) > oneStep*largest {
					t.Errorf("element %d: gradient %.9g, difference quotient %.9g ± %.2g", i, g, want, oneStep*largest)
				}
			}
		})
	}
}
