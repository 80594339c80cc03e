package models

import (
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
	"rollcall/nets/ops"
)

// Graph is the Gorgonia graph of a net for K clients and batches of B samples. Both engines execute this graph.
type Graph struct {
	K, B    int
	Border  int     // width of the border of zeros around every image of X
	X       *G.Node // [K,B,H+2·Border,W+2·Border,C]
	Labels  *G.Node // [K,B] int32, −1 for padding; nil in a graph for evaluation
	Draw    *G.Node // [K,4] int32, see [ops.Dropout]; nil without dropout
	Weights G.Nodes // [K,…] one node per parameter, in the order of [Model.Params]
	Logits  *G.Node // [K,B,O]
	Loss    *G.Node // [K]; nil in a graph for evaluation
	Grads   G.Nodes // the gradients of Weights; nil in a graph for evaluation

	params []Param
	drops  []Drop
	macs   []float64 // multiply-adds per sample, one number per layer with weights
}

// Nodes returns all nodes, every node behind its inputs.
func (g *Graph) Nodes() (G.Nodes, error) {
	nodes, err := G.Sort(g.X.Graph()) // sorts every node before its inputs
	slices.Reverse(nodes)
	return nodes, err
}

// Maps is the output of a layer: feature maps [K,B,h+2·border,w+2·border,c], or features [K,B,c] if h is 0.
type Maps struct {
	node            *G.Node
	h, w, c, border int
	order           [3]int // h, w, c of the maps that features were flattened from
	pooled          bool   // whether ReLU and max pooling made them, so that many elements are 0
}

// Builder adds layers to a graph. After the first error it adds no more nodes: the maps it returns then have sizes but
// no node, so that the nets need not check an error after every layer.
type Builder struct {
	*Graph
	g     *G.ExprGraph
	model *Model
	exec  *kernels.Exec[float32] // runs the ops; nil in a graph that Gorgonia's machine does not run
	train bool
	err   error
	convs int // convolutions so far
	fcs   int // fully connected layers so far
}

