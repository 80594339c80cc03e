package ops

import (
	"math"
	"testing"

	"rollcall/nets/cpu/kernels"
)

// convNaive is the definition of ConvReLUPool in the plainest loops.
func convNaive(x, w, bias []float64, s kernels.ConvShape) []float64 {
	ch, cw := s.Conv()
	oh, ow := s.Out()
	y := make([]float64, s.K*s.B*oh*ow*s.O)
	for k := range s.K {
		for b := range s.B {
			for i := range ch / 2 {
				for j := range cw / 2 {
					for o := range s.O {
						best := math.Inf(-1)
						for p := range 4 {
							sum := bias[k*s.O+o]
							for r := range s.R {
								for q := range s.S {
									for c := range s.C {
										row, col := 2*i+p/2+r, 2*j+p%2+q
										sum += w[(((k*s.R+r)*s.S+q)*s.C+c)*s.O+o] *
											x[(((k*s.B+b)*s.H+row)*s.W+col)*s.C+c]
									}
								}
							}
							best = max(best, sum)
						}
						y[(((k*s.B+b)*oh+i+s.OutPad)*ow+j+s.OutPad)*s.O+o] = max(0, best)
					}
				}
			}
		}
	}
	return y
}

// Sums of at most 528 terms of order 1 in float64: 1e-12 is a thousand roundings.
func TestConvForward(t *testing.T) {
	for _, c := range cases() {
		if len(c.shapes[0]) != 5 || len(c.shapes) != 3 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c, kernels.NewExec(kernels.Generic[float64](), nil))
			b.run(t)
			op := b.y.Op().(*ConvReLUPool[float64])
			want := convNaive(b.in[0], b.in[1], b.in[2], op.Shape)
			for i, got := range b.y.Value().Data().([]float64) {
				if math.Abs(got-want[i]) > 1e-12 {
					t.Fatalf("element %d: got %g, want %g ± 1e-12", i, got, want[i])
				}
			}
		})
	}
}
