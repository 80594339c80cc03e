package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestSparseLinear compares fully connected layers that leave zeros of x out with those that do not, bit by bit, in
// every variant: of no, some and all elements 0, and where zeros meet numbers that are not finite.
func TestSparseLinear(t *testing.T) {
	for _, k := range Variants() {
		for _, s := range []LinearShape{
			{K: 2, B: 5, I: 520, O: 264, ReLU: true},
			{K: 1, B: 67, I: 256, O: 256},
			{K: 1, B: 130, I: 72, O: 400, ReLU: true},
		} {
			for _, density := range []float64{0, 0.3, 0.9, 1} {
				for _, odd := range []string{"", "w", "gy"} { // what has an infinite number
					name := fmt.Sprintf("%s/%dx%dx%d→%d/density=%g/%s", k.Name(), s.K, s.B, s.I, s.O, density, odd)
					t.Run(name, func(t *testing.T) { compareSparseLinear(t, k, s, density, odd) })
				}
			}
		}
	}
}

func compareSparseLinear(t *testing.T, k Kernels[float32], s LinearShape, density float64, odd string) {
	r := rand.New(rand.NewPCG(uint64(s.I), uint64(100*density)))
	e := NewExec(k, nil)
	x, gy := fractions(r, s.K*s.B*s.I), fractions(r, s.K*s.B*s.O)
	w, b := fractions(r, s.K*s.I*s.O), fractions(r, s.K*s.O)
	for i := range x {
		if r.Float64() >= density {
			x[i] = 0
		}
	}
	switch odd {
	case "w":
		w[len(w)-7] = float32(math.Inf(-1))
	case "gy":
		gy[len(gy)-7] = float32(math.Inf(1))
	}
	run := func(s LinearShape) (y, dw, db, dx []float32) {
		y, dw, db = make([]float32, len(gy)), make([]float32, len(w)), make([]float32, len(b))
		dx = make([]float32, len(x))
		var f LinearForward[float32]
		var back LinearBackward[float32]
		f.Run(e, s, y, x, w, b)
		back.Run(e, s, dx, dw, db, x, w, y, gy)
		return y, dw, db, dx
	}
	wantY, wantW, wantB, wantX := run(s)
	s.Pooled = true
	if !s.sparse() {
		t.Fatalf("%+v keeps its zeros, want a shape that leaves them out", s)
	}
	y, dw, db, dx := run(s)
	wantSame(t, "y", y, wantY)
	wantSame(t, "dw", dw, wantW)
	wantSame(t, "db", db, wantB)
	wantSame(t, "dx", dx, wantX)
}
