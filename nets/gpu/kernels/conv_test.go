//go:build gpu && linux && cgo

package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/nets/gpu/gputest"
)

func TestConvExact(t *testing.T) { exactConvs(t, convCases) }

func TestConvRounding(t *testing.T) {
	roundedConvs(t, append([]convCase{{1, 128, 16, 16, 32, 3, 3, 32, 1}}, convCases...))
}

func TestConvDeterministic(t *testing.T) {
	deterministicConv(t, convCase{3, 5, 8, 16, 16, 3, 3, 32, 1})
}

// eachConv runs a test for every case and precision.
func eachConv[C convolution](
	t *testing.T, cases []C, test func(t *testing.T, c C, p precision, rnd *rand.Rand),
) {
	for _, c := range cases {
		for _, p := range precisions {
			t.Run(c.String()+"/"+p.name, func(t *testing.T) {
				test(t, c, p, rand.New(rand.NewPCG(uint64(c.products()), 1)))
			})
		}
	}
}

// exactConvs compares kernels with the CPU engine. With numbers −1, 0 and 1 all sums are small integers, which every
// precision adds without rounding: the two agree exactly, once y and dx are rounded to the precision, and take the same
// one of equal maxima.
func exactConvs[C convolution](t *testing.T, cases []C) {
	eachConv(t, cases, func(t *testing.T, c C, p precision, rnd *rand.Rand) {
		d := c.draw(rnd, func() float32 { return float32(rnd.IntN(3) - 1) })
		compareConv(t, c.onCard(t, p, d), c.onCPU(d), p)
	})
}

// compareConv fails unless the results are the same, with y and dx of want rounded to the precision.
func compareConv(t *testing.T, got, want convResult, p precision) {
	t.Helper()
	kept := func(x []float64) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = float64(p.round(float32(v)))
		}
		return y
	}
	const why = "all sums are small integers"
	near(t, "y", got.y, kept(want.y), exactly, why)
	for i, at := range want.arg {
		if got.arg[i] != at {
			t.Fatalf("arg[%d]: got %d, want %d: the first of equal maxima, 4 where y is 0", i, got.arg[i], at)
		}
	}
	near(t, "dx", got.dx, kept(want.dx), exactly, why)
	near(t, "dw", got.dw, want.dw, exactly, why)
	near(t, "db", got.db, want.db, exactly, why)
}

// roundedConvs compares kernels on random numbers, activations rounded, with float64 sums of the same numbers with the
// weights rounded: kernels round them when they read them, or read a copy in bf16.
func roundedConvs[C convolution](t *testing.T, cases []C) {
	eachConv(t, cases, func(t *testing.T, c C, p precision, rnd *rand.Rand) {
		few(t, c.products())
		d := c.draw(rnd, func() float32 { return rnd.Float32()*2 - 1 })
		d.x, d.gy = p.rounded(d.x), p.rounded(d.gy)
		got := c.onCard(t, p, d)
		d.w = p.rounded(d.w)
		want := c.onCPU(d)
		m := d
		m.x, m.w, m.bias, m.gy = magnitudes(d.x), magnitudes(d.w), magnitudes(d.bias), magnitudes(d.gy)
		size := c.onCPU(m) // Σ|terms| of each sum; of a pooled y, the largest in its window
		ofY, ofDX, ofGradient := c.terms()
		nearConv(t, p, got, want, size, ofY, ofDX, ofGradient)
		for i, at := range got.arg {
			if (at == 4) != (got.y[i] == 0) || at > 4 {
				t.Fatalf("arg[%d] = %d where y = %g, want 4 exactly where y is 0", i, at, got.y[i])
			}
		}
	})
}

// few leaves a test of so many products to make test-long if they take seconds on the emulator.
func few(t *testing.T, products int) {
	t.Helper()
	if products > 5e6 && !gputest.Long() {
		t.Skipf("left to make test-long: %d products", products)
	}
}

// nearConv fails unless the results are the same up to the rounding of partial sums: an addition errs by 2⁻²⁴ of its
// result, an addition of a tensor core by up to 2⁻²³, because it truncates; and y and dx are rounded at the end. size
// has the sums of the terms' magnitudes; an element of y, of dx and of the gradients has so many terms.
func nearConv(t *testing.T, p precision, got, want, size convResult, ofY, ofDX, ofGradient int) {
	t.Helper()
	check := func(what string, got, want, size []float64, terms int, last float64) {
		t.Helper()
		near(t, what, got, want, func(i int) float64 {
			return float64(terms/8+8)*0x1p-23*size[i] + last*math.Abs(want[i])
		}, "2⁻²³ of the sum of magnitudes for every 8 terms, and the rounding of what is kept")
	}
	check("y", got.y, want.y, size.y, ofY, p.half)
	check("dx", got.dx, want.dx, size.dx, ofDX, p.half)
	check("dw", got.dw, want.dw, size.dw, ofGradient, 0)
	check("db", got.db, want.db, size.db, ofGradient, 0)
}

func magnitudes(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(math.Abs(float64(v)))
	}
	return y
}

// A NaN reaches the outputs whose windows see it, and no other; it wins over every number, as on the CPU.
func TestConvNaN(t *testing.T) {
	c := convCase{1, 3, 8, 8, 8, 3, 3, 16, 1}
	for _, p := range precisions {
		t.Run(p.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			d := c.draw(rnd, func() float32 { return float32(rnd.IntN(3) - 1) })
			d.x[(1*c.H+3)*c.W*c.C+5*c.C+2] = float32(math.NaN())
			got, want := c.onCard(t, p, d), c.onCPU(d)
			nan := 0
			for i, v := range want.y {
				if g := got.y[i]; g != v && (g == g || v == v) || got.arg[i] != want.arg[i] {
					t.Fatalf("y[%d]: got %g at %d, want %g at %d", i, g, got.arg[i], v, want.arg[i])
				}
				if v != v {
					nan++
				}
			}
			if nan == 0 {
				t.Fatal("no output sees the NaN: the case tests nothing")
			}
		})
	}
}

// deterministicConv compares two runs, which give the same bytes, and the last client with a run of it alone: its
// results do not depend on who else is in the wave.
func deterministicConv[C convolution](t *testing.T, c C) {
	eachConv(t, []C{c}, func(t *testing.T, c C, p precision, rnd *rand.Rand) {
		d := c.draw(rnd, func() float32 { return rnd.Float32()*2 - 1 })
		one, its := c.last(d)
		sameConv(t, c.onCard(t, p, d), c.onCard(t, p, d), one.onCard(t, p, its))
	})
}

// sameConv fails unless a second run gives the same, and a run of the last client alone the end of it.
func sameConv(t *testing.T, all, again, last convResult) {
	t.Helper()
	for what, of := range map[string]func(convResult) []float64{
		"y":  func(r convResult) []float64 { return r.y },
		"dx": func(r convResult) []float64 { return r.dx },
		"dw": func(r convResult) []float64 { return r.dw },
		"db": func(r convResult) []float64 { return r.db },
	} {
		got, alone := of(all), of(last)
		near(t, what+" of a second run", of(again), got, exactly, "sums are added in a fixed order")
		near(t, what+" of the last client alone", alone, got[len(got)-len(alone):], exactly, "clients share nothing")
	}
}
