package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkConv times the convolutions with pooling: one client, 128 images. A layer is named by its input channels,
// the side of its maps, its outputs and its window. GFLOP/s count all products, of zeros too.
func BenchmarkConv(b *testing.B) {
	layer := func(c, side, o, window, pad int) ConvShape {
		return ConvShape{K: 1, B: 128, H: side + 2*pad, W: side + 2*pad, C: c, R: window, S: window, O: o, Pad: pad}
	}
	layers := []ConvShape{
		layer(3, 32, 32, 3, 1), layer(32, 16, 32, 3, 1), layer(3, 32, 6, 5, 0), layer(6, 14, 16, 5, 0),
		layer(3, 32, 32, 5, 0), layer(32, 14, 64, 5, 0),
	}
	for _, k := range Variants()[1:] {
		e := NewExec(k, nil)
		for _, s := range layers {
			r := rand.New(rand.NewPCG(1, 2))
			x, w := fractions(r, s.B*s.xLen()), fractions(r, s.wLen())
			for i, v := range x {
				x[i] = max(0, v)
			}
			y, arg := make([]float32, s.B*s.yLen()), make([]uint8, s.B*s.argLen())
			gy, bias := fractions(r, len(y)), make([]float32, s.O)
			dw, db := make([]float32, len(w)), make([]float32, s.O)
			var dx []float32
			if s.C > 3 {
				dx = make([]float32, len(x))
			}
			ch, cw := s.Conv()
			report := func(b *testing.B, products int) { reportFLOP(b, products*2*s.B*ch*cw*s.wLen()) }
			name := fmt.Sprintf("%s/%dx%d²→%d,%d", k.Name(), s.C, s.H-2*s.Pad, s.O, s.R)
			var f ConvForward[float32]
			b.Run(name+"/forward", func(b *testing.B) {
				for b.Loop() {
					f.Run(e, s, y, arg, x, w, bias)
				}
				report(b, 1)
			})
			products := 1
			if dx != nil {
				products = 2
			}
			for _, dead := range []float64{0, 0.4, 0.75} {
				for i := range arg {
					arg[i] = uint8(r.IntN(4))
					if r.Float64() < dead {
						arg[i] = Dead
					}
				}
				var sparse, dense ConvBackward[float32]
				b.Run(fmt.Sprintf("%s/backward/dead=%g", name, dead), func(b *testing.B) {
					for b.Loop() {
						sparse.Run(e, s, dx, dw, db, x, w, gy, arg)
					}
					report(b, products)
				})
				if dead == 0 {
					d := &denseGradients[float32]{ConvBackward: &dense}
					d.run(e, s, dx, dw, db, x, w, gy, arg)
					b.Run(name+"/backward/dense", func(b *testing.B) {
						for b.Loop() {
							e.For(d, 0, s.K*imageChunks(s.B))
						}
						report(b, products)
					})
				}
			}
		}
	}
}

func reportFLOP(b *testing.B, perRound int) {
	b.ReportMetric(float64(perRound)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

// pattern returns n unequal small numbers.
func pattern(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%13)/8 - 0.7
	}
	return x
}
