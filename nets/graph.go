package nets

import (
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu"
	"rollcall/nets/ops"
)

// Graph is the Gorgonia graph of a net for K clients and batches of B; every executor starts from it.
type Graph struct {
	K, B    int
	Border  int     // of zeros around every image of X
	X       *G.Node // [K,B,H+2·Border,W+2·Border,C]
	Labels  *G.Node // [K,B] int32, −1 pads; nil in a graph without loss, as are Loss and Grads
	Draw    *G.Node // [K,4] int32, see [ops.Dropout]; nil without dropout
	Weights G.Nodes // [K,…] of every parameter, in the order of Model.Params
	Logits  *G.Node // [K,B,O]
	Loss    *G.Node // [K]
	Grads   G.Nodes // of every parameter

	g      *G.ExprGraph
	params []Param
	drops  []Drop
	macs   []float64 // multiply-adds per sample of every layer with weights
}

// Graph builds the net's graph for one client, up to the logits, or for training with dropout, loss and gradients, for
// executors that lower it to memory of their own: its ops cannot be run by Gorgonia's machine.
func (m *Model) Graph(B int, train bool) (*Graph, error) { return buildGraph(m, nil, 1, B, train) }

// Nodes returns all nodes, inputs before what reads them.
func (g *Graph) Nodes() (G.Nodes, error) {
	nodes, err := G.Sort(g.g) // what reads first
	slices.Reverse(nodes)
	return nodes, err
}

// maps is a value on its way through the builder: feature maps [K,B,h+2·border,w+2·border,c], or features [K,B,c] if h
// is 0.
type maps struct {
	node            *G.Node
	h, w, c, border int
	order           [3]int // of features that were maps: their h, w, c
}

// builder adds layers to a graph. After the first error it applies no op, and what it returns has sizes alone.
type builder struct {
	*Graph
	model *Model
	exec  *cpu.Exec[float32]
	train bool
	err   error
	convs int
	fcs   int
}

// buildGraph builds a model's graph: for training with dropout, loss and gradients, else up to the logits.
func buildGraph(m *Model, exec *cpu.Exec[float32], K, B int, train bool) (*Graph, error) {
	b := &builder{Graph: &Graph{g: G.NewGraph(), K: K, B: B}, model: m, exec: exec, train: train}
	if train {
		b.Labels = b.placeholder("labels", tensor.Int32, B)
	}
	out := m.build(b)
	if b.err == nil && (out.h != 0 || out.c != m.Classes) {
		b.err = fmt.Errorf("the last layer has %d outputs, want %d", out.c, m.Classes)
	}
	b.Logits = out.node
	if train && b.err == nil {
		b.err = b.differentiate()
	}
	if b.err != nil {
		return nil, fmt.Errorf("nets: %s: %w", m.Name, b.err)
	}
	return b.Graph, nil
}

// differentiate adds the loss of the logits, and its gradients.
func (b *builder) differentiate() (err error) {
	if b.Loss, err = ops.NewCrossEntropy(b.exec, b.Logits, b.Labels); err != nil {
		return err
	}
	cost, err := ops.NewSumClients[float32](b.Loss)
	if err != nil {
		return err
	}
	if b.Grads, err = G.Grad(cost, b.Weights...); err != nil {
		return fmt.Errorf("gradient: %w", err)
	}
	return nil
}

// placeholder adds an input [K,shape…] of the graph.
func (b *builder) placeholder(name string, of tensor.Dtype, shape ...int) *G.Node {
	shape = append([]int{b.K}, shape...)
	return G.NewTensor(b.g, of, len(shape), G.WithShape(shape...), G.WithName(name))
}

// layer returns y with the node that apply makes, unless there has been an error.
func (b *builder) layer(y maps, apply func() (*G.Node, error)) maps {
	if b.err == nil {
		y.node, b.err = apply()
	}
	return y
}

