package gpu

import (
	"fmt"

	"rollcall/nets/cpu"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// mapped adds a kernel that makes y of the only input.
func mapped[A any](
	l *lowerer, in []value, kernel string, how launcher[A], a A, y *buffer, fill func(f *frame, a *A, x, y uint64),
) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	x := in[0].buf
	queue(l, kernel, how, a, func(f *frame, a *A) { fill(f, a, f.at(x), f.at(y)) }, x, y)
	return value{kind: activations, buf: y}, nil
}

// dropout is its own gradient.
func (l *lowerer) dropout(op *ops.Dropout[float32], of string, in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	x := in[0].buf
	y := l.buffer(fmt.Sprintf("dropout%d", op.Layer), x.n/l.graph.B)
	a := kernels.DropoutArgs{
		N: uint32(x.n), Layer: uint32(op.Layer), Threshold: cpu.DropThreshold(op.Rate),
		Scale: float32(1 / (1 - op.Rate)),
	}
	l.layer = l.model.Drops[op.Layer].Name + of
	queue(l, l.precise("dropout"), (*kernels.DropoutArgs).Launch, a, func(f *frame, a *kernels.DropoutArgs) {
		a.Work, a.X, a.Y, a.Step = f.work, f.at(x), f.at(y), f.step
	}, x, y)
	return value{kind: activations, buf: y}, nil
}

func (l *lowerer) add(a, b *buffer) value {
	y := l.buffer(a.name+" + "+b.name, a.n/l.graph.B)
	args := kernels.AddArgs{N: uint32(a.n)}
	l.layer = a.name
	queue(l, l.precise("add"), (*kernels.AddArgs).Launch, args, func(f *frame, args *kernels.AddArgs) {
		args.Work, args.A, args.B, args.Y = f.work, f.at(a), f.at(b), f.at(y)
	}, a, b, y)
	return value{kind: activations, buf: y}
}
