package gpu

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// mapped queues a kernel that computes y from its only input, and returns y. fill completes the arguments, given the
// addresses of the input and of y.
func mapped[A any](
	l *lowerer, in []value, kernel string, plan launcher[A], a A, y *buffer, fill func(f *frame, a *A, x, y uint64),
) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	x := in[0].buf
	queue(l, kernel, plan, a, func(f *frame, a *A) { fill(f, a, f.at(x), f.at(y)) },
		access{buffers{x}, buffers{y}})
	return value{kind: activations, buf: y}, nil
}

// dropout lowers a dropout, or its gradient, which is the same kernel on the gradient. The input is x; suffix is added
// to the name of the layer.
func (l *lowerer) dropout(op *ops.Dropout[float32], suffix string, in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	x := in[0].buf
	y := l.buffer(fmt.Sprintf("dropout%d", op.Layer), x.n/l.graph.B)
	a := kernels.DropoutArgs{
		N: uint32(x.n), Layer: uint32(op.Layer),
		Threshold: cpu.DropThreshold(op.Rate), Scale: float32(1 / (1 - op.Rate)),
	}
	l.layer = l.model.Drops[op.Layer].Name + suffix
	queue(l, l.kernel("dropout"), (*kernels.DropoutArgs).Launch, a, func(f *frame, a *kernels.DropoutArgs) {
		a.Work, a.X, a.Y, a.Step = f.work, f.at(x), f.at(y), f.step
	}, access{buffers{x}, buffers{y}})
	return value{kind: activations, buf: y}, nil
}

// add queues the sum of two buffers of the same size. It is wanted where Gorgonia has added the gradients of a value
// that is used twice, and the next kernel cannot add by itself.
func (l *lowerer) add(a, b *buffer) value {
	y := l.buffer(a.name+" + "+b.name, a.n/l.graph.B)
	args := kernels.AddArgs{N: uint32(a.n)}
	l.layer = a.name
	queue(l, l.kernel("add"), (*kernels.AddArgs).Launch, args, func(f *frame, args *kernels.AddArgs) {
		args.Work, args.A, args.B, args.Y = f.work, f.at(a), f.at(b), f.at(y)
	}, access{buffers{a, b}, buffers{y}})
	return value{kind: activations, buf: y}
}

// reluGrad queues the gradient of a layer's ReLU, from y and the gradient of y, and returns the gradient in front of
// it.
func (l *lowerer) reluGrad(layer string, y, gy *buffer) *buffer {
	d := l.buffer(layer+" d", y.n/l.graph.B)
	a := kernels.ReLUArgs{N: uint32(y.n)}
	queue(l, l.kernel("relu_backward"), (*kernels.ReLUArgs).Launch, a, func(f *frame, a *kernels.ReLUArgs) {
		a.Work, a.Y, a.GY, a.D = f.work, f.at(y), f.at(gy), f.at(d)
	}, access{buffers{y, gy}, buffers{d}})
	return d
}

// readByLogOdds reports whether a log-odds op reads a node. It makes logits of the node, and wants them in float32 in
// every precision.
func readByLogOdds(n *G.Node) bool {
	for it := n.Graph().To(n.ID()); it.Next(); {
		if _, ok := it.Node().(*G.Node).Op().(*ops.LogOdds[float32]); ok {
			return true
		}
	}
	return false
}

// logOdds lowers the logits (0, x) of two classes; its input is x, the log of the odds of the second class.
func (l *lowerer) logOdds(in []value) (value, error) {
	l.layer = "odds"
	a, y := kernels.LogOddsArgs{N: uint32(l.graph.B)}, l.perSample("log odds", 2, 4)
	return mapped(l, in, "log_odds", (*kernels.LogOddsArgs).Forward, a, y,
		func(f *frame, a *kernels.LogOddsArgs, x, y uint64) { a.Work, a.X, a.Y = f.work, x, y })
}

// logOddsGrad lowers the gradient of logOdds; its input is the gradient of the logits.
func (l *lowerer) logOddsGrad(in []value) (value, error) {
	l.layer = "odds"
	a, dx := kernels.LogOddsArgs{N: uint32(l.graph.B)}, l.buffer("log odds dx", 1)
	return mapped(l, in, l.kernel("log_odds_backward"), (*kernels.LogOddsArgs).Backward, a, dx,
		func(f *frame, a *kernels.LogOddsArgs, gy, dx uint64) { a.Work, a.GY, a.DX = f.work, gy, dx })
}
