package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// Linear is a fully connected layer: y[k,b,o] = bias[k,o] + Σ_i x[k,b,i]·w[k,i,o], clamped at 0 if ReLU.
// x [K,B,I], w [K,I,O], bias [K,O], y [K,B,O].
type Linear[T kernels.Float] struct {
	base[T]
	Shape     kernels.LinearShape
	InputGrad bool // whether the gradient of x is wanted
	task      kernels.LinearForward[T]
	back      kernels.LinearBackward[T]
}

// NewLinear applies the op to x, w and bias. pooled says whether pooling with ReLU made x; see [kernels.LinearShape].
func NewLinear[T kernels.Float](
	exec *kernels.Exec[T], x, w, bias *G.Node, relu, pooled, inputGrad bool,
) (*G.Node, error) {
	const name = "linear"
	s, err := shapes(name, x, w, bias)
	if err != nil {
		return nil, err
	}
	xs, ws, bs := s[0], s[1], s[2]
	if xs.Dims() != 3 || ws.Dims() != 3 || bs.Dims() != 2 || xs[2] != ws[1] || ws[2] != bs[1] {
		return nil, fmt.Errorf("ops: %s: x %v, w %v, bias %v, want [K,B,I], [K,I,O], [K,O]", name, xs, ws, bs)
	}
	op := &Linear[T]{
		base: newBase(exec, fmt.Sprintf("%s(relu=%t dx=%t)", name, relu, inputGrad),
			[]bool{inputGrad, true, true}, tensor.Shape{xs[0], xs[1], ws[2]}, x, w, bias),
		Shape:     kernels.LinearShape{K: xs[0], B: xs[1], I: xs[2], O: ws[2], ReLU: relu, Pooled: pooled},
		InputGrad: inputGrad,
	}
	return G.ApplyOp(op, x, w, bias)
}

// SymDiff implements [G.SDOp].
func (op *Linear[T]) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	return gradients(op, in, op.InputGrad, in[0], in[1], out, grad)
}

// Do implements [G.Op].
func (op *Linear[T]) Do(in ...G.Value) (G.Value, error) {
	var x, w, b []T
	if err := op.values(in, &x, &w, &b); err != nil {
		return nil, err
	}
	op.task.Run(op.exec, op.Shape, op.output(), x, w, b)
	return op.out, nil
}

// Backward reads x, w, y and the gradient of y, and computes one vector [dx|dw|db]; dx is there only if InputGrad.
func (op *Linear[T]) Backward(g *Grad[T], in []G.Value) error {
	var x, w, y, gy []T
	if err := g.values(in, &x, &w, &y, &gy); err != nil {
		return err
	}
	dx, dw, db := split(g.buf, len(x), len(w), op.InputGrad)
	op.back.Run(op.exec, op.Shape, dx, dw, db, x, w, y, gy)
	return nil
}
