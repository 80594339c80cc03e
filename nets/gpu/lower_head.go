package gpu

import (
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"

	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
	"rollcall/nets/ops"
)

// head is the end of a net in training that one launch computes, in place of nine small ones: the fully connected
// layers of the hidden features and of the logits, the loss, and the gradients of all of them.
type head struct {
	hidden, logits *G.Node
	x              *buffer // the output of the layer in front, which ends with a ReLU
	param          int     // the weight of hidden; its bias, and weight and bias of logits follow
	args           kernels.HeadArgs
}

// newHead returns the head of a graph for training. It is nil if the graph does not end with three fully connected
// layers, of which two have a ReLU, or if the kernel does not take the sizes of the last two.
func newHead(g *models.Graph) *head {
	h := &head{logits: g.Logits}
	last, ok := linearOf(h.logits)
	if !ok || last.Shape.ReLU || !last.InputGrad {
		return nil
	}
	h.hidden = ops.Inputs(h.logits)[0]
	first, ok := linearOf(h.hidden)
	if !ok || !first.Shape.ReLU || !first.InputGrad {
		return nil
	}
	if front, ok := linearOf(ops.Inputs(h.hidden)[0]); !ok || !front.Shape.ReLU {
		return nil
	}
	s := first.Shape
	h.args = kernels.HeadArgs{B: uint32(s.B), I: uint32(s.I), J: uint32(s.O), O: uint32(last.Shape.O)}
	if !h.args.Fits() {
		return nil
	}
	return h
}

// linearOf returns the op of a node if the node is a fully connected layer.
func linearOf(n *G.Node) (op *ops.Linear[float32], ok bool) {
	op, ok = n.Op().(*ops.Linear[float32])
	return op, ok
}

// has reports whether a node is one of the layers of the head. There may be no head.
func (h *head) has(n *G.Node) bool { return h != nil && (n == h.hidden || n == h.logits) }

// headLayer lowers a layer of the head, whose output stays in the kernel; its inputs are x, w and bias.
func (l *lowerer) headLayer(n *G.Node, in []value) (value, error) {
	h, v := l.head, value{kind: inHead}
	if n == h.hidden {
		h.x, h.param = in[0].buf, in[1].param
		return v, weighted(in)
	}
	if err := want(in, inHead, weights, weights); err != nil {
		return v, err
	}
	if w, b := in[1].param, in[2].param; w != h.param+2 || b != h.param+3 {
		return v, fmt.Errorf("weight %d and bias %d behind weight %d, want %d, %d", w, b, h.param, h.param+2, h.param+3)
	}
	return v, nil
}

// headLoss queues the kernel, at the gradient of the loss, and makes its gradient of x the one that headGrad returns.
// The inputs are logits, labels, loss and the gradient of the loss.
func (l *lowerer) headLoss(in []value) (value, error) {
	if err := want(in, inHead, nothing, nothing, one); err != nil {
		return value{}, err
	}
	h, labels := l.head, l.labels
	x, param := h.x, h.param
	dx := l.buffer(l.enter(param)+" dx", int(h.args.I))
	a := h.args
	a.P = uint32(l.layout.P)
	a.W1Offset, a.B1Offset = l.offsets(param)
	a.W2Offset, a.B2Offset = l.offsets(param + 2)
	use := l.takes(append(buffers{x, labels}, l.weights[param:param+4]...), param, param+1, param+2, param+3)
	use.writes = append(use.writes, dx)
	queue(l, l.kernel("head"), (*kernels.HeadArgs).Launch, a, func(f *frame, a *kernels.HeadArgs) {
		a.Work, a.X, a.Labels, a.DX, a.Loss, a.Grad = f.work, f.at(x), f.at(labels), f.at(dx), f.loss, l.sink(f)
		a.Step, a.E, a.Capacity = f.step, f.E, uint32(f.capacity)
	}, use)
	return value{kind: inHead, buf: dx}, nil
}

// headGrad lowers the gradient of a layer of the head, which the kernel has computed; its inputs are x, w, y and the
// gradient of y. The gradient of the head's input is there from headLoss on, and the ReLU in front has been applied.
func (l *lowerer) headGrad(op *ops.Linear[float32], in []value) (value, error) {
	if err := want(in[1:], weights, inHead, inHead); err != nil {
		return value{}, err
	}
	dx := in[3]
	if in[1].param == l.head.param {
		dx = value{kind: activations, buf: dx.buf, gated: true}
	}
	v := l.gradients(nil, 0, in[1].param, in[1].param+1)
	v.parts = slices.Insert(v.parts, 0, part{dx, op.Shape.K * op.Shape.B * op.Shape.I})
	return v, nil
}
