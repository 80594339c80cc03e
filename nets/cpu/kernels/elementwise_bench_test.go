package kernels

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkElementwise runs each kernel on what a training step gives it: rows of a feature map in the first cache, the
// fully connected layer of 128 × 512, P = 1 Mi parameters, images of 32 × 32 × 3 in the first cache, logits of 10 and
// 100 classes. GB/s count what the formula must read and write.
func BenchmarkElementwise(b *testing.B) {
	const w, o, params = 32, 32, 1 << 20 // W, O of conv1
	rows, row, bias, arg := pattern(2*w*o), pattern(w/2*o), pattern(o), make([]uint8, w/2*o)
	db := make([]float32, 512)
	fc, fcGrad, fcOut := pattern(128*512), pattern(128*512), make([]float32, 128*512)
	p := [4][]float32{pattern(params), pattern(params), pattern(params), pattern(params)}
	square := pattern(256 * 256)
	turned := make([]float32, 256*256)
	sum := 0.0
	img, mask, drop := make([]uint8, 32*32*3+16), make([]uint8, 128*512), Draw{Seed: 3}
	normal, crop, flipped := testNormal(rand.New(rand.NewPCG(1, 1)), 3), Crop{
		H: 32, W: 32, C: 3, Border: 1, Pad: 4, Row: 3, Col: 6,
	}, Crop{H: 32, W: 32, C: 3, Border: 1, Pad: 4, Row: 3, Col: 6, Flip: true}
	x, prob, exp := make([]float32, 34*34*3), make([]float32, 100), make([]float64, 104)
	for _, k := range Variants() {
		for _, c := range []struct {
			name  string
			bytes int
			run   func()
		}{
			{"Transpose256", 8 * 256 * 256, func() { k.Transpose(turned, 256, square, 256, 256, 256) }},
			{"PoolReLU", 21 * w / 2 * o, func() { k.PoolReLU(row, arg, rows[:w*o], rows[w*o:], bias) }},
			{"UnpoolReLU", 21 * w / 2 * o, func() { k.UnpoolReLU(rows[:w*o], rows[w*o:], db[:o], row, arg) }},
			{"BiasReLU", 8 * 128 * 512, func() { k.BiasReLU(fcOut, 128, 512, fc[:512], true) }},
			{"ReLUGrad", 12 * 128 * 512, func() { k.ReLUGrad(fcOut, db, fcGrad, fc, true) }},
			{"Scale", 8 * params, func() { k.Scale(p[0], 1, p[1]) }},
			{"Axpy", 12 * params, func() { k.Axpy(p[0], 0.001, p[1]) }},
			{"Dot", 8 * params, func() { sum += k.Dot(p[0], p[1]) }},
			{"Step", 12 * params, func() { k.Step(p[0], p[1], nil, nil, Step[float32]{LR: 0.001, Scale: 1}) }},
			{
				"StepMomentum", 20 * params,
				func() { k.Step(p[0], p[1], p[2], nil, Step[float32]{LR: 0.001, Scale: 1, Momentum: 0.9}) },
			},
			{"StepAll", 24 * params, func() {
				k.Step(p[0], p[1], p[2], p[3], Step[float32]{LR: 0.001, Scale: 1, Momentum: 0.9})
			}},
			{"Gather", 5 * 32 * 32 * 3, func() { k.Gather(x, img, normal, crop) }},
			{"GatherFlip", 5 * 32 * 32 * 3, func() { k.Gather(x, img, normal, flipped) }},
			{"Dropout", 9 * 128 * 512, func() { k.Dropout(fcOut, mask, fc, 0, drop, 0, 0.2) }},
			{"ApplyMask", 9 * 128 * 512, func() { k.ApplyMask(fcOut, fc, mask, 1.25) }},
			{"Softmax10", 16 * 10, func() { k.Softmax(prob[:10], exp, fc[:10], 1) }},
			{"Softmax100", 16 * 100, func() { k.Softmax(prob, exp, fc[:100], 1) }},
		} {
			b.Run(k.Name()+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					c.run()
				}
				b.ReportMetric(float64(c.bytes)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
			})
		}
	}
	if sum != sum {
		b.Error("a product of rows that is not a number")
	}
}
