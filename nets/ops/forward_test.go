package ops

import (
	"math"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16"
)

// conv2DNaive is the definition of Conv2D in the plainest loops.
func conv2DNaive(x, w []float64, s kernels.Conv2DShape) []float64 {
	oh, ow := s.Out()
	y := make([]float64, s.K*s.B*oh*ow*s.O)
	for at := range y {
		o, j, i, b := at%s.O, at/s.O%ow, at/(s.O*ow)%oh, at/(s.O*ow*oh)
		for r := range s.R {
			for q := range s.S {
				row, col := i*s.Stride+r+s.Border-s.Pad, j*s.Stride+q+s.Border-s.Pad
				for c := range s.C {
					y[at] += w[(((b/s.B*s.R+r)*s.S+q)*s.C+c)*s.O+o] * x[((b*s.H+row)*s.W+col)*s.C+c]
				}
			}
		}
	}
	return y
}

// convReLUPoolNaive is the definition of ConvReLUPool, by the definition of Conv2D.
func convReLUPoolNaive(x, w, bias []float64, s kernels.ConvShape) []float64 {
	maps := conv2DNaive(x, w, kernels.Conv2DShape{
		K: s.K, B: s.B, H: s.H, W: s.W, C: s.C, R: s.R, S: s.S, O: s.O, Stride: 1, Border: s.Pad, Pad: s.Pad,
	})
	rows, columns := s.Conv()
	oh, ow := s.Out()
	y := make([]float64, s.K*s.B*oh*ow*s.O) // ReLU: at least 0
	for at, v := range maps {
		o, j, i, b := at%s.O, at/s.O%columns, at/(s.O*columns)%rows, at/(s.O*columns*rows)
		to := &y[((b*oh+i/2+s.OutPad)*ow+j/2+s.OutPad)*s.O+o]
		*to = max(*to, v+bias[b/s.B*s.O+o])
	}
	return y
}

// biasReLUNaive is the definition of BiasReLU.
func biasReLUNaive(x, bias []float64, s kernels.BiasReLUShape) []float64 {
	window := 1
	if s.Pool {
		window = 2
	}
	h, w := s.H/window, s.W/window
	y := make([]float64, s.K*s.B*(h+2*s.OutPad)*(w+2*s.OutPad)*s.C) // ReLU: at least 0
	for at, v := range x {
		c, j, i, b := at%s.C, at/s.C%s.W/window, at/(s.C*s.W)%s.H/window, at/(s.C*s.W*s.H)
		if i < h && j < w {
			to := &y[((b*(h+2*s.OutPad)+i+s.OutPad)*(w+2*s.OutPad)+j+s.OutPad)*s.C+c]
			*to = max(*to, v+bias[b/s.B*s.C+c])
		}
	}
	return y
}

// batchNormNaive is the definition of BatchNorm: y, and mean and unbiased variance of the samples that count.
func batchNormNaive(in [][]float64, labels []int32, s kernels.NormShape, add bool) (y, mean, unbiased []float64) {
	x, p := in[0], in[1:]
	if add {
		p = in[2:]
	}
	h, w := s.H+2*s.OutPad, s.W+2*s.OutPad
	y, mean, unbiased = make([]float64, s.K*s.B*h*w*s.C), make([]float64, s.K*s.C), make([]float64, s.K*s.C)
	for k := range s.K {
		for c := range s.C {
			m, v, n := p[2][k*s.C+c], p[3][k*s.C+c], 0.0
			each := func(do func(at, to int)) {
				for b := k * s.B; b < (k+1)*s.B; b++ {
					for i := range s.H * s.W {
						if labels == nil || labels[b] >= 0 {
							do((b*s.H*s.W+i)*s.C+c, ((b*h+s.OutPad+i/s.W)*w+s.OutPad+i%s.W)*s.C+c)
						}
					}
				}
			}
			if labels != nil {
				m, v = 0, 0
				each(func(at, _ int) { m += x[at]; n++ })
				if n > 0 {
					m /= n
					each(func(at, _ int) { v += (x[at] - m) * (x[at] - m) })
					mean[k*s.C+c], unbiased[k*s.C+c] = m, v/(n-1)
					v /= n
				}
			}
			each(func(at, to int) {
				y[to] = p[0][k*s.C+c]*(x[at]-m)/math.Sqrt(v+1e-5) + p[1][k*s.C+c]
				if add {
					y[to] += in[1][to]
				}
				if s.ReLU {
					y[to] = max(0, y[to])
				}
			})
		}
	}
	return y, mean, unbiased
}

// near compares numbers with what is wanted of them.
func near(t *testing.T, what string, got any, want []float64, tolerance float64) {
	t.Helper()
	numbers := got.([]float64)
	if len(numbers) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(numbers), len(want))
	}
	for i, v := range numbers {
		if !(math.Abs(v-want[i]) <= tolerance) {
			t.Fatalf("%s: element %d: got %g, want %g ± %g", what, i, v, want[i], tolerance)
		}
	}
}

// TestForward holds ops to their definition in the plainest loops. Sums of at most 825 terms of order 1 in float64:
// 1e-12 is a thousand roundings. The softmax of the two logits of LogOdds is the sigmoid of the one.
func TestForward(t *testing.T) {
	const tolerance = 1e-12
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c, kernels.NewExec(kernels.Generic[float64](), nil))
			b.run(t)
			y := b.y.Value().Data()
			switch op := b.y.Op().(type) {
			case *ConvReLUPool[float64]:
				near(t, "y", y, convReLUPoolNaive(b.in[0], b.in[1], b.in[2], op.Shape), tolerance)
			case *Conv2D[float64]:
				near(t, "y", y, conv2DNaive(b.in[0], b.in[1], op.Shape), tolerance)
			case *BiasReLU[float64]:
				near(t, "y", y, biasReLUNaive(b.in[0], b.in[1], op.Shape), tolerance)
			case *BatchNorm[float64]:
				testBatchNorm(t, b, op, c.ints[0])
			case *LogOdds[float64]:
				var want []float64
				for _, x := range b.in[0] {
					want = append(want, 0, x)
				}
				near(t, "y", y, want, 0)
			default:
				t.SkipNow() // nets/cpu compares it with PyTorch
			}
		})
	}
}

// testBatchNorm tests a batch normalisation that has run, and then in evaluation. Values of order 1 from variances of
// at least 0.01 and sums of at most 1458 terms: 1e-11 is ten thousand roundings.
func testBatchNorm(t *testing.T, b *bench, op *BatchNorm[float64], labels []int32) {
	const tolerance = 1e-11
	y, mean, unbiased := batchNormNaive(b.in, labels, op.Shape, op.Add)
	near(t, "y", b.y.Value().Data(), y, tolerance)
	n := len(b.grads) - 3
	near(t, "mean", b.grads[n].Value().Data(), mean, tolerance)
	near(t, "unbiased variance", b.grads[n+1].Value().Data(), unbiased, tolerance)

	variance := b.in[len(b.in)-1]
	for i, v := range variance {
		variance[i] = 0.5 + v*v
	}
	var add []float64
	p := b.in[1:]
	if op.Add {
		add, p = b.in[1], b.in[2:]
	}
	got := make([]float64, len(y))
	new(kernels.NormForward[float64]).Evaluate(op.exec, op.Shape, got, b.in[0], add, p[0], p[1], p[2], p[3])
	y, _, _ = batchNormNaive(b.in, nil, op.Shape, op.Add)
	near(t, "y in evaluation", got, y, tolerance)
}

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
