package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// Take is a view, in another shape, of the elements of a flat vector from Offset on. It copies nothing.
type Take[T kernels.Float] struct {
	base[T]
	Offset int
}

// take applies a [Take] to the vector all. The gradients of a layer are such views of one vector.
func take[T kernels.Float](all *G.Node, offset int, shape tensor.Shape) (*G.Node, error) {
	op := &Take[T]{base: newBase[T](nil, fmt.Sprintf("take(%d)", offset), nil, shape, all), Offset: offset}
	return G.ApplyOp(op, all)
}

// Do implements [G.Op].
func (op *Take[T]) Do(in ...G.Value) (G.Value, error) { return op.view(in, op.Offset) }

// View gives its input another shape with the same number of elements, for example [K,B,H·W·C] for [K,B,H,W,C]. It
// copies nothing.
type View[T kernels.Float] struct{ base[T] }

// NewView applies a [View] to x.
func NewView[T kernels.Float](x *G.Node, shape ...int) (*G.Node, error) {
	to := tensor.Shape(shape)
	if to.TotalSize() != x.Shape().TotalSize() {
		return nil, fmt.Errorf("ops: view: %v has %d elements, %v %d",
			to, to.TotalSize(), x.Shape(), x.Shape().TotalSize())
	}
	return G.ApplyOp(&View[T]{newBase[T](nil, "view", []bool{true}, to, x)}, x)
}

// SymDiff implements [G.SDOp].
func (op *View[T]) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	g, err := NewView[T](grad, in[0].Shape()...)
	return G.Nodes{g}, err
}

// Do implements [G.Op].
func (op *View[T]) Do(in ...G.Value) (G.Value, error) { return op.view(in, 0) }
