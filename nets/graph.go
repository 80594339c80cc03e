package nets

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu"
	"rollcall/nets/ops"
)

// graph is the Gorgonia graph of a model for K clients and batches of B; every executor starts from it.
type graph[T cpu.Float] struct {
	g      *G.ExprGraph
	K, B   int
	border int     // of zeros around every image of x
	x      *G.Node // [K,B,H+2·border,W+2·border,C]
	labels *G.Node // [K,B] int32, −1 pads
	draw   *G.Node // [K,4] int32, see [ops.Dropout]; nil without dropout
	weight G.Nodes // [K,…] of every parameter
	logits *G.Node // [K,B,O]
	loss   *G.Node // [K]; training graphs only, as are the gradients
	grads  G.Nodes

	params []Param
	drops  []Drop
	macs   []float64
}

// maps is a value on its way through the builder: feature maps [K,B,h+2·border,w+2·border,c], or features [K,B,c] if h is 0.
type maps struct {
	node            *G.Node
	h, w, c, border int
	order           [3]int // of features that were maps: their h, w, c
}

// builder adds layers to a graph; after the first error it does nothing.
type builder struct {
	model  *Model
	train  bool
	err    error
	params []Param
	drops  []Drop
	macs   []float64 // multiply-adds per sample of every layer with weights
	convs  int
	fcs    int

	// what depends on the element type
	newInput   func(border int) *G.Node
	newWeight  func(name string, shape ...int) *G.Node
	newConv    func(x, w, b *G.Node, pad, outPad int, inputGrad bool) (*G.Node, error)
	newLinear  func(x, w, b *G.Node, relu, inputGrad bool) (*G.Node, error)
	newView    func(x *G.Node, features int) (*G.Node, error)
	newDropout func(x *G.Node, layer int, rate float64) (*G.Node, error)
	newLogOdds func(x *G.Node) (*G.Node, error)

	newConv2D    func(x, w *G.Node, stride, border, pad int, inputGrad bool) (*G.Node, error)
	newNorm      func(x, add *G.Node, params G.Nodes, border int, relu bool) (*G.Node, error)
	newSubsample func(x *G.Node, stride, border, channels int) (*G.Node, error)
	newAverage   func(x *G.Node, border int) (*G.Node, error)
}

// buildGraph builds a model's graph: for training with dropout, loss and gradients, else up to the logits.
func buildGraph[T cpu.Float](m *Model, exec *cpu.Exec[T], K, B int, train bool) (*graph[T], error) {
	g := &graph[T]{g: G.NewGraph(), K: K, B: B}
	input := func(name string, of tensor.Dtype, shape ...int) *G.Node {
		return G.NewTensor(g.g, of, len(shape), G.WithShape(shape...), G.WithName(name))
	}
	if train {
		g.labels = input("labels", tensor.Int32, K, B)
	}
	b := &builder{
		model: m, train: train,
		newInput: func(border int) *G.Node {
			g.border = border
			g.x = input("x", ops.DtypeOf[T](), K, B, m.H+2*border, m.W+2*border, m.C)
			return g.x
		},
		newWeight: func(name string, shape ...int) *G.Node {
			w := input(name, ops.DtypeOf[T](), append([]int{K}, shape...)...)
			g.weight = append(g.weight, w)
			return w
		},
		newConv: func(x, w, b *G.Node, pad, outPad int, inputGrad bool) (*G.Node, error) {
			return ops.NewConvReLUPool(exec, x, w, b, pad, outPad, inputGrad)
		},
		newLinear: func(x, w, b *G.Node, relu, inputGrad bool) (*G.Node, error) {
			return ops.NewLinear(exec, x, w, b, relu, inputGrad)
		},
		newView: func(x *G.Node, features int) (*G.Node, error) { return ops.NewView[T](x, K, B, features) },
		newDropout: func(x *G.Node, layer int, rate float64) (*G.Node, error) {
			if g.draw == nil {
				g.draw = input("draw", tensor.Int32, K, ops.DrawWords)
			}
			return ops.NewDropout(exec, x, g.draw, layer, rate)
		},
		newLogOdds: ops.NewLogOdds[T],
		newConv2D: func(x, w *G.Node, stride, border, pad int, inputGrad bool) (*G.Node, error) {
			return ops.NewConv2D(exec, x, w, stride, border, pad, inputGrad)
		},
		newNorm: func(x, add *G.Node, p G.Nodes, border int, relu bool) (*G.Node, error) {
			return ops.NewBatchNorm(exec, x, add, p[0], p[1], p[2], p[3], g.labels, border, relu)
		},
		newSubsample: func(x *G.Node, stride, border, channels int) (*G.Node, error) {
			return ops.NewSubsample(exec, x, stride, border, channels)
		},
		newAverage: func(x *G.Node, border int) (*G.Node, error) { return ops.NewGlobalAvgPool(exec, x, border) },
	}
	out := m.build(b)
	if b.err == nil && (out.h != 0 || out.c != m.Classes) {
		b.err = fmt.Errorf("the last layer has %d outputs, want %d", out.c, m.Classes)
	}
	if b.err != nil {
		return nil, fmt.Errorf("nets: %s: %w", m.Name, b.err)
	}
	g.logits, g.params, g.drops, g.macs = out.node, b.params, b.drops, b.macs
	if !train {
		return g, nil
	}
	var err error
	if g.loss, err = ops.NewCrossEntropy(exec, g.logits, g.labels); err != nil {
		return nil, fmt.Errorf("nets: %s: %w", m.Name, err)
	}
	cost, err := ops.NewSumClients[T](g.loss)
	if err != nil {
		return nil, fmt.Errorf("nets: %s: %w", m.Name, err)
	}
	if g.grads, err = G.Grad(cost, g.weight...); err != nil {
		return nil, fmt.Errorf("nets: %s: gradient: %w", m.Name, err)
	}
	return g, nil
}

