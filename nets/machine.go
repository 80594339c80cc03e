package nets

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// machine runs a graph with Gorgonia's tape machine. Its inputs and outputs keep their memory from run to run.
type machine struct {
	graph  *Graph
	vm     G.VM
	X      []float32   // [K,B,H+2·Border,W+2·Border,C]
	Labels []int32     // [K,B]
	Draw   []int32     // [K,4]; nil without dropout
	Logits []float32   // [K,B,O], after the first run
	Loss   []float32   // [K]
	Grads  [][]float32 // [K,…] one gradient per parameter
}

// newMachine returns a machine for a graph. It allocates the inputs except for the weights: weights has a buffer [K,…]
// per parameter, so that the training graph and the evaluation graph of a slot share them.
func newMachine(g *Graph, weights [][]float32) (*machine, error) {
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
	m.vm = G.NewTapeMachine(g.g)
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
	if err := m.vm.RunAll(); err != nil {
		return fmt.Errorf("nets: %w", err)
	}
	m.vm.Reset()
	if m.Logits == nil {
		m.Logits = m.graph.Logits.Value().Data().([]float32)
		if m.graph.Loss != nil {
			m.Loss = m.graph.Loss.Value().Data().([]float32)
		}
		for _, g := range m.graph.Grads {
			m.Grads = append(m.Grads, g.Value().Data().([]float32))
		}
	}
	return nil
}
