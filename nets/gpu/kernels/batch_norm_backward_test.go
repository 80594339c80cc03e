//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

func TestNormBackward(t *testing.T) {
	eachNorm(t, func(t *testing.T, c *norm) {
		c.train()
		a, s := c.args, c.shape
		y := c.p.download(c.rig, a.Y, s.K*c.n) // opens and shuts the ReLU for both
		a.GY, a.DX, a.Grad = c.maps(c.gy), c.p.blank(c.rig, c.room*c.n), blank[float32](c.rig, c.room*c.P)
		if !c.add || !s.ReLU {
			a.Y = 0
		}
		gy := widen(c.gy)
		if c.gy2 != nil {
			a.GY2 = c.maps(c.gy2)
			for i, v := range c.gy2 {
				gy[i] = float64(c.p.round(c.gy[i] + v))
			}
		}
		if c.add || c.gy2 != nil {
			a.D = c.p.blank(c.rig, c.room*c.n)
		}
		launch(c.rig, "norm_sums_"+c.p.name, a.Sums(c.p.kind()), c.room, a)
		launch(c.rig, "norm_solve", a.Channels(c.p.kind()), c.room, a)
		launch(c.rig, "norm_input_"+c.p.name, a.Input(c.p.kind()), c.room, a)

		dx, d := make([]float64, s.K*c.n), make([]float64, s.K*c.n)
		dw, db := make([]float64, s.K*s.C), make([]float64, s.K*s.C)
		var norm cpu.NormBackward[float64]
		norm.Run(c.exec, s, d, dw, db, c.wide, c.weight, widen(y), gy, c.labels, c.stats)
		norm.All(c.exec, dx)
		if a.D != 0 {
			near(t, "d", c.p.download(c.rig, a.D, s.K*c.n), d, exactly,
				"copied, or rounded once to what is stored")
			c.untouched("d of the slot not in use", a.D+uint64(s.K*c.n*c.p.bytes), c.n*c.p.bytes)
		}
		sizes, products, about := make([]float64, s.K*s.C), make([]float64, s.K*s.C), c.about()
		// error of x̂, which the error of the mean makes
		off := func(at int) float64 { return sumError * math.Sqrt(about[at]) * c.stats.Inverse[at] }
		for i, v := range d {
			at := i/c.n*s.C + i%s.C
			if v != 0 {
				sizes[at] += math.Abs(v)
				products[at] += math.Abs(v * (c.wide[i] - c.stats.Mean[at]) * c.stats.Inverse[at])
			}
		}
		spread := func(at int) float64 {
			return 2*sumError*about[at]*c.stats.Inverse[at]*c.stats.Inverse[at] + 2*0x1p-24 + off(at) +
				2*0x1p-24*math.Abs(c.stats.Mean[at])*c.stats.Inverse[at]
		}
		tolW := func(at int) float64 { return sumError*products[at] + spread(at)*(products[at]+sizes[at]) }
		tolB := func(at int) float64 { return sumError * sizes[at] }
		grad := download[float32](c.rig, a.Grad, s.K*c.P)
		gap := int(a.WOffset)
		for i, part := range []struct {
			name string
			want []float64
			tol  func(at int) float64
			why  string
		}{
			{"dweight", dw, tolW, "sums of d·x̂ in float32, and errors of the statistics"},
			{"dbias", db, tolB, "sums of d in float32"},
			{"mean in the place of its gradient", widen(c.stat(2)), exactly, "copied"},
			{"variance in the place of its gradient", widen(c.stat(4)), exactly, "copied"},
		} {
			for k := range s.K {
				got := grad[k*c.P+(i+1)*gap:][:s.C]
				if c.stats.Count[k] == 0 {
					c.untouched(part.name+" of the client without samples", a.Grad+uint64(4*(k*c.P+(i+1)*gap)), 4*s.C)
					continue
				}
				near(t, fmt.Sprintf("client %d: %s", k, part.name), got, part.want[k*s.C:][:s.C],
					func(ch int) float64 { return part.tol(k*s.C + ch) }, part.why)
			}
		}
		near(t, "dx", c.p.download(c.rig, a.DX, s.K*c.n), dx, func(i int) float64 {
			at := i/c.n*s.C + i%s.C
			n := c.stats.Count[i/c.n]
			if c.labels[i/c.n*s.B+i%c.n/(s.H*s.W*s.C)] < 0 {
				return 0
			}
			scale := math.Abs(c.weight[at]) * c.stats.Inverse[at]
			x := math.Abs(c.wide[i]-c.stats.Mean[at]) * c.stats.Inverse[at]
			slope := math.Abs(dw[at]) / n
			tol := (4*0x1p-24+spread(at))*(math.Abs(d[i])+math.Abs(db[at])/n+2*x*slope+off(at)*slope) + tolB(at)/n +
				x*tolW(at)/n + 4*0x1p-24*slope*(math.Abs(c.wide[i])+math.Abs(c.stats.Mean[at]))*c.stats.Inverse[at]
			return scale*tol + c.p.half*math.Abs(dx[i])
		}, "errors of the sums and statistics, roundings of the three terms, and that of dx")
		c.untouched("dx of the slot not in use", a.DX+uint64(s.K*c.n*c.p.bytes), c.n*c.p.bytes)
		c.untouched("gradient of the slot not in use", a.Grad+uint64(4*s.K*c.P), 4*c.P)
	})
}