// Graph builds the graph of the net: for training with dropout, loss and gradients, otherwise up to the logits. exec
// runs its ops; it is nil for an engine that translates the graph to kernels of its own.
func (m *Model) Graph(exec *kernels.Exec[float32], K, B int, train bool) (*Graph, error) {
	b := &Builder{Graph: &Graph{K: K, B: B}, g: G.NewGraph(), model: m, exec: exec, train: train}
	if train {
		b.Labels = b.placeholder("labels", tensor.Int32, B)
	}
	out := m.Build(b)
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

// differentiate adds the loss, and its gradients by every parameter.
func (b *Builder) differentiate() (err error) {
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

// fail keeps the first error.
func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// placeholder adds an input [K,shape…] to the graph.
func (b *Builder) placeholder(name string, of tensor.Dtype, shape ...int) *G.Node {
	shape = append([]int{b.K}, shape...)
	return G.NewTensor(b.g, of, len(shape), G.WithShape(shape...), G.WithName(name))
}

// layer returns y with the node that apply makes. After an error it does not call apply.
func (b *Builder) layer(y Maps, apply func() (*G.Node, error)) Maps {
	if b.err == nil {
		y.node, b.err = apply()
	}
	return y
}

// Input adds the images of a batch, in a border of zeros that the first layer needs.
func (b *Builder) Input(border int) Maps {
	m := b.model
	b.Border = border
	b.X = b.placeholder("x", tensor.Float32, b.B, m.H+2*border, m.W+2*border, m.C)
	return Maps{node: b.X, h: m.H, w: m.W, c: m.C, border: border}
}

// mostFused is the most weights of a channel for which convolution, bias, ReLU and pooling are one op: a block of its
// CUDA kernel has them all in shared memory.
const mostFused = 4096

// Conv adds a convolution with windows of r×s pixels over x, padded by pad, which is at most its border; bias and ReLU;
// and 2×2 max pooling if pool, which leaves out the last row and the last column of odd maps. out is the number of
// output channels, border the width of the border of zeros that the next layer needs.
func (b *Builder) Conv(name string, x Maps, out, r, s, stride, pad, border int, pool bool) Maps {
	y := Maps{
		h: (x.h+2*pad-r)/stride + 1, w: (x.w+2*pad-s)/stride + 1, c: out, border: border, pooled: pool,
	}
	fan, even := r*s*x.c, y.h%2 == 0 && y.w%2 == 0
	if pool {
		y.h, y.w = y.h/2, y.w/2
	}
	if !pool || !even || stride > 1 || pad < x.border || r*s*max(x.c, out) > mostFused {
		x = b.conv2d(name, x, out, r, s, stride, pad)
		bias := b.bias(name, out, fan)
		return b.layer(y, func() (*G.Node, error) { return ops.NewBiasReLU(b.exec, x.node, bias, border, pool) })
	}
	w := b.convWeights(name, x, out, r, s)
	bias := b.bias(name, out, fan)
	b.macs = append(b.macs, float64(4*y.h*y.w*fan*out))
	return b.layer(y, func() (*G.Node, error) {
		return ops.NewConvReLUPool(b.exec, x.node, w, bias, x.border, border, b.convs > 1)
	})
}

// conv2d adds a convolution without bias, with windows of r×s pixels, over x padded by pad, which is at most its
// border. The output has no border.
func (b *Builder) conv2d(name string, x Maps, out, r, s, stride, pad int) Maps {
	w, fan := b.convWeights(name, x, out, r, s), r*s*x.c
	y := Maps{h: (x.h+2*pad-r)/stride + 1, w: (x.w+2*pad-s)/stride + 1, c: out}
	b.macs = append(b.macs, float64(y.h*y.w*fan*out))
	return b.layer(y, func() (*G.Node, error) {
		return ops.NewConv2D(b.exec, x.node, w, stride, x.border, pad, b.convs > 1)
	})
}

// convWeights adds the weights of a convolution.
func (b *Builder) convWeights(name string, x Maps, out, r, s int) *G.Node {
	b.convs++
	return b.param(Param{
		Name: name + ".weight", Shape: []int{out, x.c, r, s}, FanIn: r * s * x.c, kind: convParam,
		kernel: []int{r, s, x.c, out},
	})
}

// bias adds a bias of outputs that have fan inputs each.
func (b *Builder) bias(name string, out, fan int) *G.Node {
	return b.param(Param{Name: name + ".bias", Shape: []int{out}, FanIn: fan, kernel: []int{out}})
}

// Linear adds a fully connected layer, flattening maps in front of it.
func (b *Builder) Linear(x Maps, out int, relu bool) Maps {
	return b.namedLinear(fmt.Sprintf("fc%d", b.fcs+1), x, out, relu)
}

// namedLinear adds a fully connected layer whose parameters have the given name.
func (b *Builder) namedLinear(name string, x Maps, out int, relu bool) Maps {
	x = b.flatten(x)
	b.fcs++
	w := b.param(Param{
		Name: name + ".weight", Shape: []int{out, x.c}, FanIn: x.c, kind: linearParam,
		kernel: []int{x.c, out}, order: x.order,
	})
	bias := b.bias(name, out, x.c)
	b.macs = append(b.macs, float64(x.c*out))
	return b.layer(Maps{c: out}, func() (*G.Node, error) {
		return ops.NewLinear(b.exec, x.node, w, bias, relu, x.pooled, b.convs+b.fcs > 1)
	})
}

// Dropout adds a dropout layer, which evaluation graphs leave out.
func (b *Builder) Dropout(x Maps, rate float64) Maps {
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

// Odds turns the single output of a net, the logit of class 1, into the logits of two classes. The logit of class 0 is
// 0.
func (b *Builder) Odds(x Maps) Maps {
	return b.layer(Maps{c: 2}, func() (*G.Node, error) { return ops.NewLogOdds[float32](x.node) })
}

// flatten returns the features of maps without a border; features stay as they are.
func (b *Builder) flatten(x Maps) Maps {
	if x.h == 0 {
		return x
	}
	y := Maps{c: x.h * x.w * x.c, order: [3]int{x.h, x.w, x.c}, pooled: x.pooled}
	return b.layer(y, func() (*G.Node, error) {
		if x.border != 0 {
			return nil, fmt.Errorf("maps of %d×%d×%d with a border of %d cannot be flattened", x.h, x.w, x.c, x.border)
		}
		return ops.NewView[float32](x.node, b.K, b.B, y.c)
	})
}

// param adds a parameter to the model, and returns its input node.
func (b *Builder) param(p Param) *G.Node {
	p.Size = 1
	for _, d := range p.Shape {
		p.Size *= d
	}
	w := b.placeholder(p.Name, tensor.Float32, p.kernel...)
	b.params, b.Weights = append(b.params, p), append(b.Weights, w)
	return w
}
