package ops

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// Take is a view, in another shape, of a part of a vector of gradients: the elements from Offset on are the gradient of
// one input of the layer. It copies nothing.
type Take[T kernels.Float] struct {
	base[T]
	Offset int
	of     *Grad[T]
	input  int // of the layer
}

// take applies a [Take] to the vector all. The gradients of a layer are such views of one vector.
func take[T kernels.Float](all *G.Node, offset int, shape tensor.Shape, input int) (*G.Node, error) {
	base := newBase[T](nil, fmt.Sprintf("take(%d)", offset), nil, shape, all)
	return G.ApplyOp(&Take[T]{base, offset, all.Op().(*Grad[T]), input}, all)
}

// Do implements [G.Op]. Where the elements are nowhere, it returns the vector in their place.
func (op *Take[T]) Do(in ...G.Value) (G.Value, error) {
	if op.Offset < op.of.absent {
		return in[0], nil
	}
	return op.view(in, op.Offset-op.of.absent)
}

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
