package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels"
)

// opCase is one op at one size: its float inputs' shapes, how it is applied, and what its other inputs hold.
type opCase struct {
	name   string
	shapes [][]int
	border int // of input 0, which is constant and must be 0
	apply  func(exec *kernels.Exec[float64], in []*G.Node) (*G.Node, error)
	ints   [][]int32 // further inputs
	intsAt [][]int   // their shapes
	grads  []bool    // which inputs have a gradient
	other  []bool    // of which inputs it is something else than the slope
}

func cases() []opCase {
	var cs []opCase
	all := []bool{true, true, true}
	for _, c := range []struct{ K, B, H, W, C, R, S, O, pad, outPad int }{
		{1, 1, 4, 4, 1, 3, 3, 1, 1, 0},
		{3, 5, 8, 6, 2, 3, 3, 5, 1, 1},
		{2, 17, 6, 6, 3, 3, 3, 33, 1, 0},
		{1, 2, 8, 8, 3, 5, 5, 4, 0, 0},
		{2, 2, 7, 9, 33, 4, 2, 3, 0, 2},
		{1, 3, 8, 8, 2, 5, 5, 4, 2, 1},
	} {
		for _, inputGrad := range []bool{true, false} {
			cs = append(cs, opCase{
				name: fmt.Sprintf("ConvReLUPool/K=%d_B=%d_%dx%dx%d_window=%dx%d_O=%d_pad=%d_outpad=%d_dx=%t",
					c.K, c.B, c.H, c.W, c.C, c.R, c.S, c.O, c.pad, c.outPad, inputGrad),
				shapes: [][]int{{c.K, c.B, c.H, c.W, c.C}, {c.K, c.R, c.S, c.C, c.O}, {c.K, c.O}}, border: c.pad,
				apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
					return NewConvReLUPool(e, in[0], in[1], in[2], c.pad, c.outPad, inputGrad)
				},
				grads: []bool{inputGrad, true, true},
			})
		}
	}
	for _, c := range []struct{ K, B, I, O int }{
		{1, 1, 1, 1},
		{3, 5, 7, 10},
		{2, 3, 100, 33},
		{1, 2, 300, 70},
		{1, 1, 5, 600},
	} {
		for _, relu := range []bool{true, false} {
			cs = append(cs, opCase{
				name:   fmt.Sprintf("Linear/K=%d_B=%d_I=%d_O=%d_relu=%t", c.K, c.B, c.I, c.O, relu),
				shapes: [][]int{{c.K, c.B, c.I}, {c.K, c.I, c.O}, {c.K, c.O}},
				apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
					return NewLinear(e, in[0], in[1], in[2], relu, false, true)
				},
				grads: all,
			})
		}
	}
	for _, c := range []struct {
		K, B, O int
		labels  []int32
	}{
		{1, 1, 2, []int32{1}},
		{3, 4, 10, []int32{0, 3, 9, 5, 1, 2, -1, -1, -1, -1, -1, -1}}, // full, ragged and empty
	} {
		cs = append(cs, opCase{
			name: fmt.Sprintf("CrossEntropy/K=%d_B=%d_O=%d", c.K, c.B, c.O), shapes: [][]int{{c.K, c.B, c.O}},
			ints: [][]int32{c.labels}, intsAt: [][]int{{c.K, c.B}},
			apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
				return NewCrossEntropy(e, in[0], in[1])
			},
			grads: []bool{true},
		})
	}
	cs = append(cs, opCase{
		name: "Dropout/K=2_B=3_F=7", shapes: [][]int{{2, 3, 7}},
		ints: [][]int32{{3, 0, 4, 0, 3, 0, 7, 0}}, intsAt: [][]int{{2, 4}},
		apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
			return NewDropout(e, in[0], in[1], 1, 0.4)
		},
		grads: []bool{true},
	}, opCase{
		name: "View/K=2_B=3_2x2x5", shapes: [][]int{{2, 3, 2, 2, 5}},
		apply: func(_ *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
			return NewView[float64](in[0], 2, 3, 20)
		},
		grads: []bool{true},
	}, opCase{
		name: "LogOdds/K=2_B=3", shapes: [][]int{{2, 3, 1}},
		apply: func(_ *kernels.Exec[float64], in []*G.Node) (*G.Node, error) { return NewLogOdds[float64](in[0]) },
		grads: []bool{true},
	}, opCase{
		name: "SumClients/K=3", shapes: [][]int{{3}},
		apply: func(_ *kernels.Exec[float64], in []*G.Node) (*G.Node, error) { return NewSumClients[float64](in[0]) },
		grads: []bool{true},
	})
	return append(cs, residualCases()...)
}

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
		{2, 2, 8, 7, 64, 3, 3, 70, 1, 2, 1},    // Winograd's algorithm
		{1, 1, 9, 8, 70, 3, 3, 64, 1, 0, 0},    // the same, without a border
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
	for _, c := range []struct{ K, B, H, W, C, outPad int }{
		{1, 3, 2, 2, 4, 0},
		{3, 5, 3, 3, 2, 1},    // odd
		{2, 17, 6, 5, 3, 0},   // two chunks, odd in one direction
		{1, 2, 7, 4, 33, 2},   // odd in the other
		{1, 19, 15, 14, 2, 1}, // several blocks of pixels
	} {
		for _, pool := range []bool{false, true} {
			cs = append(cs, opCase{
				name: fmt.Sprintf("BiasReLU/K=%d_B=%d_%dx%dx%d_outpad=%d_pool=%t",
					c.K, c.B, c.H, c.W, c.C, c.outPad, pool),
				shapes: [][]int{{c.K, c.B, c.H, c.W, c.C}, {c.K, c.C}},
				apply: func(e *kernels.Exec[float64], in []*G.Node) (*G.Node, error) {
					return NewBiasReLU(e, in[0], in[1], c.outPad, pool)
				},
				grads: []bool{true, true},
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

func largest(shapes [][]int) int {
	n := 0
	for _, s := range shapes {
		n = max(n, tensor.Shape(s).TotalSize())
	}
	return n
}

// Central differences with h = 1e-6 in float64 are good to about h² + ε/h ≈ 1e-10 relative to the sum; 1e-6 of the
// largest gradient leaves room for sums of a few thousand terms. An element where a maximum or a ReLU changes sides
// within h would fail: none does at this seed.
func TestGradient(t *testing.T) {
	const h, tolerance = 1e-6, 1e-6
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			pool := kernels.NewPool[float64](2)
			defer pool.Close()
			b := newBench(t, c, kernels.NewExec(kernels.Generic[float64](), pool))
			b.run(t)
			var want [][]float64
			for i, g := range b.grads {
				if (g != nil) != (i < len(c.grads) && c.grads[i]) {
					t.Fatalf("input %d: gradient present: %t, want %t", i, g != nil, g == nil)
				}
				if g == nil {
					want = append(want, nil)
					continue
				}
				want = append(want, append([]float64(nil), g.Value().Data().([]float64)...))
			}
			r := rand.New(rand.NewPCG(5, 6))
			for i, x := range b.in {
				if want[i] == nil || i < len(c.other) && c.other[i] {
					continue
				}
				scale, nonzero := 1e-12, 0
				for _, v := range want[i] {
					scale = max(scale, math.Abs(v))
				}
				tries := min(20, 3*len(x))
				if largest(c.shapes) > 1<<18 {
					tries = 4 // every run takes a while
				}
				for range tries {
					j := r.IntN(len(x))
					if i == 0 && c.border > 0 && inBorder(j, c.shapes[0], c.border) {
						if want[i][j] != 0 {
							t.Fatalf("gradient in the constant border: %g, want 0", want[i][j])
						}
						continue
					}
					old := x[j]
					x[j] = old + h
					up := b.run(t)
					x[j] = old - h
					down := b.run(t)
					x[j] = old
					got := (up - down) / (2 * h)
					if got != 0 {
						nonzero++
					}
					if math.Abs(got-want[i][j]) > tolerance*scale {
						t.Errorf("input %d element %d: difference quotient %g, gradient %g, tolerance %g",
							i, j, got, want[i][j], tolerance*scale)
					}
				}
				if nonzero == 0 {
					t.Errorf("input %d: every difference quotient is 0", i)
				}
			}
		})
	}
}

// Wrong shapes are errors that name them.
func TestShapeErrors(t *testing.T) {
	g := G.NewGraph()
	in := func(name string, s ...int) *G.Node {
		return G.NewTensor(g, tensor.Float64, len(s), G.WithShape(s...), G.WithName(name))
	}
	exec := kernels.NewExec(kernels.Generic[float64](), nil)
	x, w, b := in("x", 2, 3, 6, 6, 3), in("w", 2, 3, 3, 3, 4), in("b", 2, 4)
	for name, err := range map[string]error{
		"K":      second(NewConvReLUPool(exec, x, in("w8", 8, 3, 3, 3, 4), b, 1, 0, true)),
		"C":      second(NewConvReLUPool(exec, x, in("wc", 2, 3, 3, 5, 4), b, 1, 0, true)),
		"odd":    second(NewConvReLUPool(exec, in("x7", 2, 3, 7, 6, 3), w, b, 1, 0, true)),
		"border": second(NewConvReLUPool(exec, x, w, b, 3, 0, true)),
		"bias":   second(NewBiasReLU(exec, x, b, 0, false)),
		"pool":   second(NewBiasReLU(exec, in("x1", 2, 3, 1, 6, 4), b, 0, true)),
		"outpad": second(NewBiasReLU(exec, in("x4", 2, 3, 6, 6, 4), b, -1, true)),
		"I":      second(NewLinear(exec, in("f", 2, 3, 5), in("fw", 2, 6, 4), b, true, false, true)),
		"labels": second(NewCrossEntropy(exec, in("l", 2, 3, 10), in("y", 2, 4))),
		"rate":   second(NewDropout(exec, in("d", 2, 3, 10), in("dr", 2, 4), 0, 1)),
		"view":   second(NewView[float64](x, 2, 3, 100)),
		"odds":   second(NewLogOdds[float64](in("o", 2, 3, 2))),
		"sum":    second(NewSumClients[float64](b)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func second(_ *G.Node, err error) error { return err }

// bench runs an op and its gradient rule on a tape machine, with the gradient of the output as a free input.
type bench struct {
	vm    G.VM
	in    [][]float64
	gy    []float64
	y     *G.Node
	grads G.Nodes
}

func newBench(t *testing.T, c opCase, exec *kernels.Exec[float64]) *bench {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	g := G.NewGraph()
	b := &bench{}
	var nodes []*G.Node
	for i, s := range c.shapes {
		n := G.NewTensor(g, tensor.Float64, len(s), G.WithShape(s...), G.WithName(fmt.Sprintf("in%d", i)))
		data := make([]float64, tensor.Shape(s).TotalSize())
		for j := range data {
			data[j] = r.NormFloat64()
		}
		if i == 0 && c.border > 0 {
			for j := range data {
				if inBorder(j, s, c.border) {
					data[j] = 0
				}
			}
		}
		b.in = append(b.in, data)
		must.OK(t, G.Let(n, tensor.New(tensor.WithShape(s...), tensor.WithBacking(data))))
		nodes = append(nodes, n)
	}
	for i, data := range c.ints {
		n := G.NewTensor(g, tensor.Int32, len(c.intsAt[i]), G.WithShape(c.intsAt[i]...),
			G.WithName(fmt.Sprintf("int%d", i)))
		must.OK(t, G.Let(n, tensor.New(tensor.WithShape(c.intsAt[i]...), tensor.WithBacking(data))))
		nodes = append(nodes, n)
	}
	var err error
	b.y, err = c.apply(exec, nodes)
	must.OK(t, err)
	var gy *G.Node
	if s := b.y.Shape(); s.IsScalar() && s.Dims() == 0 {
		gy = G.NewScalar(g, tensor.Float64, G.WithName("gy"))
		b.gy = []float64{1.7}
		must.OK(t, G.Let(gy, b.gy[0]))
	} else {
		gy = G.NewTensor(g, tensor.Float64, s.Dims(), G.WithShape(s...), G.WithName("gy"))
		b.gy = make([]float64, s.TotalSize())
		for j := range b.gy {
			b.gy[j] = r.NormFloat64()
		}
		must.OK(t, G.Let(gy, tensor.New(tensor.WithShape(s...), tensor.WithBacking(b.gy))))
	}
	b.grads, err = b.y.Op().(G.SDOp).SymDiff(nodes, b.y, gy)
	must.OK(t, err)
	b.vm = G.NewTapeMachine(g)
	return b
}

func inBorder(j int, s []int, border int) bool {
	row, col := j/(s[3]*s[4])%s[2], j/s[4]%s[3]
	return row < border || row >= s[2]-border || col < border || col >= s[3]-border
}

// run returns Σ gy·y.
func (b *bench) run(t *testing.T) float64 {
	t.Helper()
	b.vm.Reset()
	must.OK(t, b.vm.RunAll())
	sum := 0.0
	switch y := b.y.Value().Data().(type) {
	case float64:
		sum = y * b.gy[0]
	case []float64:
		for i, v := range y {
			sum += v * b.gy[i]
		}
	}
	return sum
}

// A normalised convolution has no memory for the gradient of its output, so that nothing else may read the output.
func TestConv2DReaders(t *testing.T) {
	g := G.NewGraph()
	in := func(name string, of tensor.Dtype, shape ...int) *G.Node {
		return G.NewTensor(g, of, len(shape), G.WithShape(shape...), G.WithName(name))
	}
	exec := kernels.NewExec(kernels.Generic[float64](), nil)
	conv := must.Get(NewConv2D(exec, in("x", tensor.Float64, 1, 2, 4, 4, 3), in("w", tensor.Float64, 1, 3, 3, 3, 5),
		1, 1, 1, true))(t)
	weights := make([]*G.Node, 4)
	for i := range weights {
		weights[i] = in(fmt.Sprintf("p%d", i), tensor.Float64, 1, 5)
	}
	norm := must.Get(NewBatchNorm(exec, conv, nil, weights[0], weights[1], weights[2], weights[3],
		in("labels", tensor.Int32, 1, 2), 0, true))(t)
	grads := must.Get(norm.Op().(G.SDOp).SymDiff(Inputs(norm), norm, in("gy", tensor.Float64, norm.Shape()...)))(t)
	gradient := func(grad *G.Node) error {
		_, err := conv.Op().(G.SDOp).SymDiff(Inputs(conv), conv, grad)
		return err
	}
	must.OK(t, gradient(grads[0]))
	if gradient(must.Get(G.Add(grads[0], in("more", tensor.Float64, conv.Shape()...)))(t)) == nil {
		t.Error("the gradient of another reader: no error")
	}
}
