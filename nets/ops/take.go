package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu"
)

// Take views elements Offset … of a flat vector in another shape, without copying.
type Take[T cpu.Float] struct {
	base[T]
	Offset int
}

func take[T cpu.Float](all *G.Node, offset int, shape tensor.Shape) (*G.Node, error) {
	op := &Take[T]{base: newBase[T](nil, fmt.Sprintf("take(%d)", offset), shape, all), Offset: offset}
	return G.ApplyOp(op, all)
}

// Do implements [G.Op].
func (op *Take[T]) Do(in ...G.Value) (G.Value, error) { return op.view(in, op.Offset) }

// View gives its input another shape with as many elements, without copying: (K,B,H,W,C) to (K,B,H·W·C) and back.
type View[T cpu.Float] struct{ base[T] }

// NewView applies a View to x.
func NewView[T cpu.Float](x *G.Node, shape ...int) (*G.Node, error) {
	to := tensor.Shape(shape)
	if to.TotalSize() != x.Shape().TotalSize() {
		return nil, fmt.Errorf("ops: view: %v has %d elements, %v %d", to, to.TotalSize(), x.Shape(),
			x.Shape().TotalSize())
	}
	return G.ApplyOp(&View[T]{newBase[T](nil, "view", to, x)}, x)
}

// DiffWRT implements [G.SDOp].
func (op *View[T]) DiffWRT(int) []bool { return []bool{true} }

// SymDiff implements [G.SDOp].
func (op *View[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	g, err := NewView[T](grad, in[0].Shape()...)
	return G.Nodes{g}, err
}

// Do implements [G.Op].
func (op *View[T]) Do(in ...G.Value) (G.Value, error) { return op.view(in, 0) }
