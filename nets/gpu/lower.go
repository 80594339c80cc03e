package gpu

import (
	"fmt"
	"math"
	"strings"

	G "gorgonia.org/gorgonia"

	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
	"rollcall/nets/ops"
)

// lower turns a net's graph for batches of B into launches. Without train these are the forward pass up to the logits,
// and their score. With train they are the forward pass, the loss, the gradients and the update of the weights, which
// is not in the graph. The kernels of a gradient update weights at once, unless clip asks for the norm of all gradients
// first.
//
// The nodes come in an order in which every node follows its inputs. Each queues its kernels behind the kernels of
// the nodes before, so that a program is a plain list. What a launch reads and writes says which ones it waits for.
func lower(m *models.Model, lay layout, p Precision, B int, train, clip bool) (*program, error) {
	g, err := m.Graph(nil, 1, B, train)
	if err != nil {
		return nil, err
	}
	l := &lowerer{
		graph: g, model: m, layout: lay, precision: p, clip: clip,
		program: &program{B: B, gradients: gradientsOf(lay, train, clip)}, values: map[int64]value{},
	}
	for _, p := range m.Params {
		l.weights = append(l.weights, &buffer{name: p.Name})
		l.grads = append(l.grads, &buffer{name: p.Name + " gradient"})
	}
	l.program.rows = l.weights
	if train {
		l.head = newHead(g)
	}
	nodes, err := g.Nodes()
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		err := l.node(n)
		if err == nil {
			err = l.counted()
		}
		if err != nil {
			return nil, fmt.Errorf("gpu: %s: node %s: %w", m.Name, n.Name(), err)
		}
	}
	if !train {
		if l.program.logits = l.values[g.Logits.ID()].buf; l.program.logits == nil {
			return nil, fmt.Errorf("gpu: %s: the logits are not computed", m.Name)
		}
		l.score()
		l.program.settle(1)
		return l.program, nil
	}
	for i, n := range g.Grads {
		if v := l.values[n.ID()]; v.kind != gradient || v.param != i {
			return nil, fmt.Errorf("gpu: %s: the gradient of %s is not the gradient of one layer", m.Name,
				m.Params[i].Name)
		}
	}
	l.update()
	l.program.settle(2)
	return l.program, nil
}

// lowerer is the state of lower: what every node seen so far stands for, and the program that grows.
type lowerer struct {
	graph     *models.Graph
	model     *models.Model
	layout    layout
	precision Precision
	clip      bool // of the gradients
	program   *program
	values    map[int64]value // by ID of the node
	head      *head           // nil: the last layers have launches of their own
	labels    *buffer         // of the batch
	weights   buffers         // of each parameter: its part of the rows of weights, which lie in no arena
	grads     buffers         // of each parameter: its part of the rows of gradients
	checked   int             // buffers of the program whose sizes have been checked
	layer     string          // of the net, to which the next launches belong
}

// value is what a node stands for on the device. Its kind says which of the other fields are set.
type value struct {
	kind  valueKind
	buf   *buffer // activations
	plus  *buffer // activations: nil, or the buffer that is still to be added to buf
	arg   *buffer // activations from a pooling convolution: the places of the maxima
	stats *buffer // activations from a batch normalisation in training: its statistics
	gated bool    // activations: the gradient of a layer's output, in front of the layer's ReLU
	param int     // weights, gradient: index of the parameter
	parts []part  // vector
}

// valueKind says what a value is. Kernels of an op take only some kinds of inputs: want checks them.
type valueKind int

const (
	nothing     valueKind = iota // an input that kernels find by themselves
	activations                  // a buffer, or the sum of two
	weights                      // a parameter
	one                          // the number 1, for every client
	vector                       // the gradients of all inputs of a layer, one behind the other
	gradient                     // the gradient of a parameter: in the row of gradients, or gone into the weights
	inHead                       // a value that stays in the kernel of the head
)

// node lowers one node, whose inputs have been lowered. It queues the sum of an input that is one, unless the node's
// kernel adds by itself.
func (l *lowerer) node(n *G.Node) error {
	if n.Op() == nil {
		return l.input(n)
	}
	var in []value
	adds := false // the gradient of batch normalisation does
	if grad, ok := n.Op().(*ops.Grad[float32]); ok {
		_, adds = grad.Forward.(*ops.BatchNorm[float32])
	}
	for _, read := range ops.Inputs(n) {
		id := read.ID()
		if v := l.values[id]; v.plus != nil && !adds {
			l.values[id] = l.add(v.buf, v.plus)
		}
		in = append(in, l.values[id])
	}
	v, err := l.op(n, in)
	l.values[n.ID()] = v
	return err
}

