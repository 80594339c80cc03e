//go:build gpu && linux && cgo

package kernels

import (
	"math"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

func TestNormForward(t *testing.T) {
	eachNorm(t, func(t *testing.T, c *norm) {
		c.train()
		s, about := c.shape, c.about()
		inverse := func(i int) float64 { return c.stats.Inverse[i] }
		// error of the variance, as a fraction of variance + ε
		spread := func(i int) float64 { return 2*sumError*about[i]*inverse(i)*inverse(i) + 0x1p-24 }
		near(t, "mean", c.stat(2), c.stats.Mean, func(i int) float64 {
			return sumError*math.Sqrt(about[i]) + 0x1p-24*math.Abs(c.stats.Mean[i])
		}, "sums of differences from the pivot in float32, rounded")
		near(t, "inverse", c.stat(3), c.stats.Inverse, func(i int) float64 { return spread(i) * inverse(i) },
			"half the error of the variance, rounded")
		near(t, "unbiased variance", c.stat(4), c.stats.Unbiased, func(i int) float64 {
			return 2*sumError*about[i]*2 + 0x1p-24*c.stats.Unbiased[i]
		}, "sums of squares in float32, rounded")
		near(t, "y", c.p.download(c.rig, c.args.Y, s.K*c.n), c.want, func(i int) float64 {
			at := i/c.n*s.C + i%s.C
			if c.labels[i/c.n*s.B+i%c.n/(s.H*s.W*s.C)] < 0 {
				return 0
			}
			size := inverse(at) * math.Abs(c.weight[at])
			tol := size*(spread(at)*math.Abs(c.wide[i]-c.stats.Mean[at])+sumError*math.Sqrt(about[at])) +
				4*0x1p-24*(size*(math.Abs(c.wide[i])+math.Abs(c.stats.Mean[at]))+math.Abs(c.bias[at])+1)
			return tol + c.p.half*math.Abs(c.want[i])
		}, "errors of the statistics, three roundings of scale·x, shift and their sum, and that of y")
		c.untouched("y of the slot not in use", c.args.Y+uint64(s.K*c.n*c.p.bytes), c.n*c.p.bytes)
		c.untouched("sums of the slot not in use", c.args.Partial+uint64(8*s.K*c.args.Partials()), 8*c.args.Partials())
		c.untouched("statistics of the slot not in use",
			c.args.Stats+uint64(4*s.K*c.args.Statistics()), 4*c.args.Statistics())
	})
}

func TestNormEvaluate(t *testing.T) {
	eachNorm(t, func(t *testing.T, c *norm) {
		for i := range c.labels { // all samples count, whatever the labels
			if c.labels[i] < 0 {
				size := c.n / c.shape.B
				for j := i * size; j < (i+1)*size; j++ {
					c.x[j], c.wide[j] = 1, 1
					if c.add {
						c.more[j], c.wideMore[j] = 2, 2
					}
				}
			}
		}
		c.args.X, c.args.Labels, c.args.Stats, c.args.Partial = c.maps(c.x), 0, 0, 0
		if c.add {
			c.args.Add = c.maps(c.more)
		}
		launch(c.rig, "norm_evaluate_"+c.p.name, c.args.Apply(c.p.kind()), c.room, c.args)
		s := c.shape
		new(cpu.NormForward[float64]).Evaluate(c.exec, s, c.want, c.wide, c.wideMore, c.weight, c.bias,
			c.mean, c.variance)
		near(t, "y", c.p.download(c.rig, c.args.Y, s.K*c.n), c.want, func(i int) float64 {
			at := i/c.n*s.C + i%s.C
			size := math.Abs(c.weight[at]) / math.Sqrt(c.variance[at]+cpu.NormEpsilon)
			return 6*0x1p-24*(size*(math.Abs(c.wide[i])+math.Abs(c.mean[at]))+math.Abs(c.bias[at])+3) +
				c.p.half*math.Abs(c.want[i])
		}, "six roundings of scale, shift and their sum, and that of y")
		c.untouched("y of the slot not in use", c.args.Y+uint64(s.K*c.n*c.p.bytes), c.n*c.p.bytes)
	})
}

// The maps are cut by their shape, every row and channel falls to one thread, and the most lanes are a warp.
func TestNormGeometry(t *testing.T) {
	for _, c := range []struct{ B, pixels, C, lanes, chunks, blocks uint32 }{
		{64, 1024, 64, 16, 128, 128},
		{64, 256, 128, 32, 64, 64},
		{64, 64, 256, 32, 16, 32},
		{64, 16, 512, 32, 4, 16},
		{64, 1024, 16, 4, 32, 32},
		{1, 2, 1, 1, 1, 1},
		{5, 132, 33, 32, 3, 6},
	} {
		a := NormArgs{B: c.B, Pixels: c.pixels, C: c.C}
		a.Split()
		if a.Lanes != c.lanes || a.Chunks != c.chunks ||
			a.Input(FP32).Geometry != (Geometry{X: int(c.blocks), Threads: 256}) {
			t.Errorf("B=%d pixels=%d C=%d: %d lanes, %d chunks, %+v, want %d, %d, %d blocks of 256",
				c.B, c.pixels, c.C, a.Lanes, a.Chunks, a.Input(FP32).Geometry, c.lanes, c.chunks, c.blocks)
		}
	}
}
