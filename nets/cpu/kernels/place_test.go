package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/nets/cpu/kernels/guarded"
)

type place = guarded.Place

func lend[T any](p *place, x []T) []T { return guarded.Lend(p, x) }

// numbers returns n small multiples of 1/8, with ties and zeros of both signs; one in oneIn of them is NaN or ±Inf,
// none if oneIn is 0.
func numbers(r *rand.Rand, n, oneIn int) []float32 {
	x := make([]float32, n)
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	for i := range x {
		switch {
		case oneIn > 0 && r.IntN(oneIn) == 0:
			x[i] = odd[r.IntN(len(odd))]
		case r.IntN(16) == 0:
			x[i] = float32(math.Copysign(0, -1))
		default:
			x[i] = float32(r.IntN(33)-16) / 8
		}
	}
	return x
}

// fractions returns n numbers in (−1, 1) that use every bit.
func fractions(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// wantSame fails unless got and want are the same bits, any NaN being as good as another.
func wantSame(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s[%d]: got %g (%#x), want %g (%#x), exactly: no sum, or one in a given order",
				what, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// wantNear fails unless got is want to within tol·scale, and NaN or infinite where want is.
func wantNear(t *testing.T, what string, got, want, scale []float32, tol float64, why string) {
	t.Helper()
	for i, w := range want {
		g, s := float64(got[i]), float64(scale[i])
		if math.IsNaN(float64(w)) && math.IsNaN(g) || float64(w) == g {
			continue
		}
		if diff := math.Abs(g - float64(w)); !(diff <= tol*s) || math.IsInf(g, 0) || math.IsInf(float64(w), 0) {
			t.Fatalf("%s[%d]: got %g, want %g ± %g (%s)", what, i, g, w, tol*s, why)
		}
	}
}

// wantPanic fails unless f panics.
func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic, want one", what)
		}
	}()
	f()
}

// abs returns |x|, copied.
func abs(x []float32) []float32 {
	y := slices.Clone(x)
	for i, v := range y {
		y[i] = float32(math.Abs(float64(v)))
	}
	return y
}

// unit is half the distance from 1 to the next float32: the relative error of one rounding.
const unit = 1.0 / (1 << 24)
