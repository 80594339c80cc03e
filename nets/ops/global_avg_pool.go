package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// GlobalAvgPool is the mean of every channel: y[k,b,c] = Σ_i Σ_j x[k,b,i,j,c]/(H·W), without the border of x.
// x [K,B,H+2·Border,W+2·Border,C], y [K,B,C].
type GlobalAvgPool[T kernels.Float] struct {
	base[T]
	Shape kernels.AverageShape
	task  kernels.Average[T]
}

// NewGlobalAvgPool applies the op to x.
func NewGlobalAvgPool[T kernels.Float](exec *kernels.Exec[T], x *G.Node, border int) (*G.Node, error) {
	s := x.Shape()
	if s.Dims() != 5 || border < 0 || s[2] <= 2*border || s[3] <= 2*border {
		return nil, fmt.Errorf("ops: global_avg_pool: x %v, border %d, want [K,B,H,W,C] larger than the border",
			s, border)
	}
	op := &GlobalAvgPool[T]{
		base: newBase(exec, fmt.Sprintf("global_avg_pool(border=%d)", border), []bool{true},
			tensor.Shape{s[0], s[1], s[4]}, x),
		Shape: kernels.AverageShape{N: s[0] * s[1], H: s[2] - 2*border, W: s[3] - 2*border, C: s[4], Border: border},
	}
	return G.ApplyOp(op, x)
}

// SymDiff implements [G.SDOp].
func (op *GlobalAvgPool[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	dx, err := gradient(op, in[0].Shape(), grad)
	return G.Nodes{dx}, err
}

// Do implements [G.Op].
func (op *GlobalAvgPool[T]) Do(in ...G.Value) (G.Value, error) {
	var x []T
	if err := op.values(in, &x); err != nil {
		return nil, err
	}
	op.task.Forward(op.exec, op.Shape, op.output(), x)
	return op.out, nil
}

// Backward computes dx[k,b,i,j,c] = gy[k,b,c]/(H·W), and 0 in the border.
func (op *GlobalAvgPool[T]) Backward(g *Grad[T], in []G.Value) error {
	var gy []T
	if err := g.values(in, &gy); err != nil {
		return err
	}
	op.task.Backward(op.exec, op.Shape, g.buf, gy)
	return nil
}
