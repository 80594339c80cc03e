package ops

import (
	"fmt"
	"math"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/internal/longtest"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16"
)

// residualCases are the ops of residual nets.
func residualCases() []opCase {
	var cs []opCase
	for _, c := range []struct{ K, B, H, W, C, R, S, O, stride, border, pad int }{
		{1, 1, 3, 3, 1, 3, 3, 1, 1, 1, 1},
		{2, 3, 10, 10, 2, 3, 3, 5, 1, 1, 1},    // rows as tiles
		{2, 17, 18, 19, 3, 3, 3, 33, 2, 1, 1},  // two chunks, a column too much
		{2, 5, 6, 6, 33, 3, 3, 34, 1, 1, 1},    // images as tiles, two panels
		{1, 18, 7, 8, 3, 3, 5, 4, 2, 2, 1},     // border wider than the padding
		{3, 2, 10, 8, 3, 1, 1, 4, 2, 1, 0},     // projection
		{1, 2, 34, 34, 2, 1, 1, 3, 2, 1, 0},    // projection of wide maps
		{1, 2, 10, 10, 4, 5, 5, 3, 3, 0, 0},    // places that no window reaches at the end
		{1, 1, 11, 9, 2, 2, 4, 3, 3, 1, 1},     // a window narrower than the stride
		{1, 3, 3, 3, 130, 2, 2, 520, 1, 0, 0},  // weights in blocks, images as tiles
		{1, 9, 10, 10, 33, 5, 5, 350, 1, 0, 0}, // weights in blocks, of more than one block of pixels
		{1, 17, 6, 6, 33, 3, 3, 900, 1, 1, 1},  // the same, of whole images with a border
		{1, 5, 18, 18, 33, 3, 3, 900, 2, 1, 1}, // the same, with a stride
		{2, 3, 3, 20, 3, 3, 3, 3, 1, 1, 1},     // maps of one row: two rows of the window read zeros alone
	} {
		for _, inputGrad := range []bool{true, false} {
			if !inputGrad && c.O > 300 {
				continue
			}
			cs = append(cs, opCase{
				name: fmt.Sprintf("Conv2D/K=%d_B=%d_%dx%dx%d_window=%dx%d_O=%d_stride=%d_border=%d_pad=%d_dx=%t",
					c.K, c.B, c.H, c.W, c.C, c.R, c.S, c.O, c.stride, c.border, c.pad, inputGrad),
				shapes: [][]int{{c.K, c.B, c.H, c.W, c.C}, {c.K, c.R, c.S, c.C, c.O}}, border: c.border,
				apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
					return NewConv2D(e, in[0], in[1], c.stride, c.border, c.pad, inputGrad)
				},
				grads: []bool{inputGrad, true},
			})
		}
	}
	for _, c := range []struct {
		K, B, H, W, C, outPad int
		labels                []int32
	}{
		{1, 1, 1, 3, 4, 0, []int32{0}},
		{2, 3, 4, 3, 5, 1, []int32{1, 0, 2, -1, 3, -1}},    // padding in front and behind
		{2, 3, 2, 2, 3, 0, []int32{1, 0, 2, -1, -1, -1}},   // one client has nothing
		{1, 19, 9, 9, 2, 1, append(make([]int32, 18), -1)}, // two chunks, several blocks of rows
	} {
		for mode := range 4 {
			add, relu := mode&1 != 0, mode&2 != 0
			y := []int{c.K, c.B, c.H + 2*c.outPad, c.W + 2*c.outPad, c.C}
			p := []int{c.K, c.C}
			o := opCase{
				name: fmt.Sprintf("BatchNorm/K=%d_B=%d_%dx%dx%d_outpad=%d_add=%t_relu=%t",
					c.K, c.B, c.H, c.W, c.C, c.outPad, add, relu),
				shapes: [][]int{{c.K, c.B, c.H, c.W, c.C}, p, p, p, p}, ints: [][]int32{c.labels},
				intsAt: [][]int{{c.K, c.B}},
				apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
					return NewBatchNorm(e, in[0], nil, in[1], in[2], in[3], in[4], in[5], c.outPad, relu)
				},
				grads: []bool{true, true, true, true, true}, other: []bool{false, false, false, true, true},
			}
			if add {
				o.shapes = [][]int{{c.K, c.B, c.H, c.W, c.C}, y, p, p, p, p}
				o.apply = func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
					return NewBatchNorm(e, in[0], in[1], in[2], in[3], in[4], in[5], in[6], c.outPad, relu)
				}
				o.grads, o.other = append(o.grads, true), []bool{false, false, false, false, true, true}
			}
			cs = append(cs, o)
		}
	}
	return append(cs, opCase{
		name: "GlobalAvgPool/K=2_B=9_3x4x5_border=1", shapes: [][]int{{2, 9, 5, 6, 5}}, border: 1,
		apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) { return NewGlobalAvgPool(e, in[0], 1) },
		grads: []bool{true},
	}, opCase{
		name: "Subsample/K=2_B=9_5x6x3_stride=2_border=1_O=7", shapes: [][]int{{2, 9, 7, 8, 3}}, border: 1,
		apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) { return NewSubsample(e, in[0], 2, 1, 7) },
		grads: []bool{true},
	})
}

