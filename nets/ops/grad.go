package ops

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

// layer is an op that has a gradient. The comment of each Backward says what it reads and what it computes.
type layer[T kernels.Float] interface {
	G.SDOp
	Backward(g *Grad[T], in []G.Value) error // fills the output of g
}

// Grad is the gradient of one layer. It calls Backward of that layer, which can so use what the layer has kept from its
// forward pass: a mask, the position of maxima, the statistics of a batch.
type Grad[T kernels.Float] struct {
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

// gradient applies the gradient of a layer to the nodes it reads. The output of the layer must be among them if the
// gradient uses what the layer has kept: only then does Gorgonia run it after the layer.
func gradient[T kernels.Float](of layer[T], shape tensor.Shape, reads ...*G.Node) (*G.Node, error) {
	return G.ApplyOp(&Grad[T]{newBase[T](nil, "grad "+of.String(), nil, shape, reads...), of}, reads...)
}

// gradients applies the gradient of a layer with weights, whose output is one vector, and returns views of its parts:
// one per input of the layer, in order. The first input, x, has a part only if inputGrad; the first network layer needs
// none.
func gradients[T kernels.Float](of layer[T], inputs G.Nodes, inputGrad bool, reads ...*G.Node) (G.Nodes, error) {
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
		if grads[i], err = take[T](all, offset, n.Shape(), i); err != nil {
			return nil, err
		}
		offset += n.Shape().TotalSize()
	}
	return grads, nil
}

// InputGradient returns the layer with weights of whose first input n is the gradient, or nil.
func InputGradient[T kernels.Float](n *G.Node) G.Op {
	if take, ok := n.Op().(*Take[T]); ok && take.input == 0 {
		return take.of.Forward
	}
	return nil
}

// split cuts the vector of a gradient into dx [nx], dw [nw] and db, the rest. dx is nil unless inputGrad.
func split[T kernels.Float](all []T, nx, nw int, inputGrad bool) (dx, dw, db []T) {
	if inputGrad {
		dx, all = all[:nx], all[nx:]
	}
	return dx, all[:nw], all[nw:]
}
