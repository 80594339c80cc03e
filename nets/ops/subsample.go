package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// Subsample is the shortcut without weights of He et al. (2016), option A. It takes every Stride-th pixel, and fills
// the channels that x lacks with zeros:
//
//	y[k,b,i,j,c] = x[k,b,Stride·i,Stride·j,c] for c < C, 0 for C ≤ c < O
//
// x [K,B,H+2·Border,W+2·Border,C], y [K,B,⌈H/Stride⌉+2·Border,⌈W/Stride⌉+2·Border,O]; both have a border of zeros.
type Subsample[T kernels.Float] struct {
	base[T]
	Shape kernels.SubsampleShape
	task  kernels.Subsample[T]
}

// NewSubsample applies the op to x, for O channels.
func NewSubsample[T kernels.Float](exec *kernels.Exec[T], x *G.Node, stride, border, channels int) (*G.Node, error) {
	s := x.Shape()
	if s.Dims() != 5 || stride < 1 || border < 0 || s[2] <= 2*border || s[3] <= 2*border || channels < s[4] {
		return nil, fmt.Errorf("ops: subsample: x %v, border %d, stride %d, %d channels, "+
			"want [K,B,H,W,C] larger than the border, stride ≥ 1, at least C channels", s, border, stride, channels)
	}
	shape := kernels.SubsampleShape{
		N: s[0] * s[1], H: s[2] - 2*border, W: s[3] - 2*border, C: s[4], O: channels, Stride: stride, Border: border,
	}
	h, w := shape.Out()
	op := &Subsample[T]{
		base: newBase(exec, fmt.Sprintf("subsample(stride=%d border=%d)", stride, border),
			[]bool{true}, tensor.Shape{s[0], s[1], h + 2*border, w + 2*border, channels}, x),
		Shape: shape,
	}
	return G.ApplyOp(op, x)
}

// SymDiff implements [G.SDOp].
func (op *Subsample[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	dx, err := gradient(op, in[0].Shape(), grad)
	return G.Nodes{dx}, err
}

// Do implements [G.Op].
func (op *Subsample[T]) Do(in ...G.Value) (G.Value, error) {
	var x []T
	if err := op.values(in, &x); err != nil {
		return nil, err
	}
	op.task.Forward(op.exec, op.Shape, op.output(), x)
	return op.out, nil
}

// Backward sets the gradient of x to the gradient of y at the pixels that were taken, and to 0 elsewhere.
func (op *Subsample[T]) Backward(g *Grad[T], in []G.Value) error {
	var gy []T
	if err := g.values(in, &gy); err != nil {
		return err
	}
	op.task.Backward(op.exec, op.Shape, g.buf, gy)
	return nil
}