// largest returns the number of elements of the largest shape.
func largest(shapes [][]int) int {
	n := 0
	for _, s := range shapes {
		n = max(n, tensor.Shape(s).TotalSize())
	}
	return n
}

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

// Sums of at most 825 terms of order 1 in float64: 1e-12 is a thousand roundings.
func TestConv2DForward(t *testing.T) {
	for _, c := range residualCases() {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c, kernels.NewExec(kernels.Generic[float64](), nil))
			op, is := b.y.Op().(*Conv2D[float64])
			if !is {
				t.SkipNow()
			}
			b.run(t)
			want := conv2DNaive(b.in[0], b.in[1], op.Shape)
			got := b.y.Value().Data().([]float64)
			if len(got) != len(want) {
				t.Fatalf("%d elements, want %d", len(got), len(want))
			}
			for i := range got {
				if math.Abs(got[i]-want[i]) > 1e-12 {
					t.Fatalf("element %d: got %g, want %g ± 1e-12", i, got[i], want[i])
				}
			}
		})
	}
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

// Values of order 1 from variances of at least 0.01 and sums of at most 1458 terms: 1e-11 is ten thousand roundings.
func TestBatchNormForward(t *testing.T) {
	const tolerance = 1e-11
	near := func(t *testing.T, what string, got, want []float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
		}
		for i := range got {
			if !(math.Abs(got[i]-want[i]) <= tolerance*max(1, math.Abs(want[i]))) {
				t.Fatalf("%s: element %d: got %g, want %g ± %g", what, i, got[i], want[i], tolerance)
			}
		}
	}
	for _, c := range residualCases() {
		t.Run(c.name, func(t *testing.T) {
			exec := kernels.NewExec(kernels.Generic[float64](), nil)
			b := newBench(t, c, exec)
			op, is := b.y.Op().(*BatchNorm[float64])
			if !is {
				t.SkipNow()
			}
			b.run(t)
			y, mean, unbiased := batchNormNaive(b.in, c.ints[0], op.Shape, op.Add)
			near(t, "y", b.y.Value().Data().([]float64), y)
			n := len(b.grads) - 3
			near(t, "mean", b.grads[n].Value().Data().([]float64), mean)
			near(t, "unbiased variance", b.grads[n+1].Value().Data().([]float64), unbiased)

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
			new(kernels.NormForward[float64]).Evaluate(exec, op.Shape, got, b.in[0], add, p[0], p[1], p[2], p[3])
			y, _, _ = batchNormNaive(b.in, nil, op.Shape, op.Add)
			near(t, "y in evaluation", got, y)
		})
	}
}

// convNaive is the definition of ConvReLUPool in the plainest loops.
func convNaive(x, w, bias []float64, s kernels.ConvShape) []float64 {
	ch, cw := s.Conv()
	oh, ow := s.Out()
	y := make([]float64, s.K*s.B*oh*ow*s.O)
	for k := range s.K {
		for b := range s.B {
			for i := range ch / 2 {
				for j := range cw / 2 {
					for o := range s.O {
						best := math.Inf(-1)
						for p := range 4 {
							sum := bias[k*s.O+o]
							for r := range s.R {
								for q := range s.S {
									for c := range s.C {
										row, col := 2*i+p/2+r, 2*j+p%2+q
										sum += w[(((k*s.R+r)*s.S+q)*s.C+c)*s.O+o] *
											x[(((k*s.B+b)*s.H+row)*s.W+col)*s.C+c]
									}
								}
							}
							best = max(best, sum)
						}
						y[(((k*s.B+b)*oh+i+s.OutPad)*ow+j+s.OutPad)*s.O+o] = max(0, best)
					}
				}
			}
		}
	}
	return y
}

// Sums of at most 528 terms of order 1 in float64: 1e-12 is a thousand roundings.
func TestConvForward(t *testing.T) {
	for _, c := range cases() {
		if len(c.shapes[0]) != 5 || len(c.shapes) != 3 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c, kernels.NewExec(kernels.Generic[float64](), nil))
			b.run(t)
			op := b.y.Op().(*ConvReLUPool[float64])
			want := convNaive(b.in[0], b.in[1], b.in[2], op.Shape)
			for i, got := range b.y.Value().Data().([]float64) {
				if math.Abs(got-want[i]) > 1e-12 {
					t.Fatalf("element %d: got %g, want %g ± 1e-12", i, got, want[i])
				}
			}
		})
	}
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
