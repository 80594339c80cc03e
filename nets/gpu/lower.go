package gpu

import (
	"fmt"
	"strings"

	G "gorgonia.org/gorgonia"

	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

// lower turns a net's graph for batches of B into launches: the forward pass up to the logits and their score, or with
// train the loss, the gradients and, on top of the graph, the update of the weights.
func lower(m *nets.Model, lay layout, p Precision, B int, train, clip bool) (*program, error) {
	g, err := m.Graph(B, train)
	if err != nil {
		return nil, err
	}
	l := &lowerer{graph: g, model: m, layout: lay, precision: p, program: &program{B: B}, values: map[int64]value{}}
	for _, n := range g.Nodes {
		if err := l.node(n); err != nil {
			return nil, fmt.Errorf("gpu: %s: node %s: %w", m.Name, n.Name(), err)
		}
	}
	if l.program.logits = l.values[g.Logits.ID()].buf; l.program.logits == nil {
		return nil, fmt.Errorf("gpu: %s: the logits are not computed", m.Name)
	}
	if !train {
		l.score()
		return l.program, nil
	}
	for i, n := range g.Grads {
		if v := l.values[n.ID()]; v.kind != gradient || v.param != i {
			return nil, fmt.Errorf("gpu: %s: the gradient of %s is not that of one layer", m.Name, m.Params[i].Name)
		}
	}
	l.update(clip)
	return l.program, nil
}

// lowerer holds what is known of the nodes so far.
type lowerer struct {
	graph     *nets.Graph
	model     *nets.Model
	layout    layout
	precision Precision
	program   *program
	values    map[int64]value // by node
	labels    *buffer
	layer     string // that is lowered
}

// value is what a node stands for on the device.
type value struct {
	kind  valueKind
	arg   *buffer // of activations that a convolution has pooled: where their maxima were
	stats *buffer // of activations that a batch normalisation made in training: its statistics
	buf   *buffer // activations
	plus  *buffer // of activations that are a sum: what is still to be added to buf
	param int     // weights, gradient
	parts []part  // packed
}

// part is a piece of a packed gradient.
type part struct {
	value
	nodes int // elements in the graph, which counts borders
}

type valueKind int

const (
	nothing     valueKind = iota // inputs that kernels find by themselves
	activations                  // a buffer
	weights                      // a parameter
	one                          // the number 1, for every client
	packed                       // the gradients of everything a layer reads, in order
	gradient                     // of a parameter, in the row of gradients
)

// node lowers one node; its inputs are lowered already.
func (l *lowerer) node(n *G.Node) error {
	if n.Op() == nil {
		return l.input(n)
	}
	var in []value
	_, adds := n.Op().(*ops.BatchNormGrad[float32])
	for it := n.Graph().From(n.ID()); it.Next(); {
		of := it.Node().ID()
		if v := l.values[of]; v.plus != nil && !adds {
			l.values[of] = l.add(v.buf, v.plus)
		}
		in = append(in, l.values[of])
	}
	v, err := l.op(n, in)
	l.values[n.ID()] = v
	return err
}

// input lowers a node without op. The images and labels are gathered by a kernel of ours, on the device.
func (l *lowerer) input(n *G.Node) error {
	switch n {
	case l.graph.X:
		m := l.model
		x := l.buffer("x", m.H*m.W*m.C)
		l.labels = l.sized("labels", 1, 4)
		l.values[n.ID()] = value{kind: activations, buf: x}
		a := kernels.GatherArgs{B: uint32(l.graph.B), H: uint32(m.H), W: uint32(m.W), C: uint32(m.C)}
		labels := l.labels
		a.Images = 1 // room for the table, whether it is images or features
		geometry := a.Geometry()
		l.layer = "x"
		queue(l, "gather", geometry, (*kernels.GatherArgs).Cost, a, func(f *frame, a *kernels.GatherArgs) {
			s := f.parts[f.part]
			a.Work, a.Images, a.Features, a.Classes, a.Table = f.work, s.images, s.features, s.classes, s.table
			a.Y, a.Labels, a.Step, a.E = f.at(x), f.at(labels), f.step, f.E
		}, x, labels)
		return nil
	case l.graph.Labels, l.graph.Draw:
		return nil
	}
	for i, w := range l.graph.Weights {
		if n == w {
			l.values[n.ID()] = value{kind: weights, param: i}
			return nil
		}
	}
	return fmt.Errorf("an input that is neither images, labels nor weights")
}

// op lowers a node with an op.
func (l *lowerer) op(n *G.Node, in []value) (value, error) {
	switch op := n.Op().(type) {
	case *ops.ConvReLUPool[float32]:
		return l.conv(op, in)
	case *ops.ConvReLUPoolGrad[float32]:
		return l.convGrad(op, in)
	case *ops.Linear[float32]:
		return l.linear(op, in, n == l.graph.Logits || l.odds(n))
	case *ops.LinearGrad[float32]:
		return l.linearGrad(op, in)
	case *ops.Conv2D[float32]:
		return l.conv2D(op, in)
	case *ops.Conv2DGrad[float32]:
		return l.conv2DGrad(op, in)
	case *ops.BatchNorm[float32]:
		return l.norm(op, in)
	case *ops.BatchNormGrad[float32]:
		return l.normGrad(op, in)
	case *ops.GlobalAvgPool[float32]:
		return l.average(op, in)
	case *ops.GlobalAvgPoolGrad[float32]:
		return l.averageGrad(op, in)
	case *ops.Subsample[float32]:
		return l.subsample(op, in)
	case *ops.SubsampleGrad[float32]:
		return l.subsampleGrad(op, in)
	case *ops.Dropout[float32]:
		return l.dropout(op, "", in[:1])
	case *ops.DropoutGrad[float32]:
		return l.dropout(op.Forward, " gradient", in[1:])
	case *ops.LogOdds[float32]:
		return l.logOdds(in)
	case *ops.LogOddsGrad[float32]:
		return l.logOddsGrad(in)
	case *ops.View[float32]:
		return in[0], want(in, activations)
	case *ops.CrossEntropy[float32]:
		return value{kind: nothing}, want(in[:1], activations) // the kernel of its gradient computes both
	case *ops.CrossEntropyGrad[float32]:
		return l.crossEntropy(in, n.Shape().TotalSize())
	case *ops.SumClients[float32]:
		return value{kind: nothing}, nil
	case *ops.Spread[float32]:
		return in[0], want(in, one)
	case *ops.Take[float32]:
		return l.take(op.Offset, n.Shape().TotalSize(), in)
	}
	switch name, arity := n.Op().String(), n.Op().Arity(); {
	case arity == 0 && name == "const 1":
		return value{kind: one}, nil
	case arity == 2 && isAdd(name) && in[0].kind == activations && in[1].kind == activations && in[0].buf.n == in[1].buf.n:
		return value{kind: activations, buf: in[0].buf, plus: in[1].buf}, nil // added by who reads it
	}
	return value{}, fmt.Errorf("op %s (%T) has no kernel", n.Op(), n.Op())
}

// want checks what an op's inputs are; of the kinds given, one for each.
func want(in []value, kinds ...valueKind) error {
	for i, k := range kinds {
		if in[i].kind != k {
			return fmt.Errorf("input %d is of kind %d, want %d", i, in[i].kind, k)
		}
	}
	return nil
}

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

// buffer is room for n activations per sample.
func (l *lowerer) buffer(name string, n int) *buffer { return l.sized(name, n, actBytes(l.precision)) }

// sized is room for n elements of so many bytes per sample.
func (l *lowerer) sized(name string, n, bytes int) *buffer {
	return l.perSlot(name, n*l.graph.B, bytes)
}

// perSlot is room for n elements of so many bytes of every slot, whatever the batch.
func (l *lowerer) perSlot(name string, n, bytes int) *buffer {
	b := &buffer{name: name, n: n, size: bytes, first: -1}
	l.program.buffers = append(l.program.buffers, b)
	return b
}

// queue adds a kernel that comes in every precision, with what it costs, its arguments, which fill completes in a copy for a frame, and
// the buffers it reads or writes.
func queue[A any](l *lowerer, kernel string, g kernels.Geometry, cost func(*A, Precision) kernels.Cost, a A, fill func(*frame, *A), uses ...*buffer) {
	queuePlain(l, kernel+"_"+string(l.precision), g, cost, a, fill, uses...)
}

// queuePlain adds a kernel that knows no precision.
func queuePlain[A any](l *lowerer, kernel string, g kernels.Geometry, cost func(*A, Precision) kernels.Cost, a A, fill func(*frame, *A), uses ...*buffer) {
	now := len(l.program.launches)
	for _, b := range uses {
		if b.first < 0 {
			b.first = now
		}
		b.last = now
	}
	p := l.precision
	args := func(f *frame) A {
		a := a
		fill(f, &a)
		return a
	}
	l.program.launches = append(l.program.launches, launch{
		kernel: kernel, layer: l.layer, geometry: g,
		args: func(f *frame) []byte { return pack(args(f)) },
		cost: func(f *frame) kernels.Cost { a := args(f); return cost(&a, p) },
	})
}

// of turns to the layer of a weight, and returns the name of the weight.
func (l *lowerer) of(param int) string {
	name := l.model.Params[param].Name
	l.layer, _, _ = strings.Cut(name, ".weight")
	return name
}

func (l *lowerer) offsets(param int) (w, b uint32) {
	return uint32(l.layout.offset[param]), uint32(l.layout.offset[param+1])
}

// convArgs are the sizes of a convolution. The graph's maps carry their borders; the device's do not.
func (l *lowerer) convArgs(s cpu.ConvShape, param int) (kernels.ConvArgs, error) {
	a := kernels.ConvArgs{
		B: uint32(s.B), H: uint32(s.H - 2*s.Pad), W: uint32(s.W - 2*s.Pad), C: uint32(s.C), R: uint32(s.R), S: uint32(s.S),
		O: uint32(s.O), Pad: uint32(s.Pad),
	}
	a.WOffset, a.BOffset = l.offsets(param)
	a.Images = a.ChunkImages()
	if !a.Fits(l.precision) {
		return a, fmt.Errorf("%d×%d over %d channels to %d takes more shared memory than a multiprocessor has", s.R, s.S, s.C, s.O)
	}
	return a, nil
}

func (l *lowerer) conv(op *ops.ConvReLUPool[float32], in []value) (value, error) {
	if err := weighted(in); err != nil {
		return value{}, err
	}
	h, w := op.Shape.Conv()
	n := h / 2 * (w / 2) * op.Shape.O
	a, err := l.convArgs(op.Shape, in[1].param)
	if err != nil {
		return value{}, err
	}
	name := l.of(in[1].param)
	x, y, arg := in[0].buf, l.buffer(name+" y", n), l.sized(name+" arg", n, 1)
	queue(l, "conv_forward", a.Forward(l.precision), (*kernels.ConvArgs).ForwardCost, a, func(f *frame, a *kernels.ConvArgs) {
		a.Work, a.X, a.Y, a.Arg = f.work, f.at(x), f.at(y), f.at(arg)
	}, x, y, arg)
	return value{kind: activations, buf: y, arg: arg}, nil
}

// convGrad takes x, w, y and the gradient of y.
func (l *lowerer) convGrad(op *ops.ConvReLUPoolGrad[float32], in []value) (value, error) {
	if err := want(in, activations, weights, activations, activations); err != nil {
		return value{}, err
	}
	param := in[1].param
	a, err := l.convArgs(op.Forward.Shape, param)
	if err != nil {
		return value{}, err
	}
	name := l.of(param)
	x, arg, gy := in[0].buf, in[2].arg, in[3].buf
	chunks := (a.B + a.Images - 1) / a.Images
	n := a.R * a.S * a.C * a.O
	partial := l.perSlot(name+" partial", int(chunks*(n+a.O)), 4)
	queue(l, "conv_backward_filter", a.BackwardFilter(l.precision), (*kernels.ConvArgs).BackwardFilterCost, a, func(f *frame, a *kernels.ConvArgs) {
		a.Work, a.X, a.Arg, a.GY, a.Partial = f.work, f.at(x), f.at(arg), f.at(gy), f.at(partial)
	}, x, arg, gy, partial)
	l.reduce(kernels.ConvReduceArgs{WOffset: a.WOffset, BOffset: a.BOffset, N: n, O: a.O, Chunks: chunks}, partial)
	if !op.Forward.InputGrad {
		return l.packed(nil, 0, param, param+1), nil
	}
	s := op.Forward.Shape
	dx := l.buffer(name+" dx", int(a.H*a.W*a.C))
	queue(l, "conv_backward_data", a.BackwardData(l.precision), (*kernels.ConvArgs).BackwardDataCost, a, func(f *frame, a *kernels.ConvArgs) {
		a.Work, a.Arg, a.GY, a.DX = f.work, f.at(arg), f.at(gy), f.at(dx)
	}, arg, gy, dx)
	return l.packed(dx, s.K*s.B*s.H*s.W*s.C, param, param+1), nil
}

// reduce adds up the partial sums of a convolution's dw and db.
func (l *lowerer) reduce(r kernels.ConvReduceArgs, partial *buffer) {
	r.P = uint32(l.layout.P)
	queuePlain(l, "conv_reduce", r.Geometry(), (*kernels.ConvReduceArgs).Cost, r, func(f *frame, r *kernels.ConvReduceArgs) {
		r.Work, r.Partial, r.Grad, r.Step, r.E = f.work, f.at(partial), f.grad, f.step, f.E
	}, partial)
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
	queue(l, "linear_forward", a.Forward(l.precision), (*kernels.LinearArgs).ForwardCost, a, func(f *frame, a *kernels.LinearArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(y)
	}, x, y)
	return value{kind: activations, buf: y}, nil
}

// linearGrad takes x, w, y and the gradient of y.
func (l *lowerer) linearGrad(op *ops.LinearGrad[float32], in []value) (value, error) {
	if err := want(in, activations, weights, activations, activations); err != nil {
		return value{}, err
	}
	param := in[1].param
	s := op.Forward.Shape
	a := l.linearArgs(s, param)
	name := l.of(param)
	x, y, gy := in[0].buf, in[2].buf, in[3].buf
	if s.ReLU {
		d := l.buffer(name+" d", s.O)
		r := kernels.ReLUArgs{N: uint32(s.B * s.O)}
		from := gy
		queue(l, "relu_backward", r.Geometry(), (*kernels.ReLUArgs).Cost, r, func(f *frame, r *kernels.ReLUArgs) {
			r.Work, r.Y, r.GY, r.D = f.work, f.at(y), f.at(from), f.at(d)
		}, y, from, d)
		gy = d
	}
	var dx *buffer
	if op.Forward.InputGrad {
		dx = l.buffer(name+" dx", s.I)
		queue(l, "linear_backward_data", a.BackwardData(l.precision), (*kernels.LinearArgs).BackwardDataCost, a, func(f *frame, a *kernels.LinearArgs) {
			a.Work, a.GY, a.DX = f.work, f.at(gy), f.at(dx)
		}, gy, dx)
	}
	queue(l, "linear_backward_filter", a.BackwardFilter(l.precision), (*kernels.LinearArgs).BackwardFilterCost, a, func(f *frame, a *kernels.LinearArgs) {
		a.Work, a.X, a.GY, a.Grad = f.work, f.at(x), f.at(gy), f.grad
	}, x, gy)
	return l.packed(dx, s.K*s.B*s.I, param, param+1), nil
}

// packed is the gradient of a layer: that of its input, nil if there is none, which has so many elements in the graph, and
// those of parameters, which are in the row of gradients.
func (l *lowerer) packed(dx *buffer, nodes int, params ...int) value {
	v := value{kind: packed}
	if dx != nil {
		v.parts = append(v.parts, part{value{kind: activations, buf: dx}, nodes})
	}
	for _, p := range params {
		v.parts = append(v.parts, part{value{kind: gradient, param: p}, l.model.Params[p].Size()})
	}
	return v
}

// take finds what a piece of a packed gradient is.
func (l *lowerer) take(offset, n int, in []value) (value, error) {
	if err := want(in, packed); err != nil {
		return value{}, err
	}
	at := 0
	for _, p := range in[0].parts {
		if at == offset && n == p.nodes {
			return p.value, nil
		}
		at += p.nodes
	}
	return value{}, fmt.Errorf("%d elements from %d on are not one of the %d parts of a gradient", n, offset, len(in[0].parts))
}

// dropout is its own gradient.
func (l *lowerer) dropout(op *ops.Dropout[float32], of string, in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	x := in[0].buf
	y := l.buffer(fmt.Sprintf("dropout%d", op.Layer), x.n/l.graph.B)
	a := kernels.DropoutArgs{N: uint32(x.n), Layer: uint32(op.Layer), Threshold: cpu.DropThreshold(op.Rate), Scale: float32(1 / (1 - op.Rate))}
	l.layer = l.model.Drops[op.Layer].Name + of
	queue(l, "dropout", a.Geometry(), (*kernels.DropoutArgs).Cost, a, func(f *frame, a *kernels.DropoutArgs) {
		a.Work, a.X, a.Y, a.Step = f.work, f.at(x), f.at(y), f.step
	}, x, y)
	return value{kind: activations, buf: y}, nil
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
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	x, y := in[0].buf, l.sized("log odds", 2, 4)
	a := kernels.LogOddsArgs{N: uint32(x.n)}
	l.layer = "odds"
	queuePlain(l, "log_odds", a.Geometry(), (*kernels.LogOddsArgs).ForwardCost, a, func(f *frame, a *kernels.LogOddsArgs) {
		a.Work, a.X, a.Y = f.work, f.at(x), f.at(y)
	}, x, y)
	return value{kind: activations, buf: y}, nil
}

func (l *lowerer) logOddsGrad(in []value) (value, error) {
	if err := want(in, activations); err != nil {
		return value{}, err
	}
	gy, dx := in[0].buf, l.buffer("log odds dx", 1)
	a := kernels.LogOddsArgs{N: uint32(dx.n)}
	l.layer = "odds"
	queue(l, "log_odds_backward", a.Geometry(), (*kernels.LogOddsArgs).BackwardCost, a, func(f *frame, a *kernels.LogOddsArgs) {
		a.Work, a.GY, a.DX = f.work, f.at(gy), f.at(dx)
	}, gy, dx)
	return value{kind: activations, buf: dx}, nil
}

// crossEntropy takes logits, labels and the gradient of the loss, which is 1: losses are summed over clients.
func (l *lowerer) crossEntropy(in []value, n int) (value, error) {
	if err := want(in, activations, nothing, one); err != nil {
		return value{}, err
	}
	logits, labels := in[0].buf, l.labels
	d := l.buffer("dlogits", n/l.graph.B)
	a := kernels.CrossEntropyArgs{B: uint32(l.graph.B), O: uint32(n / l.graph.B)}
	l.layer = "loss"
	queue(l, "cross_entropy", a.Geometry(), (*kernels.CrossEntropyArgs).Cost, a, func(f *frame, a *kernels.CrossEntropyArgs) {
		a.Work, a.Logits, a.Labels, a.Loss, a.DLogits = f.work, f.at(logits), f.at(labels), f.loss, f.at(d)
		a.Step, a.E, a.Capacity = f.step, f.E, uint32(f.room)
	}, logits, labels, d)
	return value{kind: activations, buf: d}, nil
}

// isAdd recognises the element-wise sum that Gorgonia's Grad inserts where a value is used twice.
func isAdd(name string) bool { return name == "+ false" }

func (l *lowerer) add(a, b *buffer) value {
	y := l.buffer(a.name+" + "+b.name, a.n/l.graph.B)
	args := kernels.AddArgs{N: uint32(a.n)}
	l.layer = a.name
	queue(l, "add", args.Geometry(), (*kernels.AddArgs).Cost, args, func(f *frame, args *kernels.AddArgs) {
		args.Work, args.A, args.B, args.Y = f.work, f.at(a), f.at(b), f.at(y)
	}, a, b, y)
	return value{kind: activations, buf: y}
}

// score adds the evaluation of the logits.
func (l *lowerer) score() {
	logits, labels := l.program.logits, l.labels
	a := kernels.ScoreArgs{B: uint32(l.graph.B), O: uint32(logits.n / l.graph.B)}
	l.layer = "loss"
	queuePlain(l, "score", a.Geometry(), (*kernels.ScoreArgs).Cost, a, func(f *frame, a *kernels.ScoreArgs) {
		a.Work, a.Logits, a.Labels, a.Loss, a.Correct = f.work, f.at(logits), f.at(labels), f.score, f.score+uint64(8*f.room)
	}, logits, labels)
}

// update adds the step of SGD, behind the clipping of the gradients, and that of running statistics if there are any.
func (l *lowerer) update(clip bool) {
	P, n := uint32(l.layout.P), uint32(l.layout.trained)
	l.layer = "weights"
	if clip {
		c := kernels.ClipArgs{P: P, N: n}
		fill := func(f *frame, c *kernels.ClipArgs) {
			c.Work, c.Grad, c.Partial, c.Scale = f.work, f.grad, f.norms, f.scale
		}
		queuePlain(l, "grad_squares", c.Squares(), (*kernels.ClipArgs).SquaresCost, c, fill)
		queuePlain(l, "clip_scale", c.Scales(), (*kernels.ClipArgs).ScalesCost, c, fill)
	}
	a := kernels.SGDArgs{P: P, N: n}
	fill := func(f *frame, a *kernels.SGDArgs) {
		a.Work, a.Grad, a.Step, a.E = f.work, f.grad, f.step, f.E
		if clip {
			a.Scale = f.scale
		}
	}
	queue(l, "sgd", a.Geometry(), (*kernels.SGDArgs).Cost, a, fill)
	if n < P {
		queuePlain(l, "track", a.Running(), (*kernels.SGDArgs).RunningCost, a, fill)
	}
}