// input returns the images, with a border of zeros.
func (b *builder) input(border int) maps {
	return maps{node: b.newInput(border), h: b.model.H, w: b.model.W, c: b.model.C, border: border}
}

// conv adds a window×window convolution over x and its border, ReLU and 2×2 max pooling; out is the number of channels,
// border the width of the zeros the next layer wants.
func (b *builder) conv(x maps, out, window, border int) maps {
	if b.err != nil {
		return maps{}
	}
	b.convs++
	name := fmt.Sprintf("conv%d", b.convs)
	fan := window * window * x.c
	w := b.param(Param{Name: name + ".weight", Shape: []int{out, x.c, window, window}, FanIn: fan, kind: convParam, kernel: []int{window, window, x.c, out}})
	bias := b.param(Param{Name: name + ".bias", Shape: []int{out}, FanIn: fan, kernel: []int{out}})
	y := maps{h: (x.h + 2*x.border - window + 1) / 2, w: (x.w + 2*x.border - window + 1) / 2, c: out, border: border}
	b.macs = append(b.macs, float64(4*y.h*y.w*fan*out))
	y.node, b.err = b.newConv(x.node, w, bias, x.border, border, b.convs > 1)
	return y
}

// linear adds a fully connected layer, flattening maps in front of it.
func (b *builder) linear(x maps, out int, relu bool) maps {
	return b.namedLinear(fmt.Sprintf("fc%d", b.fcs+1), x, out, relu)
}

func (b *builder) namedLinear(name string, x maps, out int, relu bool) maps {
	x = b.flatten(x)
	if b.err != nil {
		return maps{}
	}
	b.fcs++
	w := b.param(Param{Name: name + ".weight", Shape: []int{out, x.c}, FanIn: x.c, kind: linearParam, kernel: []int{x.c, out}, order: x.order})
	bias := b.param(Param{Name: name + ".bias", Shape: []int{out}, FanIn: x.c, kernel: []int{out}})
	b.macs = append(b.macs, float64(x.c*out))
	y := maps{c: out}
	y.node, b.err = b.newLinear(x.node, w, bias, relu, b.convs+b.fcs > 1)
	return y
}

// dropout adds a dropout layer, which evaluation graphs leave out.
func (b *builder) dropout(x maps, rate float64) maps {
	x = b.flatten(x)
	if b.err != nil {
		return maps{}
	}
	layer := len(b.drops)
	b.drops = append(b.drops, Drop{Name: fmt.Sprintf("drop%d", layer+1), Rate: rate, Size: x.c, order: x.order})
	if b.train {
		x.node, b.err = b.newDropout(x.node, layer, rate)
	}
	return x
}

// odds ends a net of one output, the logit of class 1, in the logits of two classes, that of class 0 being 0.
func (b *builder) odds(x maps) maps {
	if b.err != nil {
		return maps{}
	}
	x.node, b.err = b.newLogOdds(x.node)
	x.c = 2
	return x
}

func (b *builder) flatten(x maps) maps {
	if b.err != nil || x.h == 0 {
		return x
	}
	if x.border != 0 {
		b.err = fmt.Errorf("maps of %d×%d×%d with a border of %d cannot be flattened", x.h, x.w, x.c, x.border)
		return maps{}
	}
	y := maps{c: x.h * x.w * x.c, order: [3]int{x.h, x.w, x.c}}
	y.node, b.err = b.newView(x.node, y.c)
	return y
}

func (b *builder) param(p Param) *G.Node {
	b.params = append(b.params, p)
	return b.newWeight(p.Name, p.kernel...)
}
