package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// BiasReLU is what follows a [Conv2D] without batch normalisation: a bias, a ReLU and, if Pool, 2×2 max pooling.
//
//	y[k,b,i,j,c] = max(0, bias[k,c] + x[k,b,i,j,c])
//	y[k,b,i,j,c] = max(0, bias[k,c] + max over the window {2i,2i+1}×{2j,2j+1} of x[k,b,·,·,c]) with pooling
//
// x [K,B,H,W,C] without a border, bias [K,C]. y [K,B,h+2·OutPad,w+2·OutPad,C], its border 0, with h = H and w = W, or
// ⌊H/2⌋ and ⌊W/2⌋ with pooling: as in PyTorch's MaxPool2d(2), the last row and the last column of odd maps do not
// count, and their gradient is 0. Of equal maxima the first has the gradient.
type BiasReLU[T kernels.Float] struct {
	base[T]
	Shape kernels.BiasReLUShape
	arg   []uint8 // [K,B,h,w,C] which pixel of its window the maximum is, see [kernels.Kernels]; nil without pooling
	task  kernels.BiasReLUForward[T]
	back  kernels.BiasReLUBackward[T]
}

// NewBiasReLU applies the op to x and bias.
func NewBiasReLU[T kernels.Float](exec *kernels.Exec[T], x, bias *G.Node, outPad int, pool bool) (*G.Node, error) {
	const name = "bias_relu"
	s, err := shapes(name, x, bias)
	if err != nil {
		return nil, err
	}
	xs, bs := s[0], s[1]
	if xs.Dims() != 5 || bs.Dims() != 2 || xs[4] != bs[1] || outPad < 0 {
		return nil, fmt.Errorf("ops: %s: x %v, bias %v, border %d, want [K,B,H,W,C], [K,C], at least 0",
			name, xs, bs, outPad)
	}
	shape := kernels.BiasReLUShape{K: xs[0], B: xs[1], H: xs[2], W: xs[3], C: xs[4], OutPad: outPad, Pool: pool}
	h, w := shape.Out()
	if h < 1 || w < 1 {
		return nil, fmt.Errorf("ops: %s: maps of %d×%d, want at least 2×2 to pool", name, shape.H, shape.W)
	}
	op := &BiasReLU[T]{
		base: newBase(exec, fmt.Sprintf("%s(outpad=%d pool=%t)", name, outPad, pool), []bool{true, true},
			tensor.Shape{shape.K, shape.B, h + 2*outPad, w + 2*outPad, shape.C}, x, bias),
		Shape: shape,
	}
	return G.ApplyOp(op, x, bias)
}

// SymDiff implements [G.SDOp].
func (op *BiasReLU[T]) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	return gradients(op, in, true, in[1], out, grad)
}

// Do implements [G.Op].
func (op *BiasReLU[T]) Do(in ...G.Value) (G.Value, error) {
	var x, bias []T
	if err := op.values(in, &x, &bias); err != nil {
		return nil, err
	}
	if op.arg == nil {
		op.arg = make([]uint8, op.Shape.ArgLen())
	}
	op.task.Run(op.exec, op.Shape, op.output(), op.arg, x, bias)
	return op.out, nil
}

// Backward reads y, the gradient of y and arg, and computes one vector [dx|dbias]. bias, its first input, only says to
// other engines which parameter dbias is for.
func (op *BiasReLU[T]) Backward(g *Grad[T], in []G.Value) error {
	var y, gy []T
	if err := g.values(in[1:], &y, &gy); err != nil {
		return err
	}
	db := len(g.buf) - op.Shape.K*op.Shape.C
	op.back.Run(op.exec, op.Shape, g.buf[:db], g.buf[db:], y, gy, op.arg)
	return nil
}
