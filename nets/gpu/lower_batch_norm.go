package gpu

import (
	"fmt"
	"slices"

	cpu "rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// normArgs returns the sizes of a batch normalisation. Its parameters are weight, bias, running mean and running
// variance, one behind the other. The maps of the graph may have borders; the maps on the device have none.
func (l *lowerer) normArgs(s cpu.NormShape, weight int) kernels.NormArgs {
	at := l.layout.offset[weight:]
	a := kernels.NormArgs{
		WOffset: uint32(at[0]), BOffset: uint32(at[1]), MeanOffset: uint32(at[2]), VarianceOffset: uint32(at[3]),
		B: uint32(s.B), Pixels: uint32(s.H * s.W), C: uint32(s.C), P: uint32(l.layout.P),
		First: uint32(l.program.gradients.from),
	}
	if s.ReLU {
		a.ReLU = 1
	}
	a.Split()
	return a
}

// norm lowers a batch normalisation. Its inputs are x, the maps to add if the op adds any, weight, bias, running mean,
// running variance and, in training, the labels. Training takes the statistics of the batch, in two passes over x;
// evaluation takes the running ones.
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
	name := l.enter(param)
	x, y := in[0].buf, l.buffer(name+" y", s.H*s.W*s.C)
	read := append(buffers{x}, l.weights[param:param+2]...)
	var add *buffer
	if op.Add {
		add = in[1].buf
		read = append(read, add)
	}
	fillMaps := func(f *frame, a *kernels.NormArgs) {
		a.Work, a.X, a.Y, a.Step, a.E = f.work, f.at(x), f.at(y), f.step, f.E
		if add != nil {
			a.Add = f.at(add)
		}
	}
	if !op.Train {
		queue(l, l.kernel("norm_evaluate"), (*kernels.NormArgs).Apply, a, fillMaps,
			access{append(read, l.weights[param+2:param+4]...), buffers{y}})
		return value{kind: activations, buf: y}, nil
	}
	labels := l.labels
	partial := l.perSlot(name+" sums", a.Partials(), 8)
	stats := l.perSlot(name+" statistics", a.Statistics(), 4)
	fill := func(f *frame, a *kernels.NormArgs) {
		fillMaps(f, a)
		a.Labels, a.Partial, a.Stats = f.at(labels), f.at(partial), f.at(stats)
	}
	// Sums over the maps in many blocks, then the sums of a channel in one, then the maps again.
	queue(l, l.kernel("norm_moments"), (*kernels.NormArgs).Moments, a, fill,
		access{buffers{x, labels}, buffers{partial}})
	queue(l, l.kernel("norm_statistics"), (*kernels.NormArgs).Channels, a, fill,
		access{append(buffers{x, partial, labels}, l.weights[param:param+2]...), buffers{stats}})
	queue(l, l.kernel("norm_apply"), (*kernels.NormArgs).Apply, a, fill,
		access{append(read, labels, stats), buffers{y}})
	return value{kind: activations, buf: y, stats: stats}, nil
}

// normGrad lowers the gradient of a batch normalisation. Its inputs are x, weight, labels, y and the gradient of y,
// which may still be a sum of two buffers: the kernels add them up on the way.
func (l *lowerer) normGrad(op *ops.BatchNorm[float32], in []value) (value, error) {
	if err := want(in, activations, weights, nothing, activations, activations); err != nil {
		return value{}, err
	}
	param := in[1].param
	s := op.Shape
	a := l.normArgs(s, param)
	name := l.enter(param)
	x, gy, gy2, stats, labels := in[0].buf, in[4].buf, in[4].plus, in[3].stats, l.labels
	dx, partial := l.buffer(name+" dx", s.H*s.W*s.C), l.perSlot(name+" sums of gradients", a.Partials(), 8)
	var y, d *buffer
	if op.Add && s.ReLU { // otherwise x tells where the ReLU is shut
		y = in[3].buf
	}
	if op.Add || gy2 != nil { // the gradient behind the ReLU is wanted by itself, or is a sum
		d = l.buffer(name+" d", s.H*s.W*s.C)
	}
	fill := func(f *frame, a *kernels.NormArgs) {
		a.Work, a.X, a.Labels, a.Partial, a.Stats = f.work, f.at(x), f.at(labels), f.at(partial), f.at(stats)
		a.GY, a.DX, a.Grad, a.Step, a.E = f.at(gy), f.at(dx), f.grad, f.step, f.E
		for _, optional := range []struct {
			field *uint64
			buf   *buffer
		}{{&a.Y, y}, {&a.D, d}, {&a.GY2, gy2}} {
			if optional.buf != nil {
				*optional.field = f.at(optional.buf)
			}
		}
	}
	// The same three passes; the last one needs the sums of all chunks.
	queue(l, l.kernel("norm_sums"), (*kernels.NormArgs).Sums, a, fill,
		access{
			slices.Concat(present(x, gy, gy2, y), buffers{labels, stats}, l.weights[param:param+2]),
			present(d, partial),
		})
	queue(l, "norm_solve", (*kernels.NormArgs).Channels, a, fill,
		access{buffers{partial, stats, l.weights[param]}, append(buffers{stats}, l.grads[param:param+4]...)})
	from := d
	if from == nil {
		from = gy
	}
	queue(l, l.kernel("norm_input"), (*kernels.NormArgs).Input, a, fill,
		access{append(buffers{x, from, labels, stats}, l.weights[param:param+2]...), buffers{dx}})

	v := l.gradients(dx, x.n, param, param+1, param+2, param+3)
	if op.Add {
		n := s.K * s.B * (s.H + 2*s.OutPad) * (s.W + 2*s.OutPad) * s.C
		add := part{value{kind: activations, buf: d}, n}
		v.parts = slices.Insert(v.parts, 1, add)
	}
	return v, nil
}

// present returns the buffers that are not nil.
func present(all ...*buffer) (some buffers) {
	for _, b := range all {
		if b != nil {
			some = append(some, b)
		}
	}
	return some
}
