package ops

import (
	"math"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16"
)

// results runs an op in a precision, over inputs and a gradient that prepare may change, and returns its output and its
// gradients.
func results(t *testing.T, c opCase, products bf16.Kernels[float64], prepare func([]float64)) [][]float64 {
	t.Helper()
	pool := kernels.NewPool[float64](2)
	defer pool.Close()
	exec := kernels.NewExec(kernels.Generic[float64](), pool)
	exec.Products = products
	b := newBench(t, c, exec)
	for _, x := range append([][]float64{b.gy}, b.in...) {
		prepare(x)
	}
	b.run(t)
	b.run(t) // over the memory that the first run has left
	out := [][]float64{b.y.Value().Data().([]float64)}
	for _, g := range b.grads {
		if g != nil {
			out = append(out, g.Value().Data().([]float64))
		}
	}
	return out
}

// furthest returns the largest distance of two lists of results, by the largest number of each result.
func furthest(t *testing.T, got, want [][]float64) float64 {
	t.Helper()
	worst := 0.0
	for i, w := range want {
		if len(got[i]) != len(w) {
			t.Fatalf("result %d: %d elements, want %d", i, len(got[i]), len(w))
		}
		scale, far := 0.0, 0.0
		for j, v := range w {
			scale, far = max(scale, math.Abs(v)), max(far, math.Abs(got[i][j]-v))
			if got[i][j] != got[i][j] {
				t.Fatalf("result %d: element %d is NaN", i, j)
			}
		}
		if scale > 0 {
			worst = max(worst, far/scale)
		}
	}
	return worst
}

// TestRounded holds every op that multiplies matrices to what rounding its operands, and nothing else, makes of it.
func TestRounded(t *testing.T) {
	for _, c := range cases() {
		if !strings.HasPrefix(c.name, "Conv") && !strings.HasPrefix(c.name, "Linear") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "x33_") {
				longtest.Only(t, "hundreds of channels in plain Go")
			}
			unchanged := func([]float64) {}
			// Inputs with few bits do not change by rounding: then every sum in float64 is right, but for its order.
			short := func(x []float64) {
				for i, v := range x {
					x[i] = math.Round(8*v) / 8
				}
			}
			exact := results(t, c, nil, short)
			plain := results(t, c, nil, unchanged)
			for _, split := range []bool{false, true} {
				products := bf16.Generic[float64](split)
				if far := furthest(t, results(t, c, products, short), exact); far > 1e-12 {
					t.Errorf("split=%t: off by %.2g of the largest number, want 1e-12: nothing is rounded", split, far)
				}
				// Rounding an operand to 8 bits moves it by at most 2⁻⁹ of itself, and to 16 bits by 2⁻¹⁷. Sums of both
				// signs can be smaller than their terms: 8 times as much, and more than a hundredth of it.
				unit := 0x1p-9
				if split {
					unit = 0x1p-17
				}
				// Of the output alone: where another element of a window is the largest, its gradients are others.
				far := furthest(t, results(t, c, products, unchanged)[:1], plain[:1])
				if far > 16*unit || far < unit/100 {
					t.Errorf("split=%t: off by %.2g of the largest number, want %.2g … %.2g",
						split, far, unit/100, 16*unit)
				}
			}
		})
	}
}
