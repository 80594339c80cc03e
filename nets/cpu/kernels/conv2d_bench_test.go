package kernels

import (
	"fmt"
	"slices"
	"testing"
)

// BenchmarkConv2D times the convolutions of the residual nets, forward, for the input and for the weights: one client,
// 64 images. A layer is named by its input channels, the side of its maps, its outputs and its window. Where it is
// computed by Winograd's algorithm it is also computed directly; the operations are the direct ones in both.
func BenchmarkConv2D(b *testing.B) {
	layer := func(c, side, o, window, stride int) Conv2DShape {
		return Conv2DShape{
			K: 1, B: 64, H: side + 2, W: side + 2, C: c, R: window, S: window, O: o,
			Stride: stride, Border: 1, Pad: window / 2,
		}
	}
	layers := []Conv2DShape{
		layer(3, 32, 16, 3, 1), layer(16, 32, 16, 3, 1), layer(16, 32, 32, 3, 2), layer(32, 16, 32, 3, 1),
		layer(32, 16, 64, 3, 2), layer(64, 8, 64, 3, 1),
		layer(3, 32, 64, 3, 1), layer(64, 32, 64, 3, 1), layer(64, 32, 128, 3, 2), layer(128, 16, 128, 3, 1),
		layer(128, 16, 256, 3, 2), layer(256, 8, 256, 3, 1), layer(256, 8, 512, 3, 2), layer(512, 4, 512, 3, 1),
		layer(256, 8, 512, 1, 2),
	}
	for _, k := range Variants()[1:] {
		e := NewExec(k, nil)
		for _, s := range layers {
			x, w := pattern(s.K*s.B*s.xLen()), pattern(s.K*s.wLen())
			y, dx, dw := pattern(s.K*s.B*s.yLen()), make([]float32, len(x)), make([]float32, len(w))
			var forward Conv2DForward[float32]
			var input Conv2DInput[float32]
			var weights Conv2DWeights[float32]
			phases := []struct {
				name string
				run  func()
			}{
				{"forward", func() { forward.Run(e, s, y, x, w) }},
				{"input", func() { input.Run(e, s, dx, w, y) }},
				{"weights", func() { weights.Run(e, s, dw, x, y) }},
			}
			if s.Winograd() {
				forward := Conv2DForward[float32]{Conv2DShape: s, y: slices.Clone(y), x: x, w: w}
				input := Conv2DInput[float32]{Conv2DShape: s, dx: slices.Clone(dx), w: w, gy: y}
				weights := Conv2DWeights[float32]{Conv2DShape: s, dw: slices.Clone(dw), x: x, gy: y}
				for i, direct := range []func(){
					func() { forward.direct(e) }, func() { input.direct(e) }, func() { weights.direct(e) },
				} {
					phases = append(phases, phases[i])
					phases[3+i].name, phases[3+i].run = phases[i].name+"/direct", direct
				}
			}
			for _, phase := range phases {
				name := fmt.Sprintf("%s/%dx%d²→%d,%d/%s", k.Name(), s.C, s.H-2, s.O, s.R, phase.name)
				b.Run(name, func(b *testing.B) {
					phase.run()
					for b.Loop() {
						phase.run()
					}
					reportFLOP(b, 2*s.B*s.yLen()*s.R*s.S*s.C)
				})
			}
		}
	}
}
