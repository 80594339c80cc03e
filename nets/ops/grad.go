package ops

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu"
)

// layer is an op that has a gradient. What its gradient reads and returns is said at its Backward.
type layer[T cpu.Float] interface {
	G.SDOp
	Backward(g *Grad[T], in []G.Value) error // fills in the output of g
}

// Grad is the gradient of a layer, of which it takes whatever the forward pass has left there.
type Grad[T cpu.Float] struct {
	base[T]
	Forward layer[T]
}

// Do implements [G.Op].
func (op *Grad[T]) Do(in ...G.Value) (G.Value, error) {
	op.output()
	if err := op.Forward.Backward(op, in); err != nil {
		return nil, err
	}
	return op.out, nil
}

// gradient applies the gradient of a layer to what it reads. A layer's own output is among that where the gradient must
// run after the forward pass.
func gradient[T cpu.Float](of layer[T], shape tensor.Shape, reads ...*G.Node) (*G.Node, error) {
	return G.ApplyOp(&Grad[T]{newBase[T](nil, "grad "+of.String(), shape, reads...), of}, reads...)
}

// gradients applies the gradient of a layer with weights, whose output is one vector, and views that as the gradients
// of the layer's inputs: of the first only if inputGrad.
func gradients[T cpu.Float](of layer[T], inputs G.Nodes, inputGrad bool, reads ...*G.Node) (G.Nodes, error) {
	total := 0
	for i, n := range inputs {
		if i > 0 || inputGrad {
			total += n.Shape().TotalSize()
		}
	}
	all, err := gradient(of, tensor.Shape{total}, reads...)
	if err != nil {
		return nil, err
	}
	grads := make(G.Nodes, len(inputs))
	offset := 0
	for i, n := range inputs {
		if i == 0 && !inputGrad {
			continue
		}
		if grads[i], err = take[T](all, offset, n.Shape()); err != nil {
			return nil, err
		}
		offset += n.Shape().TotalSize()
	}
	return grads, nil
}

// split cuts the vector of a gradient in dx (nil if it was not asked for), dw and db.
func split[T cpu.Float](all []T, nx, nw int, inputGrad bool) (dx, dw, db []T) {
	if inputGrad {
		dx, all = all[:nx], all[nx:]
	}
	return dx, all[:nw], all[nw:]
}
