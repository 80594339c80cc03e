package nets

import G "gorgonia.org/gorgonia"

// Graph is the Gorgonia graph of a net for one client, for executors that lower it to memory of their own.
type Graph struct {
	B       int
	Border  int     // of zeros around every image of X
	Nodes   G.Nodes // all of them, inputs before what reads them
	X       *G.Node // [1,B,H+2·Border,W+2·Border,C]
	Labels  *G.Node // [1,B]; nil in a graph without loss, as are Loss and Grads
	Draw    *G.Node // [1,4]; nil without dropout
	Weights G.Nodes // of every parameter, in the order of Model.Params
	Logits  *G.Node // [1,B,O]
	Loss    *G.Node // [1]
	Grads   G.Nodes // of every parameter
}

// Graph builds the net's graph for batches of B: up to the logits, or for training with dropout, loss and gradients. Its
// ops cannot be run by Gorgonia's machine.
func (m *Model) Graph(B int, train bool) (*Graph, error) {
	g, err := buildGraph[float32](m, nil, 1, B, train)
	if err != nil {
		return nil, err
	}
	sorted, err := G.Sort(g.g) // what reads first
	if err != nil {
		return nil, err
	}
	nodes := make(G.Nodes, 0, len(sorted))
	for i := range sorted {
		nodes = append(nodes, sorted[len(sorted)-1-i])
	}
	return &Graph{
		B: B, Border: g.border, Nodes: nodes, X: g.x, Labels: g.labels, Draw: g.draw, Weights: g.weight,
		Logits: g.logits, Loss: g.loss, Grads: g.grads,
	}, nil
}
