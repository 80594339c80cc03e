package nets

import "fmt"

// The residual nets of He et al. (2016): a convolution of 3×3, stages of basic blocks, the mean of every channel, and a
// fully connected layer. Names and order of the parameters are those of torchvision's state_dict, without
// num_batches_tracked, which nothing reads as long as the momentum of the running statistics is a number.

// basicBlock adds relu(norm(conv(relu(norm(conv(x))))) + shortcut(x)); the first convolution has the stride. Where it
// changes the shape, the shortcut is a projection, convolution of 1×1 and norm, or x subsampled, with zeros for new
// channels.
func (b *builder) basicBlock(name string, x maps, channels, stride int, project bool) maps {
	h := b.conv2d(name+".conv1", x, channels, 3, stride)
	h = b.norm(b.normParams(name+".bn1", h), h, maps{}, 1, true)
	h = b.conv2d(name+".conv2", h, channels, 3, 1)
	bn2 := b.normParams(name+".bn2", h)
	switch {
	case stride == 1 && x.c == channels:
	case project:
		x = b.conv2d(name+".downsample.0", x, channels, 1, stride)
		x = b.norm(b.normParams(name+".downsample.1", x), x, maps{}, 1, false)
	default:
		x = b.subsample(x, channels, stride)
	}
	return b.norm(bn2, h, x, 1, true)
}

// residual builds a net of stages, each with twice the channels of the one before and half its pixels.
func (b *builder) residual(channels, stages, blocks int, project bool) maps {
	h := b.conv2d("conv1", b.input(1), channels, 3, 1)
	h = b.norm(b.normParams("bn1", h), h, maps{}, 1, true)
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
