package models

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/ops"
)

// Model is a network: its sizes, its parameters, and how its graph is built for any K and B.
type Model struct {
	Name string
	plan.Shape
	Params  []Param // in PyTorch's state_dict order
	Drops   []Drop  // dropout layers, in order
	P       int     // number of parameters
	Trained int     // elements of a row before its running statistics; P in a net without batch normalisation
	Forward float64 // floating-point operations of the forward pass of one sample; a multiply-add counts two
	Train   float64 // floating-point operations of forward and backward pass; the first layer needs no input gradient
	Linear  bool    // no layer but the last: the loss is convex, and all initialisations draw alike
	Build   func(*Builder) Maps
	// revision is raised by whoever changes what the net computes, its initial weights or its dropout, so that older
	// runs are not taken for equal ones.
	revision int
	winograd bool   // whether the CPU engine computes a convolution by Winograd's algorithm, where nothing is rounded
	layers   layers // what Build builds; nil: it is a function
}

// Param is one parameter tensor. Inside an engine, a row holds it in the order of the kernels, and all running
// statistics behind the weights; in files and in an engine's Load it is in PyTorch's order.
type Param struct {
	Name   string // "conv1.weight"
	Shape  []int  // PyTorch's: [O,C,R,S], [O,I] or [O]
	Size   int    // elements
	Offset int    // index of the first element in the state_dict
	At     int    // index of the first element in a row
	FanIn  int    // inputs of one output, which scale the initial weights
	Last   bool   // belongs to the last layer, the classifier
	// Buffer marks the running statistics of a batch normalisation, which PyTorch calls buffers. They travel with the
	// weights, but have no gradient: training moves them towards the statistics of each batch. Weight decay, clipping,
	// momentum, drift, Combine and Dot of an engine leave them alone; CombineBuffers averages them.
	Buffer bool
	kernel []int  // the shape in the order of the kernels: [R,S,C,O], [I,O] or [O]
	order  [3]int // h, w, c of the feature maps that a fully connected layer flattens; zeros if it flattens none
	kind   paramKind
}

// paramKind says how a parameter is initialised and how its elements are ordered.
type paramKind int

const (
	biasParam   paramKind = iota // the bias of a convolution or a fully connected layer
	shiftParam                   // starts at 0: the bias or the running mean of a batch normalisation
	scaleParam                   // starts at 1: the weight or the running variance of a batch normalisation
	convParam                    // the weights of a convolution
	linearParam                  // the weights of a fully connected layer
)

// Drop is one dropout layer.
type Drop struct {
	Name  string
	Rate  float64
	Size  int    // elements per sample
	order [3]int // as in [Param]
}

// inTorch calls do with the index of every element in the order of the kernels, which is ascending, and in PyTorch's.
func (p Param) inTorch(do func(i, torch int)) {
	outputs := 1 // of weights whose order differs: [R,S,C,O] → [O,C,R,S] and [I,O] → [O,I]
	if p.kind == convParam || p.kind == linearParam {
		outputs = p.kernel[len(p.kernel)-1]
	}
	rows := p.Size / outputs
	for i := range rows {
		at := torchFeature(i, p.order)
		if p.kind == convParam {
			s, c := p.kernel[1], p.kernel[2]
			at = (i%c*p.kernel[0]+i/(s*c))*s + i/c%s
		}
		for o := range outputs {
			do(i*outputs+o, o*rows+at)
		}
	}
}

// torchFeature returns the index of feature i of flattened maps [h,w,c] in PyTorch's order, which flattens [c,h,w].
func torchFeature(i int, order [3]int) int {
	h, w, c := order[0], order[1], order[2]
	if c == 0 {
		return i
	}
	return i%c*h*w + i/c
}

// Buffers returns where the running statistics lie in PyTorch's order: ascending, adjacent ones as one span; nil in a
// net without batch normalisation.
func (m *Model) Buffers() (spans []nets.Span) {
	for _, p := range m.Params {
		last := len(spans) - 1
		switch {
		case !p.Buffer:
		case last >= 0 && spans[last].To == p.Offset:
			spans[last].To += p.Size
		default:
			spans = append(spans, nets.Span{From: p.Offset, To: p.Offset + p.Size})
		}
	}
	return spans
}

// ToTorch copies a row [P], which is in the order of the kernels, to dst [P] in PyTorch's order.
func (m *Model) ToTorch(dst, row []float32) {
	for _, p := range m.Params {
		d, s := dst[p.Offset:][:p.Size], row[p.At:][:p.Size]
		p.inTorch(func(i, torch int) { d[torch] = s[i] })
	}
}

// FromTorch copies src [P], which is in PyTorch's order, to a row [P] in the order of the kernels.
func (m *Model) FromTorch(row, src []float32) {
	for _, p := range m.Params {
		d, s := row[p.At:][:p.Size], src[p.Offset:][:p.Size]
		p.inTorch(func(i, torch int) { d[i] = s[torch] })
	}
}

// Init says how initial weights are drawn.
type Init string

// The initialisations. Both use PyTorch's default for the last layer, and start a batch normalisation with weight 1,
// bias 0, running mean 0 and running variance 1.
const (
	Kaiming Init = "kaiming" // normal with standard deviation √(2/fan_in), zero bias: FedAWE's released code
	Torch   Init = "torch"   // uniform in ±1/√fan_in, weights and biases: PyTorch's default
)

