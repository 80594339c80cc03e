package gpu

import (
	G "gorgonia.org/gorgonia"

	"rollcall/nets/gpu/kernels"
	"rollcall/nets/ops"
)

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
