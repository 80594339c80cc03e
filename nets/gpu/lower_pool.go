package gpu

import (
	"fmt"

	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// average lowers the average of every channel over all pixels of a map, with which residual nets end; its input is x.
func (l *lowerer) average(op *ops.GlobalAvgPool[float32], in []value) (value, error) {
	a, y := l.averageArgs(op.Shape), l.buffer("average y", op.Shape.C)
	return mapped(l, in, l.kernel("average_pool"), (*kernels.AverageArgs).Launch, a, y,
		func(f *frame, a *kernels.AverageArgs, x, y uint64) { a.Work, a.X, a.Y = f.work, x, y })
}

// averageGrad lowers the gradient of average; its input is the gradient of y.
func (l *lowerer) averageGrad(op *ops.GlobalAvgPool[float32], in []value) (value, error) {
	s := op.Shape
	a, dx := l.averageArgs(s), l.buffer("average dx", s.H*s.W*s.C)
	return mapped(l, in, l.kernel("average_pool_backward"), (*kernels.AverageArgs).Launch, a, dx,
		func(f *frame, a *kernels.AverageArgs, gy, dx uint64) { a.Work, a.GY, a.DX = f.work, gy, dx })
}

// averageArgs returns the sizes of an average and names the layer.
func (l *lowerer) averageArgs(s cpu.AverageShape) kernels.AverageArgs {
	l.layer = "average"
	return kernels.AverageArgs{B: uint32(l.graph.B), Pixels: uint32(s.H * s.W), C: uint32(s.C)}
}

// subsample lowers the shortcut of a residual block, which keeps every Stride-th pixel; its input is x.
func (l *lowerer) subsample(op *ops.Subsample[float32], in []value) (value, error) {
	h, w := op.Shape.Out()
	a, y := l.subsampleArgs(op.Shape), l.buffer("subsample y", h*w*op.Shape.O)
	return mapped(l, in, l.kernel("subsample"), (*kernels.SubsampleArgs).Forward, a, y,
		func(f *frame, a *kernels.SubsampleArgs, x, y uint64) { a.Work, a.X, a.Y = f.work, x, y })
}

// subsampleGrad lowers the gradient of subsample; its input is the gradient of y.
func (l *lowerer) subsampleGrad(op *ops.Subsample[float32], in []value) (value, error) {
	s := op.Shape
	a, dx := l.subsampleArgs(s), l.buffer("subsample dx", s.H*s.W*s.C)
	return mapped(l, in, l.kernel("subsample_backward"), (*kernels.SubsampleArgs).Backward, a, dx,
		func(f *frame, a *kernels.SubsampleArgs, gy, dx uint64) { a.Work, a.GY, a.DX = f.work, gy, dx })
}

// subsampleArgs returns the sizes of a subsampling and names the layer.
func (l *lowerer) subsampleArgs(s cpu.SubsampleShape) kernels.SubsampleArgs {
	l.layer = fmt.Sprintf("subsample%d", s.O)
	return kernels.SubsampleArgs{
		B: uint32(l.graph.B), H: uint32(s.H), W: uint32(s.W), C: uint32(s.C), O: uint32(s.O), Stride: uint32(s.Stride),
	}
}
