package gpu

import (
	"fmt"

	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// convArgs returns the sizes of a convolution with bias, ReLU and pooling, whose input is x. The maps of the graph
// have borders; the maps on the device have none.
func (l *lowerer) convArgs(s cpu.ConvShape, x *buffer, param int) (kernels.ConvArgs, error) {
	a := kernels.ConvArgs{
		B: uint32(s.B), H: uint32(s.H - 2*s.Pad), W: uint32(s.W - 2*s.Pad), C: uint32(s.C),
		R: uint32(s.R), S: uint32(s.S), O: uint32(s.O), Pad: uint32(s.Pad),
	}
	a.Pixel = uint32(x.n) / (a.B * a.H * a.W)
	a.WOffset, a.BOffset = l.offsets(param)
	a.Images = a.ChunkImages()
	if !a.Fits(l.precision) {
		return a, fmt.Errorf("%d×%d over %d channels to %d takes more shared memory than a multiprocessor has",
			s.R, s.S, s.C, s.O)
	}
	return a, nil
}

// conv lowers a convolution with bias, ReLU and pooling; its inputs are x, w and bias. Beside y it keeps the place of
// every maximum, which the gradient needs.
func (l *lowerer) conv(op *ops.ConvReLUPool[float32], in []value) (value, error) {
	if err := weighted(in); err != nil {
		return value{}, err
	}
	h, w := op.Shape.Conv()
	n := h / 2 * (w / 2) * op.Shape.O // elements of y: a window is 2×2 pixels
	param := in[1].param
	a, err := l.convArgs(op.Shape, in[0].buf, param)
	if err != nil {
		return value{}, err
	}
	name := l.enter(param)
	x, y, arg := in[0].buf, l.buffer(name+" y", n), l.perSample(name+" arg", n, 1)
	queueBySlots(l, l.kernel(a.ForwardKernel(l.precision)), (*kernels.ConvArgs).Forward, a,
		func(f *frame, a *kernels.ConvArgs) {
			a.Work, a.X, a.Y, a.Arg = f.work, f.at(x), f.at(y), f.at(arg)
		}, access{append(buffers{x}, l.weights[param:param+2]...), buffers{y, arg}})
	return value{kind: activations, buf: y, arg: arg}, nil
}

// convGrad lowers the gradient of conv; its inputs are x, w, y and the gradient of y.
//
// The gradient of x comes first, since it reads w, which the gradient of w may update. It is computed only if a layer
// in front wants it: the first layer of a net has none. The gradient of w and bias takes two kernels. The first leaves
// a partial sum for every chunk of images, so that there are blocks enough; the second adds these in order, so that the
// result does not depend on which block ends first.
func (l *lowerer) convGrad(op *ops.ConvReLUPool[float32], in []value) (value, error) {
	if err := want(in, activations, weights, activations, activations); err != nil {
		return value{}, err
	}
	s, param := op.Shape, in[1].param
	a, err := l.convArgs(s, in[0].buf, param)
	if err != nil {
		return value{}, err
	}
	name := l.enter(param)
	x, arg, gy := in[0].buf, in[2].arg, in[3].buf
	var dx *buffer
	if op.InputGrad {
		dx = l.buffer(name+" dx", int(a.H*a.W*a.C))
		queueBySlots(l, l.kernel(a.BackwardDataKernel(l.precision)), (*kernels.ConvArgs).BackwardData, a,
			func(f *frame, a *kernels.ConvArgs) {
				a.Work, a.Arg, a.GY, a.DX = f.work, f.at(arg), f.at(gy), f.at(dx)
			}, access{buffers{arg, gy, l.weights[param]}, buffers{dx}})
	}
	chunks := (a.B + a.Images - 1) / a.Images // each a partial sum
	n := a.R * a.S * a.C * a.O
	partial := l.perSlot(name+" partial", int(chunks)*int(n+a.O), 4)
	queue(l, l.kernel(a.FilterKernel(l.precision)), (*kernels.ConvArgs).BackwardFilter, a,
		func(f *frame, a *kernels.ConvArgs) {
			a.Work, a.X, a.Arg, a.GY, a.Partial = f.work, f.at(x), f.at(arg), f.at(gy), f.at(partial)
		}, access{buffers{x, arg, gy}, buffers{partial}})
	reduce := kernels.ConvReduceArgs{WOffset: a.WOffset, BOffset: a.BOffset, N: n, O: a.O, Chunks: chunks}
	l.reduce(reduce, partial, param, param+1)
	return l.gradients(dx, s.K*s.B*s.H*s.W*s.C, param, param+1), nil
}

// reduce queues the sum of a convolution's partial sums of dw and db, which goes to the sink of the parameters. Where
// there are sums of one parameter alone, O is 0.
func (l *lowerer) reduce(r kernels.ConvReduceArgs, partial *buffer, params ...int) {
	r.P = uint32(l.layout.P)
	queue(l, "conv_reduce", (*kernels.ConvReduceArgs).Launch, r,
		func(f *frame, r *kernels.ConvReduceArgs) {
			r.Work, r.Partial, r.Grad, r.Step, r.E = f.work, f.at(partial), l.sink(f), f.step, f.E
		}, l.takes(buffers{partial}, params...))
}

// conv2DArgs returns the sizes of a convolution without bias. The maps of the graph have borders; the maps on the
// device have none.
func (l *lowerer) conv2DArgs(s cpu.Conv2DShape, param int) (kernels.Conv2DArgs, error) {
	a := kernels.Conv2DArgs{
		WOffset: uint32(l.layout.offset[param]), B: uint32(s.B),
		H: uint32(s.H - 2*s.Border), W: uint32(s.W - 2*s.Border), C: uint32(s.C),
		R: uint32(s.R), S: uint32(s.S), O: uint32(s.O), U: uint32(s.Stride), Pad: uint32(s.Pad),
	}
	if !a.Fits() {
		return a, fmt.Errorf("%s, %d×%d over %d maps %d×%d of %d channels to %d: more elements than a kernel counts, "+
			"want a smaller batch", l.enter(param), s.R, s.S, s.B, a.H, a.W, s.C, s.O)
	}
	a.Images = a.ChunkImages(l.precision)
	return a, nil
}

// conv2D lowers a convolution without bias; its inputs are x and w. What follows it, a batch normalisation or
// [ops.BiasReLU], has the bias and the ReLU.
func (l *lowerer) conv2D(op *ops.Conv2D[float32], in []value) (value, error) {
	if err := want(in, activations, weights); err != nil {
		return value{}, err
	}
	a, err := l.conv2DArgs(op.Shape, in[1].param)
	if err != nil {
		return value{}, err
	}
	rows, columns := a.Out()
	param := in[1].param
	x, y := in[0].buf, l.buffer(l.enter(param)+" y", int(rows*columns*a.O))
	queue(l, l.kernel("conv2d_forward"), (*kernels.Conv2DArgs).Forward, a, func(f *frame, a *kernels.Conv2DArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(y)
	}, access{buffers{x, l.weights[param]}, buffers{y}})
	return value{kind: activations, buf: y}, nil
}

// conv2DGrad lowers the gradient of conv2D; its inputs are x, w and the gradient of y. The gradient of x comes first,
// since it reads w, which the gradient of w may update. It is computed only if a layer in front wants it.
func (l *lowerer) conv2DGrad(op *ops.Conv2D[float32], in []value) (value, error) {
	if err := want(in, activations, weights, activations); err != nil {
		return value{}, err
	}
	s, param := op.Shape, in[1].param
	a, err := l.conv2DArgs(s, param)
	if err != nil {
		return value{}, err
	}
	name := l.enter(param)
	x, gy := in[0].buf, in[2].buf
	var dx *buffer
	if op.InputGrad {
		dx = l.buffer(name+" dx", int(a.H*a.W*a.C))
		queue(l, l.kernel("conv2d_backward_data"), (*kernels.Conv2DArgs).BackwardData, a,
			func(f *frame, a *kernels.Conv2DArgs) {
				a.Work, a.GY, a.DX = f.work, f.at(gy), f.at(dx)
			}, access{buffers{gy, l.weights[param]}, buffers{dx}})
	}
	l.conv2DFilter(a, param, x, gy)
	return l.gradients(dx, s.K*s.B*s.H*s.W*s.C, param), nil
}

// conv2DFilter queues the gradient of w. With one chunk of images it goes to its sink at once; with several it takes
// the way of partial sums.
func (l *lowerer) conv2DFilter(a kernels.Conv2DArgs, param int, x, gy *buffer) {
	chunks, n := (a.B+a.Images-1)/a.Images, a.R*a.S*a.C*a.O
	a.DWStride = chunks * n
	var partial *buffer
	use := l.takes(buffers{x, gy}, param)
	if chunks == 1 {
		a.DWStride = uint32(l.layout.P)
	} else {
		partial = l.perSlot(l.weights[param].name+" partial", int(a.DWStride), 4)
		use = access{buffers{x, gy}, buffers{partial}}
	}
	queue(l, l.kernel("conv2d_backward_filter"), (*kernels.Conv2DArgs).BackwardFilter, a,
		func(f *frame, a *kernels.Conv2DArgs) {
			a.Work, a.X, a.GY, a.Step, a.E = f.work, f.at(x), f.at(gy), f.step, f.E
			if partial != nil {
				a.DW = f.at(partial)
			} else if l.clip {
				a.DW = f.grad + 4*uint64(a.WOffset)
			}
		}, use)
	if partial != nil {
		l.reduce(kernels.ConvReduceArgs{WOffset: a.WOffset, N: n, Chunks: chunks}, partial, param)
	}
}
