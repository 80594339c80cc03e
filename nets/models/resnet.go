package models

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"rollcall/nets/ops"
)

// The residual nets of He et al., Deep residual learning for image recognition, 2016: a 3×3 convolution, stages of
// basic blocks, the mean of every channel, and a fully connected layer. The parameters have the names and the order of
// torchvision's state_dict, without num_batches_tracked, which PyTorch reads only if the momentum is None.

// Residual adds a 3×3 convolution, stages of blocks, the mean of every channel and the last layer. The first stage has
// the given channels and the size of the images; every further stage has twice the channels and half the width and
// height of the one before. Shortcuts have no weights: nets whose shortcuts are projections are texts.
func (b *Builder) Residual(channels, stages, blocks int) Maps {
	h := b.conv2d("conv1", b.Input(1), channels, 3, 3, 1, 1)
	h = b.norm(b.normParams("bn1", h), h, Maps{}, 1, true)
	for s := range stages {
		for i := range blocks {
			stride := 1
			if s > 0 && i == 0 {
				stride = 2
			}
			h = b.basicBlock(fmt.Sprintf("layer%d.%d", s+1, i), h, channels<<s, stride, false, 1)
		}
	}
	return b.namedLinear("fc", b.average(h), b.model.Classes, false)
}

// basicBlock adds relu(norm(conv(relu(norm(conv(x))))) + shortcut(x)). The first convolution has the given stride.
// Where the shape stays the same, the shortcut is x itself. Otherwise it is a projection, a 1×1 convolution and a norm,
// if project, and x subsampled, with zeros for the new channels, if not. The output has the given border, which is that
// of x unless the shortcut is a projection.
func (b *Builder) basicBlock(name string, x Maps, channels, stride int, project bool, border int) Maps {
	h := b.conv2d(name+".conv1", x, channels, 3, 3, stride, 1)
	h = b.norm(b.normParams(name+".bn1", h), h, Maps{}, 1, true)
	h = b.conv2d(name+".conv2", h, channels, 3, 3, 1, 1)
	bn2 := b.normParams(name+".bn2", h)
	switch {
	case stride == 1 && x.c == channels:
	case project:
		x = b.conv2d(name+".downsample.0", x, channels, 1, 1, stride, 0)
		x = b.norm(b.normParams(name+".downsample.1", x), x, Maps{}, border, false)
	default:
		x = b.subsample(x, channels, stride)
	}
	return b.norm(bn2, h, x, border, true)
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
