package gpu

import (
	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// biasReLUArgs returns the sizes of a bias with ReLU. The maps of the graph may have borders; the maps on the device
// have none.
func (l *lowerer) biasReLUArgs(s cpu.BiasReLUShape, param int) kernels.BiasReLUArgs {
	a := kernels.BiasReLUArgs{
		BOffset: uint32(l.layout.offset[param]), B: uint32(s.B), H: uint32(s.H), W: uint32(s.W), C: uint32(s.C),
		Side: 1,
	}
	if s.Pool {
		a.Side = 2
	}
	a.Split()
	return a
}

// biasReLU lowers a bias with ReLU and, perhaps, pooling; its inputs are x and bias. With pooling it keeps the place of
// every maximum beside y, which the gradient needs.
func (l *lowerer) biasReLU(op *ops.BiasReLU[float32], in []value) (value, error) {
	if err := want(in, activations, weights); err != nil {
		return value{}, err
	}
	s, param := op.Shape, in[1].param
	a := l.biasReLUArgs(s, param)
	name := l.enter(param)
	h, w := s.Out()
	v := value{kind: activations, buf: l.buffer(name+" y", h*w*s.C)}
	x, writes := in[0].buf, buffers{v.buf}
	if s.Pool {
		v.arg = l.perSample(name+" arg", h*w*s.C, 1)
		writes = append(writes, v.arg)
	}
	queue(l, l.kernel("bias_relu"), (*kernels.BiasReLUArgs).Forward, a, func(f *frame, a *kernels.BiasReLUArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(v.buf)
		if v.arg != nil {
			a.Arg = f.at(v.arg)
		}
	}, access{buffers{x, l.weights[param]}, writes})
	return v, nil
}

// biasReLUGrad lowers the gradient of biasReLU; its inputs are bias, y and the gradient of y. The first kernel leaves
// partial sums of the gradient of the bias, which the second adds in order.
func (l *lowerer) biasReLUGrad(op *ops.BiasReLU[float32], in []value) (value, error) {
	if err := want(in, weights, activations, activations); err != nil {
		return value{}, err
	}
	s, param := op.Shape, in[0].param
	a := l.biasReLUArgs(s, param)
	name := l.enter(param)
	y, arg, gy := in[1].buf, in[1].arg, in[2].buf
	dx, partial := l.buffer(name+" dx", s.H*s.W*s.C), l.perSlot(name+" partial", int(a.Chunks)*s.C, 4)
	read := y
	if s.Pool {
		read = arg
	}
	queue(l, l.kernel("bias_relu_backward"), (*kernels.BiasReLUArgs).Backward, a,
		func(f *frame, a *kernels.BiasReLUArgs) {
			a.Work, a.GY, a.DX, a.Partial = f.work, f.at(gy), f.at(dx), f.at(partial)
			if s.Pool {
				a.Arg = f.at(arg)
			} else {
				a.Y = f.at(y)
			}
		}, access{buffers{read, gy}, buffers{dx, partial}})
	l.reduce(kernels.ConvReduceArgs{WOffset: a.BOffset, N: a.C, Chunks: a.Chunks}, partial, param)
	return l.gradients(dx, s.K*s.B*s.H*s.W*s.C, param), nil
}
