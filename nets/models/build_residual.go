package models

import (
	G "gorgonia.org/gorgonia"

	"rollcall/nets/ops"
)

// normRevision is the revision of the nets with batch normalisation. It stands for what engines and methods do with
// running statistics too. 2: they are averaged apart from the weights, and are part of no norm.
const normRevision = 2

// conv2d adds a window×window convolution without bias. It is padded so that stride 1 keeps the size of the maps. x has
// a border, the output has none.
func (b *Builder) conv2d(name string, x Maps, out, window, stride int) Maps {
	b.convs++
	pad, fan := window/2, window*window*x.c
	w := b.param(Param{
		Name: name + ".weight", Shape: []int{out, x.c, window, window}, FanIn: fan,
		kind: convParam, kernel: []int{window, window, x.c, out},
	})
	y := Maps{h: (x.h-1)/stride + 1, w: (x.w-1)/stride + 1, c: out}
	b.macs = append(b.macs, float64(y.h*y.w*fan*out))
	return b.layer(y, func() (*G.Node, error) {
		return ops.NewConv2D(b.exec, x.node, w, stride, x.border, pad, b.convs > 1)
	})
}

// normParams adds the parameters of a batch normalisation of x: weight, bias, running mean and running variance. It is
// apart from norm because parameters must be added in the order of torchvision's state_dict.
func (b *Builder) normParams(name string, x Maps) G.Nodes {
	var nodes G.Nodes
	for _, p := range []Param{
		{Name: name + ".weight", kind: scaleParam},
		{Name: name + ".bias", kind: shiftParam},
		{Name: name + ".running_mean", kind: shiftParam, Buffer: true},
		{Name: name + ".running_var", kind: scaleParam, Buffer: true},
	} {
		p.Shape, p.kernel, p.FanIn = []int{x.c}, []int{x.c}, 1
		nodes = append(nodes, b.param(p))
	}
	return nodes
}

// norm adds a batch normalisation with the parameters p of [Builder.normParams]. Behind it come the addition of the
// maps add, unless they have no node, and a ReLU if relu.
func (b *Builder) norm(p G.Nodes, x, add Maps, border int, relu bool) Maps {
	y := x
	y.border = border
	return b.layer(y, func() (*G.Node, error) {
		return ops.NewBatchNorm(b.exec, x.node, add.node, p[0], p[1], p[2], p[3], b.Labels, border, relu)
	})
}

// subsample adds a shortcut without weights, see [ops.Subsample].
func (b *Builder) subsample(x Maps, channels, stride int) Maps {
	y := Maps{h: (x.h-1)/stride + 1, w: (x.w-1)/stride + 1, c: channels, border: x.border}
	return b.layer(y, func() (*G.Node, error) {
		return ops.NewSubsample(b.exec, x.node, stride, x.border, channels)
	})
}

// average adds the mean of every channel.
func (b *Builder) average(x Maps) Maps {
	return b.layer(Maps{c: x.c}, func() (*G.Node, error) { return ops.NewGlobalAvgPool(b.exec, x.node, x.border) })
}