// input returns the images, with a border of zeros.
func (b *builder) input(border int) maps {
	m := b.model
	b.Border = border
	b.X = b.placeholder("x", tensor.Float32, b.B, m.H+2*border, m.W+2*border, m.C)
	return maps{node: b.X, h: m.H, w: m.W, c: m.C, border: border}
}

// conv adds a window×window convolution over x and its border, ReLU and 2×2 max pooling; out is the number of channels,
// border the width of the zeros the next layer wants.
func (b *builder) conv(x maps, out, window, border int) maps {
	b.convs++
	name := fmt.Sprintf("conv%d", b.convs)
	fan := window * window * x.c
	w := b.param(Param{
		Name: name + ".weight", Shape: []int{out, x.c, window, window}, FanIn: fan, kind: convParam,
		kernel: []int{window, window, x.c, out},
	})
	bias := b.param(Param{Name: name + ".bias", Shape: []int{out}, FanIn: fan, kernel: []int{out}})
	y := maps{h: (x.h + 2*x.border - window + 1) / 2, w: (x.w + 2*x.border - window + 1) / 2, c: out, border: border}
	b.macs = append(b.macs, float64(4*y.h*y.w*fan*out))
	return b.layer(y, func() (*G.Node, error) {
		return ops.NewConvReLUPool(b.exec, x.node, w, bias, x.border, border, b.convs > 1)
	})
}

// linear adds a fully connected layer, flattening maps in front of it.
func (b *builder) linear(x maps, out int, relu bool) maps {
	return b.namedLinear(fmt.Sprintf("fc%d", b.fcs+1), x, out, relu)
}

func (b *builder) namedLinear(name string, x maps, out int, relu bool) maps {
	x = b.flatten(x)
	b.fcs++
	w := b.param(Param{
		Name: name + ".weight", Shape: []int{out, x.c}, FanIn: x.c, kind: linearParam,
		kernel: []int{x.c, out}, order: x.order,
	})
	bias := b.param(Param{Name: name + ".bias", Shape: []int{out}, FanIn: x.c, kernel: []int{out}})
	b.macs = append(b.macs, float64(x.c*out))
	return b.layer(maps{c: out}, func() (*G.Node, error) {
		return ops.NewLinear(b.exec, x.node, w, bias, relu, b.convs+b.fcs > 1)
	})
}

// dropout adds a dropout layer, which evaluation graphs leave out.
func (b *builder) dropout(x maps, rate float64) maps {
	x = b.flatten(x)
	layer := len(b.drops)
	b.drops = append(b.drops, Drop{Name: fmt.Sprintf("drop%d", layer+1), Rate: rate, Size: x.c, order: x.order})
	if !b.train {
		return x
	}
	if b.Draw == nil {
		b.Draw = b.placeholder("draw", tensor.Int32, ops.DrawWords)
	}
	return b.layer(x, func() (*G.Node, error) { return ops.NewDropout(b.exec, x.node, b.Draw, layer, rate) })
}

// odds ends a net of one output, the logit of class 1, in the logits of two classes, that of class 0 being 0.
func (b *builder) odds(x maps) maps {
	return b.layer(maps{c: 2}, func() (*G.Node, error) { return ops.NewLogOdds[float32](x.node) })
}

func (b *builder) flatten(x maps) maps {
	if x.h == 0 {
		return x
	}
	y := maps{c: x.h * x.w * x.c, order: [3]int{x.h, x.w, x.c}}
	return b.layer(y, func() (*G.Node, error) {
		if x.border != 0 {
			return nil, fmt.Errorf("maps of %d×%d×%d with a border of %d cannot be flattened", x.h, x.w, x.c, x.border)
		}
		return ops.NewView[float32](x.node, b.K, b.B, y.c)
	})
}

func (b *builder) param(p Param) *G.Node {
	p.Size = 1
	for _, d := range p.Shape {
		p.Size *= d
	}
	w := b.placeholder(p.Name, tensor.Float32, p.kernel...)
	b.params, b.Weights = append(b.params, p), append(b.Weights, w)
	return w
}
