package nets

// cnnCINIC10 is FedAWE's net for CINIC-10 (Table 6).
func cnnCINIC10() *Model {
	const rate = 0.2
	return &Model{Name: "cnn-cinic10", revision: 1, H: 32, W: 32, C: 3, Classes: 10, build: func(b *builder) maps {
		h := b.input(1)
		h = b.conv(h, 32, 3, 1)
		h = b.conv(h, 32, 3, 0)
		h = b.dropout(h, rate)
		h = b.linear(h, 512, true)
		h = b.dropout(h, rate)
		h = b.linear(h, 256, true)
		h = b.dropout(h, rate)
		return b.linear(h, 10, false)
	}}
}
