package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// LogOdds turns one logit into the logits of two classes: y[k,b] = (0, x[k,b,0]). The softmax of y is then the sigmoid
// of x, so that logistic regression can be trained by cross-entropy. x [K,B,1], y [K,B,2].
type LogOdds[T kernels.Float] struct{ base[T] }

// NewLogOdds applies the op to x.
func NewLogOdds[T kernels.Float](x *G.Node) (*G.Node, error) {
	s := x.Shape()
	if s.Dims() != 3 || s[2] != 1 {
		return nil, fmt.Errorf("ops: log_odds: x %v, want [K,B,1]", s)
	}
	return G.ApplyOp(&LogOdds[T]{newBase[T](nil, "log_odds", []bool{true}, tensor.Shape{s[0], s[1], 2}, x)}, x)
}

// SymDiff implements [G.SDOp].
func (op *LogOdds[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	dx, err := gradient(op, in[0].Shape(), grad)
	return G.Nodes{dx}, err
}

// Do implements [G.Op].
func (op *LogOdds[T]) Do(in ...G.Value) (G.Value, error) {
	var x []T
	if err := op.values(in, &x); err != nil {
		return nil, err
	}
	y := op.output()
	for i, v := range x {
		y[2*i+1] = v // y[2·i] is 0 since the buffer was made
	}
	return op.out, nil
}

// Backward computes dx[k,b,0] = dy[k,b,1]. The gradient of y is dy [K,B,2]; dx is [K,B,1].
func (op *LogOdds[T]) Backward(g *Grad[T], in []G.Value) error {
	var dy []T
	if err := g.values(in, &dy); err != nil {
		return err
	}
	for i := range g.buf {
		g.buf[i] = dy[2*i+1]
	}
	return nil
}
