package nets

// cnnCIFAR10 is FedAWE's net for CIFAR-10 (Table 6).
func cnnCIFAR10() *Model {
	return &Model{Name: "cnn-cifar10", revision: 1, H: 32, W: 32, C: 3, Classes: 10, build: func(b *builder) maps {
		h := b.input(1)
		h = b.conv(h, 32, 3, 1)
		h = b.conv(h, 32, 3, 0)
		h = b.linear(h, 256, true)
		h = b.linear(h, 64, true)
		return b.linear(h, 10, false)
	}}
}
