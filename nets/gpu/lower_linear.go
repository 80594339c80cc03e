package gpu

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// weighted checks the inputs of a layer with weights and bias, x, w and bias: the bias must be the parameter behind w.
func weighted(in []value) error {
	if err := want(in, activations, weights, weights); err != nil {
		return err
	}
	if in[2].param != in[1].param+1 {
		return fmt.Errorf("weight %d goes with bias %d, want %d", in[1].param, in[2].param, in[1].param+1)
	}
	return nil
}

// linearArgs returns the sizes of a fully connected layer whose weight is a parameter and whose bias is the next.
func (l *lowerer) linearArgs(s cpu.LinearShape, param int) kernels.LinearArgs {
	a := kernels.LinearArgs{B: uint32(s.B), I: uint32(s.I), O: uint32(s.O), P: uint32(l.layout.P)}
	a.WOffset, a.BOffset = l.offsets(param)
	if s.ReLU {
		a.ReLU = 1
	}
	a.Parts = a.ForwardParts(l.precision)
	return a
}

// linear lowers a node that is a fully connected layer; its inputs are x, w and bias. It keeps y in float32, in every
// precision, if a kernel reads y as logits.
func (l *lowerer) linear(op *ops.Linear[float32], n *G.Node, in []value) (value, error) {
	if l.head.has(n) {
		return l.headLayer(n, in)
	}
	if err := weighted(in); err != nil {
		return value{}, err
	}
	a := l.linearArgs(op.Shape, in[1].param)
	param := in[1].param
	name := l.enter(param)
	x, y := in[0].buf, l.buffer(name+" y", op.Shape.O)
	if n == l.graph.Logits || readByLogOdds(n) {
		a.YFloat, y.size = 1, 4
	}
	if a.Parts > 1 {
		l.linearParts(a, param, x, y)
		return value{kind: activations, buf: y}, nil
	}
	queue(l, l.kernel("linear_forward"), (*kernels.LinearArgs).Forward, a, func(f *frame, a *kernels.LinearArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(y)
	}, access{append(buffers{x}, l.weights[param:param+2]...), buffers{y}})
	return value{kind: activations, buf: y}, nil
}

// linearParts queues a layer whose sum over the inputs is cut into parts, which a second kernel adds in order.
func (l *lowerer) linearParts(a kernels.LinearArgs, param int, x, y *buffer) {
	partial := l.perSlot(l.weights[param].name+" forward partial", int(a.Parts*a.B*a.O), 4)
	queue(l, l.kernel("linear_forward"), (*kernels.LinearArgs).Forward, a, func(f *frame, a *kernels.LinearArgs) {
		a.Work, a.X, a.Partial = f.work, f.at(x), f.at(partial)
	}, access{buffers{x, l.weights[param]}, buffers{partial}})
	queue(l, l.kernel("linear_reduce"), (*kernels.LinearArgs).Reduce, a, func(f *frame, a *kernels.LinearArgs) {
		a.Work, a.Partial, a.Y = f.work, f.at(partial), f.at(y)
	}, access{buffers{partial, l.weights[param+1]}, buffers{y}})
}

// linearGrad lowers the gradient of linear; its inputs are x, w, y and the gradient of y. With ReLU, the gradient in
// front of it comes first, since both products read it, unless it is the gradient given. The gradient of x comes next:
// it reads w, which the gradients of w and bias may update. These go to their sink at once: a batch is short enough for
// a block to add it up.
func (l *lowerer) linearGrad(op *ops.Linear[float32], in []value) (value, error) {
	if in[3].kind == inHead {
		return l.headGrad(op, in)
	}
	if err := want(in, activations, weights, activations, activations); err != nil {
		return value{}, err
	}
	param := in[1].param
	s := op.Shape
	a := l.linearArgs(s, param)
	name := l.enter(param)
	x, y, gy := in[0].buf, in[2].buf, in[3].buf
	if s.ReLU && !in[3].gated {
		gy = l.reluGrad(name, y, gy)
	}
	var dx *buffer
	if op.InputGrad {
		dx = l.buffer(name+" dx", s.I)
		queue(l, l.kernel("linear_backward_data"), (*kernels.LinearArgs).BackwardData, a,
			func(f *frame, a *kernels.LinearArgs) {
				a.Work, a.GY, a.DX = f.work, f.at(gy), f.at(dx)
			}, access{buffers{gy, l.weights[param]}, buffers{dx}})
	}
	queue(l, l.kernel("linear_backward_filter"), (*kernels.LinearArgs).BackwardFilter, a,
		func(f *frame, a *kernels.LinearArgs) {
			a.Work, a.X, a.GY, a.Grad, a.Step, a.E = f.work, f.at(x), f.at(gy), l.sink(f), f.step, f.E
		}, l.takes(buffers{x, gy}, param, param+1))
	return l.gradients(dx, s.K*s.B*s.I, param, param+1), nil
}
