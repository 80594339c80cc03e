package gpu

import (
	"fmt"

	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// conv2DArgs returns the sizes of a convolution without bias. The maps of the graph have borders; the maps on the
// device have none.
func (l *lowerer) conv2DArgs(s cpu.Conv2DShape, param int) (kernels.Conv2DArgs, error) {
	a := kernels.Conv2DArgs{
		WOffset: uint32(l.layout.offset[param]), B: uint32(s.B),
		H: uint32(s.H - 2*s.Border), W: uint32(s.W - 2*s.Border), C: uint32(s.C),
		R: uint32(s.R), S: uint32(s.S), O: uint32(s.O), U: uint32(s.Stride), Pad: uint32(s.Pad),
	}
	if !a.Fits() {
		return a, fmt.Errorf("%d×%d over %d maps %d×%d of %d channels to %d: more elements than a kernel counts",
			s.R, s.S, s.B, a.H, a.W, s.C, s.O)
	}
	a.Images = a.ChunkImages(l.precision)
	return a, nil
}

// conv2D lowers a convolution without bias; its inputs are x and w. A batch normalisation follows it in all our nets,
// so it has neither bias nor ReLU.
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
