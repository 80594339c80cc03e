package gpu

import (
	"fmt"
	"slices"

	"rollcall/nets/gpu/kernels"
)

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

// sink returns the address for the gradients that a kernel may hand to weights at once. It is 0, so that the kernel
// updates the weights, unless they are clipped.
func (l *lowerer) sink(f *frame) uint64 {
	if l.clip {
		return f.grad
	}
	return 0
}

// takes returns what a kernel accesses that hands the gradients of some parameters to their sink. A buffer of the
// weights stands for the momentum and the drift beside it, too.
func (l *lowerer) takes(reads buffers, params ...int) access {
	if l.clip {
		return access{reads, of(l.grads, params)}
	}
	updated := of(l.weights, params)
	return access{append(reads, updated...), updated}
}

// of returns the buffers of some parameters.
func of(all buffers, params []int) (some buffers) {
	for _, p := range params {
		some = append(some, all[p])
	}
	return some
}

// update queues what is left of a step of SGD. With clip this is all: two kernels compute the factor that clips the
// norm of the gradient, and sgd multiplies by it on the way, so that the gradient is not written again. Without clip it
// is the batch normalisations; all other weights have been updated. The running statistics come last, if the net has
// any.
func (l *lowerer) update() {
	P, n, span := uint32(l.layout.P), uint32(l.layout.trained), l.program.gradients
	l.layer = "weights"
	norms, scale := &buffer{name: "norms"}, &buffer{name: "scale"}
	if l.clip {
		c := kernels.ClipArgs{P: P, N: n}
		fill := func(f *frame, c *kernels.ClipArgs) {
			c.Work, c.Grad, c.Partial, c.Scale = f.work, f.grad, f.norms, f.scale
		}
		queue(l, "grad_squares", (*kernels.ClipArgs).Squares, c, fill, access{l.grads, buffers{norms}})
		queue(l, "clip_scale", (*kernels.ClipArgs).Scales, c, fill, access{buffers{norms}, buffers{scale}})
	}
	if span.size() == 0 {
		return
	}
	a := kernels.SGDArgs{P: P, N: n, First: uint32(span.from)}
	fill := func(f *frame, a *kernels.SGDArgs) {
		a.Work, a.Grad, a.Scale, a.Step, a.E = f.work, f.grad, f.scale, f.step, f.E
	}
	var trained, running []int
	for i, p := range l.model.Params {
		switch {
		case p.Buffer:
			running = append(running, i)
		case l.layout.offset[i] >= span.from:
			trained = append(trained, i)
		}
	}
	update := func(params []int, more ...*buffer) access {
		weights := of(l.weights, params)
		return access{slices.Concat(of(l.grads, params), weights, more), weights}
	}
	queue(l, "sgd", (*kernels.SGDArgs).Launch, a, fill, update(trained, scale)) // nobody writes scale without clip
	if n < P {
		queue(l, "track", (*kernels.SGDArgs).Running, a, fill, update(running))
	}
}
