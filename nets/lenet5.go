package nets

// leNet5 is FedAR's net for CIFAR-10: LeNet-5 with ReLU and max pooling, as is usual today. The paper names LeNet-5
// alone; activation and pooling are inferred.
func leNet5() *Model {
	return &Model{Name: "lenet5", revision: 1, H: 32, W: 32, C: 3, Classes: 10, build: func(b *builder) maps {
		h := b.input(0)
		h = b.conv(h, 6, 5, 0)
		h = b.conv(h, 16, 5, 0)
		h = b.linear(h, 120, true)
		h = b.linear(h, 84, true)
		return b.linear(h, 10, false)
	}}
}
