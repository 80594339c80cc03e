package models

import "fmt"

// The residual nets of He et al., Deep residual learning for image recognition, 2016: a 3×3 convolution, stages of
// basic blocks, the mean of every channel, and a fully connected layer. The parameters have the names and the order of
// torchvision's state_dict, without num_batches_tracked, which PyTorch reads only if the momentum is None.

// basicBlock adds relu(norm(conv(relu(norm(conv(x))))) + shortcut(x)). The first convolution has the given stride.
// Where the shape stays the same, the shortcut is x itself. Otherwise it is a projection, a 1×1 convolution and a norm,
// if project, and x subsampled, with zeros for the new channels, if not.
func (b *Builder) basicBlock(name string, x Maps, channels, stride int, project bool) Maps {
	h := b.conv2d(name+".conv1", x, channels, 3, stride)
	h = b.norm(b.normParams(name+".bn1", h), h, Maps{}, 1, true)
	h = b.conv2d(name+".conv2", h, channels, 3, 1)
	bn2 := b.normParams(name+".bn2", h)
	switch {
	case stride == 1 && x.c == channels:
	case project:
		x = b.conv2d(name+".downsample.0", x, channels, 1, stride)
		x = b.norm(b.normParams(name+".downsample.1", x), x, Maps{}, 1, false)
	default:
		x = b.subsample(x, channels, stride)
	}
	return b.norm(bn2, h, x, 1, true)
}

// Residual builds a whole net. The first stage has the given channels and the size of the images; every further stage
// has twice the channels and half the width and height of the one before. Every stage has the given number of blocks.
func (b *Builder) Residual(channels, stages, blocks int, project bool) Maps {
	h := b.conv2d("conv1", b.Input(1), channels, 3, 1)
	h = b.norm(b.normParams("bn1", h), h, Maps{}, 1, true)
	for s := range stages {
		for i := range blocks {
			stride := 1
			if s > 0 && i == 0 {
				stride = 2
			}
			h = b.basicBlock(fmt.Sprintf("layer%d.%d", s+1, i), h, channels<<s, stride, project)
		}
	}
	return b.namedLinear("fc", b.average(h), b.model.Classes, false)
}
