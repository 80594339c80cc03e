package gpu

import (
	"fmt"
	"slices"

	"rollcall/nets/cpu"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// normArgs are the sizes of a batch normalisation, whose four parameters follow each other. The graph's maps may have
// borders; the device's do not.
func (l *lowerer) normArgs(s cpu.NormShape, weight int) kernels.NormArgs {
	at := l.layout.offset[weight:]
	a := kernels.NormArgs{
		WOffset: uint32(at[0]), BOffset: uint32(at[1]), MeanOffset: uint32(at[2]), VarianceOffset: uint32(at[3]),
		B: uint32(s.B), Pixels: uint32(s.H * s.W), C: uint32(s.C), P: uint32(l.layout.P),
	}
	if s.ReLU {
		a.ReLU = 1
	}
	a.Split()
	return a
}

// norm takes x, what is added if anything is, weight, bias, running mean and variance, and in training the labels.
func (l *lowerer) norm(op *ops.BatchNorm[float32], in []value) (value, error) {
	kinds := []valueKind{activations, weights, weights, weights, weights}
	if op.Add {
		kinds = append([]valueKind{activations}, kinds...)
	}
	if err := want(in, kinds...); err != nil {
		return value{}, err
	}
	params := in[len(kinds)-4:]
	param := params[0].param
	for i, p := range params[:4] {
		if p.param != param+i {
			return value{}, fmt.Errorf("parameter %d goes with %d, want %d", param, p.param, param+i)
		}
	}
	s := op.Shape
	a := l.normArgs(s, param)
	name := l.of(param)
	x, y := in[0].buf, l.buffer(name+" y", s.H*s.W*s.C)
	maps := []*buffer{x, y}
	var add *buffer
	if op.Add {
		add = in[1].buf
		maps = append(maps, add)
	}
	fillMaps := func(f *frame, a *kernels.NormArgs) {
		a.Work, a.X, a.Y, a.Step, a.E = f.work, f.at(x), f.at(y), f.step, f.E
		if add != nil {
			a.Add = f.at(add)
		}
	}
	if !op.Train {
		queue(l, l.precise("norm_evaluate"), (*kernels.NormArgs).Apply, a, fillMaps, maps...)
		return value{kind: activations, buf: y}, nil
	}
	labels, partial, stats := l.labels, l.perSlot(name+" sums", a.Partials(), 8), l.perSlot(name+" statistics",
		a.Statistics(), 4)
	fill := func(f *frame, a *kernels.NormArgs) {
		fillMaps(f, a)
		a.Labels, a.Partial, a.Stats = f.at(labels), f.at(partial), f.at(stats)
	}
	queue(l, l.precise("norm_moments"), (*kernels.NormArgs).Moments, a, fill, x, labels, partial)
	queue(l, l.precise("norm_statistics"), (*kernels.NormArgs).Channels, a, fill, x, labels, partial, stats)
	queue(l, l.precise("norm_apply"), (*kernels.NormArgs).Apply, a, fill, append(maps, labels, stats)...)
	return value{kind: activations, buf: y, stats: stats}, nil
}

// normGrad takes x, weight, labels, y and the gradient of y, which may still be a sum of two.
func (l *lowerer) normGrad(op *ops.BatchNorm[float32], in []value) (value, error) {
	if err := want(in, activations, weights, nothing, activations, activations); err != nil {
		return value{}, err
	}
	param := in[1].param
	s := op.Shape
	a := l.normArgs(s, param)
	name := l.of(param)
	x, gy, gy2, stats, labels := in[0].buf, in[4].buf, in[4].plus, in[3].stats, l.labels
	dx, partial := l.buffer(name+" dx", s.H*s.W*s.C), l.perSlot(name+" sums of gradients", a.Partials(), 8)
	var y, d *buffer // where they are needed
	if op.Add && s.ReLU {
		y = in[3].buf
	}
	if op.Add || gy2 != nil {
		d = l.buffer(name+" d", s.H*s.W*s.C)
	}
	fill := func(f *frame, a *kernels.NormArgs) {
		a.Work, a.X, a.Labels, a.Partial, a.Stats = f.work, f.at(x), f.at(labels), f.at(partial), f.at(stats)
		a.GY, a.DX, a.Grad, a.Step, a.E = f.at(gy), f.at(dx), f.grad, f.step, f.E
		for _, o := range []struct {
			to *uint64
			at *buffer
		}{{&a.Y, y}, {&a.D, d}, {&a.GY2, gy2}} {
			if o.at != nil {
				*o.to = f.at(o.at)
			}
		}
	}
	queue(l, l.precise("norm_sums"), (*kernels.NormArgs).Sums, a, fill, present(x, gy, gy2, y, d, labels, stats,
		partial)...)
	queue(l, "norm_solve", (*kernels.NormArgs).Channels, a, fill, partial, stats)
	from := d
	if from == nil {
		from = gy
	}
	queue(l, l.precise("norm_input"), (*kernels.NormArgs).Input, a, fill, x, from, labels, stats, dx)

	v := l.gradients(dx, x.n, param, param+1, param+2, param+3)
	if op.Add {
		n := s.K * s.B * (s.H + 2*s.OutPad) * (s.W + 2*s.OutPad) * s.C
		add := part{value{kind: activations, buf: d}, n}
		v.parts = slices.Insert(v.parts, 1, add)
	}
	return v, nil
}

// present leaves out the buffers that are nil.
func present(all ...*buffer) (some []*buffer) {
	for _, b := range all {
		if b != nil {
			some = append(some, b)
		}
	}
	return some
}

func (l *lowerer) averageArgs(s cpu.AverageShape) kernels.AverageArgs {
	l.layer = "average"
	return kernels.AverageArgs{B: uint32(l.graph.B), Pixels: uint32(s.H * s.W), C: uint32(s.C)}
}

func (l *lowerer) average(op *ops.GlobalAvgPool[float32], in []value) (value, error) {
	a, y := l.averageArgs(op.Shape), l.buffer("average y", op.Shape.C)
	return mapped(l, in, l.precise("average_pool"), (*kernels.AverageArgs).Launch, a, y,
		func(f *frame, a *kernels.AverageArgs, x, y uint64) { a.Work, a.X, a.Y = f.work, x, y })
}

func (l *lowerer) averageGrad(op *ops.GlobalAvgPool[float32], in []value) (value, error) {
	s := op.Shape
	a, dx := l.averageArgs(s), l.buffer("average dx", s.H*s.W*s.C)
	return mapped(l, in, l.precise("average_pool_backward"), (*kernels.AverageArgs).Launch, a, dx,
		func(f *frame, a *kernels.AverageArgs, gy, dx uint64) { a.Work, a.GY, a.DX = f.work, gy, dx })
}

func (l *lowerer) subsampleArgs(s cpu.SubsampleShape) kernels.SubsampleArgs {
	l.layer = fmt.Sprintf("subsample%d", s.O)
	return kernels.SubsampleArgs{
		B: uint32(l.graph.B), H: uint32(s.H), W: uint32(s.W), C: uint32(s.C), O: uint32(s.O),
		Stride: uint32(s.Stride),
	}
}

func (l *lowerer) subsample(op *ops.Subsample[float32], in []value) (value, error) {
	h, w := op.Shape.Out()
	a, y := l.subsampleArgs(op.Shape), l.buffer("subsample y", h*w*op.Shape.O)
	return mapped(l, in, l.precise("subsample"), (*kernels.SubsampleArgs).Forward, a, y,
		func(f *frame, a *kernels.SubsampleArgs, x, y uint64) { a.Work, a.X, a.Y = f.work, x, y })
}

func (l *lowerer) subsampleGrad(op *ops.Subsample[float32], in []value) (value, error) {
	s := op.Shape
	a, dx := l.subsampleArgs(s), l.buffer("subsample dx", s.H*s.W*s.C)
	return mapped(l, in, l.precise("subsample_backward"), (*kernels.SubsampleArgs).Backward, a, dx,
		func(f *frame, a *kernels.SubsampleArgs, gy, dx uint64) { a.Work, a.GY, a.DX = f.work, gy, dx })
}
