package gpu

import "fmt"

// part is a piece of a vector of gradients. Take nodes name a part by its place among the elements of the vector.
type part struct {
	value
	nodes int // elements in the graph, borders included
}

// gradients returns the vector of the gradients of a layer's inputs: one node of the graph, from which Take nodes take
// a part each. On the device every part has memory of its own, and taking it costs nothing. dx is the gradient of the
// layer's input, which has `nodes` elements in the graph; it is nil if nobody wants it. The gradients of the parameters
// follow, in their order.
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

// take returns the part of a vector of gradients that has n elements from offset on, as the graph counts.
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
	return value{}, fmt.Errorf("%d elements from %d on are not one of the %d parts of a gradient",
		n, offset, len(in[0].parts))
}