// input lowers a node without an op: an input of the graph. The CPU engine sets these inputs before every step; on the
// card the weights stay in their rows, and a kernel of ours gathers samples and labels.
func (l *lowerer) input(n *G.Node) error {
	switch n {
	case l.graph.X:
		l.values[n.ID()] = l.gather()
		return nil
	case l.graph.Labels, l.graph.Draw: // gather brings the labels; dropout draws by itself
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

// op lowers a node with an op, given the values of its inputs. An op without a case is an error: a net must not train
// on the card in another way than on the CPU.
func (l *lowerer) op(n *G.Node, in []value) (value, error) {
	switch op := n.Op().(type) {
	case *ops.Grad[float32]:
		return l.gradient(op, n, in)
	case *ops.ConvReLUPool[float32]:
		return l.conv(op, in)
	case *ops.Linear[float32]:
		return l.linear(op, n, in)
	case *ops.Conv2D[float32]:
		return l.conv2D(op, in)
	case *ops.BiasReLU[float32]:
		return l.biasReLU(op, in)
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
		return value{kind: nothing}, nil // the kernel of the gradient computes the loss too
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
		in[0].buf.n == in[1].buf.n && !in[0].gated && !in[1].gated:
		return value{kind: activations, buf: in[0].buf, plus: in[1].buf}, nil // the node that reads it adds
	}
	return value{}, fmt.Errorf("op %s (%T) has no kernel", n.Op(), n.Op())
}

// gradient lowers a node that is the gradient of an op, given the values of its inputs. The constructor of the op in
// nets/ops says which inputs the gradient has: inputs of the op, perhaps y, and the gradient of y.
func (l *lowerer) gradient(grad *ops.Grad[float32], n *G.Node, in []value) (value, error) {
	switch op := grad.Forward.(type) {
	case *ops.ConvReLUPool[float32]:
		return l.convGrad(op, in)
	case *ops.Linear[float32]:
		return l.linearGrad(op, in)
	case *ops.Conv2D[float32]:
		return l.conv2DGrad(op, in)
	case *ops.BiasReLU[float32]:
		return l.biasReLUGrad(op, in)
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

// want returns an error unless the first inputs are of the kinds given, one kind for each.
func want(in []value, kinds ...valueKind) error {
	for i, k := range kinds {
		if in[i].kind != k {
			return fmt.Errorf("input %d is of kind %d, want %d", i, in[i].kind, k)
		}
	}
	return nil
}

func (l *lowerer) buffer(name string, n int) *buffer { return l.perSample(name, n, l.precision.Act()) }

// perSample returns a new buffer of n elements per sample, each of so many bytes.
func (l *lowerer) perSample(name string, n, bytes int) *buffer {
	return l.perSlot(name, n*l.graph.B, bytes)
}

// perSlot returns a new buffer of n elements per slot, each of so many bytes, whatever the batch.
func (l *lowerer) perSlot(name string, n, bytes int) *buffer {
	b := &buffer{name: name, n: n, size: bytes}
	l.program.buffers = append(l.program.buffers, b)
	return b
}

// mostElements is the most elements of a buffer that the kernels can count in a slot.
const mostElements = math.MaxInt32

// counted returns an error if one of the newest buffers has more elements than the kernels can count.
func (l *lowerer) counted() error {
	for _, b := range l.program.buffers[l.checked:] {
		if b.n > mostElements {
			return fmt.Errorf("%s has %d elements in a batch of %d, more than the %d that a kernel counts",
				b.name, b.n, l.graph.B, mostElements)
		}
	}
	l.checked = len(l.program.buffers)
	return nil
}

// kernel returns the name that a kernel has in the precision of the program, of a kernel with a version for each.
func (l *lowerer) kernel(name string) string { return name + "_" + string(l.precision) }

// enter makes the layer of a parameter the current one, and returns the name of the parameter.
func (l *lowerer) enter(param int) string {
	name := l.model.Params[param].Name
	l.layer = name[:strings.LastIndexByte(name, '.')]
	return name
}

// offsets returns where a weight and the bias behind it lie in a row.
func (l *lowerer) offsets(param int) (w, b uint32) {
	return uint32(l.layout.offset[param]), uint32(l.layout.offset[param+1])
}

// gather queues the kernel that brings a batch of samples and labels to the start of the program, and returns the
// samples. Images are cropped, flipped and normalised on the way.
func (l *lowerer) gather() value {
	m := l.model
	pixel := uint32(m.C)
	if l.convolved(l.graph.X) {
		pixel = kernels.ConvPixel(pixel)
	}
	x, labels := l.buffer("x", m.H*m.W*int(pixel)), l.perSample("labels", 1, 4)
	l.labels, l.layer = labels, "x"
	a := kernels.GatherArgs{B: uint32(l.graph.B), H: uint32(m.H), W: uint32(m.W), C: uint32(m.C), Pixel: pixel}
	a.Images = 1 // an address, for now: the launch has shared memory for images even if the samples are features
	queue(l, l.kernel("gather"), (*kernels.GatherArgs).Launch, a, func(f *frame, a *kernels.GatherArgs) {
		s := f.parts[f.part]
		a.Work, a.Images, a.Features, a.Classes, a.Table = f.work, s.images, s.features, s.classes, s.table
		a.Y, a.Labels, a.Step, a.E = f.at(x), f.at(labels), f.step, f.E
	}, access{nil, buffers{x, labels}})
	return value{kind: activations, buf: x}
}

// convolved reports whether only convolutions with pooling, and their gradients, read a node.
func (l *lowerer) convolved(n *G.Node) bool {
	for it := n.Graph().To(n.ID()); it.Next(); {
		op := it.Node().(*G.Node).Op()
		if grad, ok := op.(*ops.Grad[float32]); ok {
			op = grad.Forward
		}
		if _, ok := op.(*ops.ConvReLUPool[float32]); !ok {
			return false
		}
	}
	return true
}