// Init draws initial weights [P], in PyTorch's order. Parameter i reads stream (0, i, 0).
func (m *Model) Init(how Init, seed uint32) []float32 {
	w := make([]float32, m.P)
	for i, p := range m.Params {
		s := rng.Key{Seed: seed, Purpose: rng.Init}.Stream(0, i, 0)
		var draw func() float64
		switch {
		case p.kind == shiftParam:
			continue
		case p.kind == scaleParam:
			draw = func() float64 { return 1 }
		case p.Last || how == Torch:
			bound := 1 / math.Sqrt(float64(p.FanIn))
			draw = func() float64 { return bound * (2*s.Float64() - 1) }
		case p.kind == biasParam:
			continue
		default:
			draw = func() float64 { return math.Sqrt(2/float64(p.FanIn)) * s.Normal() }
		}
		for j := range p.Size {
			w[p.Offset+j] = float32(draw())
		}
	}
	return w
}

// Names returns the names of the catalogue, and of the nets that were registered.
func Names() (names []string) {
	for _, m := range all() {
		names = append(names, m.Name)
	}
	return names
}

// Revision returns the revision of a net for samples of the shape that [New] gives it, or 0 for an unknown name.
func Revision(net string) int {
	m, err := New(net)
	if err != nil {
		m = find(net) // it takes samples of another shape; nil for an unknown name
	}
	return m.Revision()
}

// Revision returns the revision of the net, which is at least 1. It may depend on the shape of the samples.
func (m *Model) Revision() int {
	switch {
	case m == nil:
		return 0
	case m.winograd:
		return m.revision + winogradRevision
	}
	return m.revision
}

// Linear reports whether a net of that name has no layer but the last.
func Linear(net string) bool {
	m := find(net)
	return m != nil && m.Linear
}

// described has the nets that were asked for, by name and shape, as functions that describe them once: the graph of a
// deep net takes milliseconds, and all settings of a table are checked against their nets.
var described sync.Map // shaped → func() (Model, error)

// shaped is a net for samples of a shape.
type shaped struct {
	name  string
	shape plan.Shape
}

// New returns a net as its paper has it, and a registered one for photos. Nobody may change its Params and Drops: all
// that ask for it share them.
func New(name string) (*Model, error) {
	if m := find(name); m != nil {
		return Shaped(name, m.Shape)
	}
	return nil, unknown(name)
}

// Shaped returns a net for samples of a shape. Nobody may change its Params and Drops, as with [New].
func Shaped(name string, shape plan.Shape) (*Model, error) {
	m := find(name)
	if m == nil {
		return nil, unknown(name)
	}
	once, _ := described.LoadOrStore(shaped{name, shape}, sync.OnceValues(func() (Model, error) {
		made := *m
		made.Shape = shape
		err := made.Describe()
		return made, err
	}))
	model, err := once.(func() (Model, error))()
	return &model, err
}

func unknown(name string) error {
	return fmt.Errorf("nets: unknown net %q, want one of %s", name, strings.Join(Names(), ", "))
}

// Describe builds the graph once, and fills in the fields that follow from it: parameters, dropout layers, operations.
func (m *Model) Describe() error {
	g, err := m.Graph(nil, 1, 1, true)
	if err != nil {
		return err
	}
	m.Params, m.Drops = g.params, g.drops
	for i, macs := range g.macs {
		m.Forward += 2 * macs
		m.Train += 2 * 3 * macs
		if i == 0 {
			m.Train -= 2 * macs
		}
	}
	for i := range m.Params {
		p := &m.Params[i]
		p.Offset = m.P
		p.Last = i >= len(m.Params)-2
		m.P += p.Size
	}
	nodes, err := g.Nodes()
	for _, n := range nodes {
		conv, ok := n.Op().(*ops.Conv2D[float32])
		m.winograd = m.winograd || ok && conv.Shape.Winograd()
	}
	m.Trained = m.place(0, false)
	m.place(m.Trained, true)
	return err
}

// place gives the weights, or the running statistics, their places in a row from element at on, and returns the element
// behind them.
func (m *Model) place(at int, buffers bool) int {
	for i := range m.Params {
		if p := &m.Params[i]; p.Buffer == buffers {
			p.At = at
			at += p.Size
		}
	}
	return at
}

// DropoutMask returns the mask [B,F] of a dropout layer in one step of a client, with the features in PyTorch's order.
// 1 means kept.
func (m *Model) DropoutMask(layer int, draw kernels.Draw, batch int) []uint8 {
	d := m.Drops[layer]
	mask := make([]uint8, batch*d.Size)
	kernels.DropoutMask(mask, 0, draw, layer, d.Rate)
	torch := make([]uint8, len(mask))
	for i, v := range mask {
		b, f := i/d.Size, i%d.Size
		torch[b*d.Size+torchFeature(f, d.order)] = v
	}
	return torch
}

// Fits checks that a net can take a data set.
func (m *Model) Fits(s *plan.Samples) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.H != m.H || s.W != m.W || s.C != m.C || s.Classes > m.Classes {
		return fmt.Errorf("nets: %s takes %d×%d×%d images of at most %d classes, %s has %d×%d×%d and %d",
			m.Name, m.H, m.W, m.C, m.Classes, s.Name, s.H, s.W, s.C, s.Classes)
	}
	return nil
}
