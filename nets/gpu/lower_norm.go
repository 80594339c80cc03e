package gpu

import (
	"fmt"

	"rollcall/nets/cpu"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// normArgs are the sizes of a batch normalisation, whose four parameters follow each other. The graph's maps may have borders;
// the device's do not.
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
		queue(l, "norm_evaluate", (*kernels.NormArgs).Apply, a, fillMaps, maps...)
		return value{kind: activations, buf: y}, nil
	}
	labels, partial, stats := l.labels, l.perSlot(name+" sums", a.Partials(), 8), l.perSlot(name+" statistics", a.Statistics(), 4)
	fill := func(f *frame, a *kernels.NormArgs) {
		fillMaps(f, a)
		a.Labels, a.Partial, a.Stats = f.at(labels), f.at(partial), f.at(stats)
	}
	queue(l, "norm_moments", (*kernels.NormArgs).Moments, a, fill, x, labels, partial)
	queue(l, "norm_statistics", (*kernels.NormArgs).Channels, a, fill, x, labels, partial, stats)
	queue(l, "norm_apply", (*kernels.NormArgs).Apply, a, fill, append(maps, labels, stats)...)
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
	queue(l, "norm_sums", (*kernels.NormArgs).Sums, a, fill, present(x, gy, gy2, y, d, labels, stats, partial)...)
	queuePlain(l, "norm_solve", (*kernels.NormArgs).Channels, a, fill, partial, stats)
	from := d
	if from == nil {
		from = gy
	}
	queue(l, "norm_input", (*kernels.NormArgs).Input, a, fill, x, from, labels, stats, dx)

	v := l.gradients(dx, x.n, param, param+1, param+2, param+3)
	if op.Add {
		border := s.OutPad
		add := part{value{kind: activations, buf: d}, s.K * s.B * (s.H + 2*border) * (s.W + 2*border) * s.C}
		v.parts = append(v.parts[:1:1], append([]part{add}, v.parts[1:]...)...)
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
	return kernels.AverageArgs{B: uint32(l.graph.B), Pixels: uint32(s.H * s.W), C: uint32(s.C)}
}

func (l *lowerer) average(op *ops.GlobalAvgPool[float32], in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	a := l.averageArgs(op.Shape)
	x, y := in[0].buf, l.buffer("average y", op.Shape.C)
	l.layer = "average"
	queue(l, "average_pool", (*kernels.AverageArgs).Launch, a, func(f *frame, a *kernels.AverageArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(y)
	}, x, y)
	return value{kind: activations, buf: y}, nil
}

func (l *lowerer) averageGrad(op *ops.GlobalAvgPool[float32], in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	s := op.Shape
	a := l.averageArgs(s)
	gy, dx := in[0].buf, l.buffer("average dx", s.H*s.W*s.C)
	l.layer = "average"
	queue(l, "average_pool_backward", (*kernels.AverageArgs).Launch, a, func(f *frame, a *kernels.AverageArgs) {
		a.Work, a.GY, a.DX = f.work, f.at(gy), f.at(dx)
	}, gy, dx)
	return value{kind: activations, buf: dx}, nil
}

func (l *lowerer) subsampleArgs(s cpu.SubsampleShape) kernels.SubsampleArgs {
	l.layer = fmt.Sprintf("subsample%d", s.O)
	return kernels.SubsampleArgs{B: uint32(l.graph.B), H: uint32(s.H), W: uint32(s.W), C: uint32(s.C), O: uint32(s.O), Stride: uint32(s.Stride)}
}

func (l *lowerer) subsample(op *ops.Subsample[float32], in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	a := l.subsampleArgs(op.Shape)
	h, w := op.Shape.Out()
	x, y := in[0].buf, l.buffer("subsample y", h*w*op.Shape.O)
	queue(l, "subsample", (*kernels.SubsampleArgs).Forward, a, func(f *frame, a *kernels.SubsampleArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(y)
	}, x, y)
	return value{kind: activations, buf: y}, nil
}

func (l *lowerer) subsampleGrad(op *ops.Subsample[float32], in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	s := op.Shape
	a := l.subsampleArgs(s)
	gy, dx := in[0].buf, l.buffer("subsample dx", s.H*s.W*s.C)
	queue(l, "subsample_backward", (*kernels.SubsampleArgs).Backward, a, func(f *frame, a *kernels.SubsampleArgs) {
		a.Work, a.GY, a.DX = f.work, f.at(gy), f.at(dx)
	}, gy, dx)
	return value{kind: activations, buf: dx}, nil
}
