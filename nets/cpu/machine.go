package cpu

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/models"
	"rollcall/nets/ops"
)

// machine runs a graph: it calls the ops one after another, in the order in which Gorgonia's compiler sorts them.
// Inputs and outputs keep their memory from run to run, so it looks up once what each op reads.
//
// A test compares the bytes with those of Gorgonia's tape machine, which starts a thread for every run and allocates in
// every op: a small net computes for less time than that takes.
type machine struct {
	graph  *models.Graph
	calls  []*call     // empty before the first run
	X      []float32   // [K,B,H+2·Border,W+2·Border,C]
	Labels []int32     // [K,B]
	Draw   []int32     // [K,4]; nil without dropout
	Logits []float32   // [K,B,O], after the first run
	Loss   []float32   // [K]
	Grads  [][]float32 // [K,…] one gradient per parameter
}

// call is an op of a graph with the values that it reads and computes.
type call struct {
	node *G.Node
	do   func(in ...G.Value) (G.Value, error)
	in   []G.Value
	out  G.Value // the same in every run
}

// newMachine returns a machine for a graph. It allocates the inputs except for the weights: weights has a buffer [K,…]
// per parameter, so that the training graph and the evaluation graph of a slot share them.
func newMachine(g *models.Graph, weights [][]float32) (*machine, error) {
	m := &machine{graph: g}
	var err error
	if m.X, err = allocate[float32](g.X); err != nil {
		return nil, err
	}
	if m.Labels, err = allocate[int32](g.Labels); err != nil {
		return nil, err
	}
	if m.Draw, err = allocate[int32](g.Draw); err != nil {
		return nil, err
	}
	for i, n := range g.Weights {
		if err := let(n, weights[i]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// allocate binds an input to a new buffer, and returns the buffer. n is nil if the graph does not have the input.
func allocate[E any](n *G.Node) ([]E, error) {
	if n == nil {
		return nil, nil
	}
	data := make([]E, n.Shape().TotalSize())
	return data, let(n, data)
}

// let binds an input to its buffer.
func let[E any](n *G.Node, data []E) error {
	t := tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(data))
	if err := G.Let(n, t); err != nil {
		return fmt.Errorf("nets: input %s: %w", n.Name(), err)
	}
	return nil
}

// run executes the graph once. The first run sets Logits, Loss and Grads to the output buffers of the graph.
func (m *machine) run() error {
	if m.calls == nil {
		return m.first()
	}
	for _, c := range m.calls {
		if err := c.run(); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) run() error {
	out, err := c.do(c.in...)
	if c.out == nil {
		c.out = out
	}
	switch {
	case err != nil:
		return fmt.Errorf("nets: %v: %w", c.node, err)
	case out != c.out:
		return fmt.Errorf("nets: %v: its output is not where it was", c.node) // those who read it would not see it
	}
	return nil
}

// first executes the graph, and records the calls and the outputs.
func (m *machine) first() error {
	nodes, err := m.graph.Nodes()
	if err != nil {
		return err
	}
	halves := halvesOfSums(nodes)
	var calls []*call
	values := map[*G.Node]G.Value{}
	summed := map[*G.Node]*G.Node{} // the term of a sum that has become the sum
	for _, n := range nodes {
		if op := n.Op(); op == nil || op.Arity() == 0 { // an input or a constant
			values[n] = n.Value()
			continue
		}
		c := &call{node: n, do: n.Op().Do}
		if half, ok := halves[n]; ok && values[half.other] != nil { // the later half of a sum computes the sum
			half.conv.Plus = floats(values[half.other])
			summed[half.sum] = half.term
		}
		if isSum(n) {
			term, ok := summed[n]
			if !ok {
				return fmt.Errorf("nets: %v: want a sum of two gradients, the later one of a convolution's input", n)
			}
			values[n] = values[term]
			continue
		}
		for _, in := range ops.Inputs(n) {
			c.in = append(c.in, values[in])
		}
		if err := c.run(); err != nil {
			return err
		}
		values[n] = c.out
		calls = append(calls, c)
	}
	m.calls = calls
	m.Logits = floats(values[m.graph.Logits])
	m.Loss = floats(values[m.graph.Loss])
	for _, g := range m.graph.Grads {
		m.Grads = append(m.Grads, floats(values[g]))
	}
	return nil
}

// half is one of the two terms of a sum of gradients: that of a convolution's input.
type half struct {
	conv             *ops.Conv2D[float32]
	sum, term, other *G.Node
}

// halvesOfSums returns these terms by the node that computes the gradients of their convolution.
func halvesOfSums(nodes G.Nodes) map[*G.Node]half {
	halves := map[*G.Node]half{}
	for _, n := range nodes {
		if !isSum(n) {
			continue
		}
		in := ops.Inputs(n)
		for i, term := range in {
			if conv, ok := ops.InputGradient[float32](term).(*ops.Conv2D[float32]); ok {
				halves[ops.Inputs(term)[0]] = half{conv, n, term, in[1-i]}
			}
		}
	}
	return halves
}

// isSum reports whether a node is a sum of two gradients: Gorgonia inserts it where two ops read a value.
func isSum(n *G.Node) bool { return n.Op() != nil && n.Op().String() == "+ false" }

// floats returns the elements of a value, nil for none.
func floats(v G.Value) []float32 {
	if v == nil {
		return nil
	}
	return v.Data().([]float32)
}
