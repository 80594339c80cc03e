package gpu

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"rollcall/nets/cpu"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// weighted checks the inputs x, w, bias of a layer.
func weighted(in []value) error {
	if err := want(in, activations, weights, weights); err != nil {
		return err
	}
	if in[2].param != in[1].param+1 {
		return fmt.Errorf("weight %d goes with bias %d, want %d", in[1].param, in[2].param, in[1].param+1)
	}
	return nil
}

func (l *lowerer) linearArgs(s cpu.LinearShape, param int) kernels.LinearArgs {
	a := kernels.LinearArgs{B: uint32(s.B), I: uint32(s.I), O: uint32(s.O), P: uint32(l.layout.P)}
	a.WOffset, a.BOffset = l.offsets(param)
	if s.ReLU {
		a.ReLU = 1
	}
	return a
}

func (l *lowerer) linear(op *ops.Linear[float32], in []value, logits bool) (value, error) {
	if err := weighted(in); err != nil {
		return value{}, err
	}
	a := l.linearArgs(op.Shape, in[1].param)
	name := l.of(in[1].param)
	x, y := in[0].buf, l.buffer(name+" y", op.Shape.O)
	if logits {
		a.YFloat, y.size = 1, 4
	}
	queue(l, l.precise("linear_forward"), (*kernels.LinearArgs).Forward, a, func(f *frame, a *kernels.LinearArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(y)
	}, x, y)
	return value{kind: activations, buf: y}, nil
}

// linearGrad takes x, w, y and the gradient of y.
func (l *lowerer) linearGrad(op *ops.Linear[float32], in []value) (value, error) {
	if err := want(in, activations, weights, activations, activations); err != nil {
		return value{}, err
	}
	param := in[1].param
	s := op.Shape
	a := l.linearArgs(s, param)
	name := l.of(param)
	x, y, gy := in[0].buf, in[2].buf, in[3].buf
	if s.ReLU {
		d := l.buffer(name+" d", s.O)
		r := kernels.ReLUArgs{N: uint32(s.B * s.O)}
		from := gy
		queue(l, l.precise("relu_backward"), (*kernels.ReLUArgs).Launch, r, func(f *frame, r *kernels.ReLUArgs) {
			r.Work, r.Y, r.GY, r.D = f.work, f.at(y), f.at(from), f.at(d)
		}, y, from, d)
		gy = d
	}
	var dx *buffer
	if op.InputGrad {
		dx = l.buffer(name+" dx", s.I)
		queue(l, l.precise("linear_backward_data"), (*kernels.LinearArgs).BackwardData, a,
			func(f *frame, a *kernels.LinearArgs) {
				a.Work, a.GY, a.DX = f.work, f.at(gy), f.at(dx)
			}, gy, dx)
	}
	queue(l, l.precise("linear_backward_filter"), (*kernels.LinearArgs).BackwardFilter, a,
		func(f *frame, a *kernels.LinearArgs) {
			a.Work, a.X, a.GY, a.Grad = f.work, f.at(x), f.at(gy), f.grad
		}, x, gy)
	return l.gradients(dx, s.K*s.B*s.I, param, param+1), nil
}

// odds reports whether a node is read by an op that makes logits of it, which wants it in float32.
func (l *lowerer) odds(n *G.Node) bool {
	for it := n.Graph().To(n.ID()); it.Next(); {
		if _, ok := it.Node().(*G.Node).Op().(*ops.LogOdds[float32]); ok {
			return true
		}
	}
	return false
}

func (l *lowerer) logOdds(in []value) (value, error) {
	l.layer = "odds"
	a, y := kernels.LogOddsArgs{N: uint32(l.graph.B)}, l.sized("log odds", 2, 4)
	return mapped(l, in, "log_odds", (*kernels.LogOddsArgs).Forward, a, y,
		func(f *frame, a *kernels.LogOddsArgs, x, y uint64) { a.Work, a.X, a.Y = f.work, x, y })
}

func (l *lowerer) logOddsGrad(in []value) (value, error) {
	l.layer = "odds"
	a, dx := kernels.LogOddsArgs{N: uint32(l.graph.B)}, l.buffer("log odds dx", 1)
	return mapped(l, in, l.precise("log_odds_backward"), (*kernels.LogOddsArgs).Backward, a, dx,
		func(f *frame, a *kernels.LogOddsArgs, gy, dx uint64) { a.Work, a.GY, a.DX = f.work, gy, dx })
}
