package gpu

import (
	"fmt"
	"strings"

	G "gorgonia.org/gorgonia"

	"rollcall/nets"
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
	nodes, err := g.Nodes()
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
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
	parts []part  // vector
}

// part is a piece of a vector of gradients.
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
	vector                       // the gradients of everything a layer reads, in order
	gradient                     // of a parameter, in the row of gradients
)

// node lowers one node; its inputs are lowered already.
func (l *lowerer) node(n *G.Node) error {
	if n.Op() == nil {
		return l.input(n)
	}
	var in []value
	adds := false // by itself, as the gradient of batch normalisation does
	if grad, ok := n.Op().(*ops.Grad[float32]); ok {
		_, adds = grad.Forward.(*ops.BatchNorm[float32])
	}
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
		l.layer = "x"
		queue(l, l.precise("gather"), (*kernels.GatherArgs).Launch, a, func(f *frame, a *kernels.GatherArgs) {
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
	case *ops.Grad[float32]:
		return l.gradient(op, n, in)
	case *ops.ConvReLUPool[float32]:
		return l.conv(op, in)
	case *ops.Linear[float32]:
		return l.linear(op, in, n == l.graph.Logits || l.odds(n))
	case *ops.Conv2D[float32]:
		return l.conv2D(op, in)
	case *ops.BatchNorm[float32]:
		return l.norm(op, in)
	case *ops.GlobalAvgPool[float32]:
		return l.average(op, in)
	case *ops.Subsample[float32]:
		return l.subsample(op, in)
	case *ops.Dropout[float32]:
		return l.dropout(op, "", in[:1])
	case *ops.LogOdds[float32]:
		return l.logOdds(in)
	case *ops.View[float32]:
		return in[0], want(in, activations)
	case *ops.CrossEntropy[float32]:
		return value{kind: nothing}, want(in[:1], activations) // the kernel of its gradient computes both
	case *ops.SumClients[float32]:
		return value{kind: nothing}, nil
	case *ops.Take[float32]:
		return l.take(op.Offset, n.Shape().TotalSize(), in)
	}
	switch name, arity := n.Op().String(), n.Op().Arity(); {
	case arity == 0 && name == "const 1":
		return value{kind: one}, nil
	// The element-wise sum that Gorgonia's Grad inserts where a value is used twice.
	case arity == 2 && name == "+ false" && in[0].kind == activations && in[1].kind == activations &&
		in[0].buf.n == in[1].buf.n:
		return value{kind: activations, buf: in[0].buf, plus: in[1].buf}, nil // added by who reads it
	}
	return value{}, fmt.Errorf("op %s (%T) has no kernel", n.Op(), n.Op())
}

// gradient lowers the gradient of an op.
func (l *lowerer) gradient(grad *ops.Grad[float32], n *G.Node, in []value) (value, error) {
	switch op := grad.Forward.(type) {
	case *ops.ConvReLUPool[float32]:
		return l.convGrad(op, in)
	case *ops.Linear[float32]:
		return l.linearGrad(op, in)
	case *ops.Conv2D[float32]:
		return l.conv2DGrad(op, in)
	case *ops.BatchNorm[float32]:
		return l.normGrad(op, in)
	case *ops.GlobalAvgPool[float32]:
		return l.averageGrad(op, in)
	case *ops.Subsample[float32]:
		return l.subsampleGrad(op, in)
	case *ops.Dropout[float32]:
		return l.dropout(op, " gradient", in[1:])
	case *ops.LogOdds[float32]:
		return l.logOddsGrad(in)
	case *ops.CrossEntropy[float32]:
		return l.crossEntropy(in, n.Shape().TotalSize())
	case *ops.SumClients[float32]:
		return in[0], want(in, one)
	}
	return value{}, fmt.Errorf("op %s has no kernel", grad)
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

// buffer is room for n activations per sample.
func (l *lowerer) buffer(name string, n int) *buffer { return l.sized(name, n, l.precision.Act()) }

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

// precise is the name of a kernel that comes in every precision.
func (l *lowerer) precise(kernel string) string { return kernel + "_" + string(l.precision) }

// launcher says how a kernel with arguments A is launched.
type launcher[A any] func(*A, Precision) kernels.Launch

// queue adds a kernel, with how it is launched, its arguments, which fill completes in a copy for a frame, and the
// buffers it reads or writes.
func queue[A any](l *lowerer, kernel string, how launcher[A], a A, fill func(*frame, *A), uses ...*buffer) {
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
		kernel: kernel, layer: l.layer, geometry: how(&a, p).Geometry,
		args: func(f *frame) []byte { return argBytes(args(f)) },
		cost: func(f *frame) kernels.Cost { a := args(f); return how(&a, p).Cost },
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

// gradients is the vector of the gradients of a layer: that of its input, nil if there is none, which has so many
// elements in the graph, and those of parameters, which are in the row of gradients.
func (l *lowerer) gradients(dx *buffer, nodes int, params ...int) value {
	v := value{kind: vector}
	if dx != nil {
		v.parts = append(v.parts, part{value{kind: activations, buf: dx}, nodes})
	}
	for _, p := range params {
		v.parts = append(v.parts, part{value{kind: gradient, param: p}, l.model.Params[p].Size})
	}
	return v
}

// take finds what a piece of a vector of gradients is.
func (l *lowerer) take(offset, n int, in []value) (value, error) {
	if err := want(in, vector); err != nil {
		return value{}, err
	}
	at := 0
	for _, p := range in[0].parts {
		if at == offset && n == p.nodes {
			return p.value, nil
		}
		at += p.nodes
	}
	return value{}, fmt.Errorf("%d elements from %d on are not one of the %d parts of a gradient", n, offset,
		len(in[0].parts))
}
