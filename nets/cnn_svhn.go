package nets

// cnnSVHN is FedAWE's net for SVHN (Table 6).
func cnnSVHN() *Model {
	return &Model{Name: "cnn-svhn", revision: 1, H: 32, W: 32, C: 3, Classes: 10, build: func(b *builder) maps {
		h := b.input(1)
		h = b.conv(h, 32, 3, 1)
		h = b.conv(h, 32, 3, 0)
		h = b.linear(h, 128, true)
		return b.linear(h, 10, false)
	}}
}
