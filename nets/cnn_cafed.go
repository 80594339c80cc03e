package nets

// cnnCAFed is the net of CA-Fed for CIFAR-10 (ToN, section VI): two 5×5 convolutions without padding.
func cnnCAFed() *Model {
	return &Model{Name: "cnn-cafed", revision: 1, H: 32, W: 32, C: 3, Classes: 10, build: func(b *builder) maps {
		h := b.input(0)
		h = b.conv(h, 32, 5, 0)
		h = b.conv(h, 64, 5, 0)
		h = b.linear(h, 2048, true)
		return b.linear(h, 10, false)
	}}
}
