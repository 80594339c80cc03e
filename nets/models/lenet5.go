package models

// leNet5 is FedAR's net for CIFAR-10: LeNet-5 with ReLU and max pooling, as is usual today. The paper names LeNet-5
// alone; activation and pooling are inferred.
func leNet5() *Model {
	return &Model{Name: "lenet5", revision: 1, H: 32, W: 32, C: 3, Classes: 10, Build: func(b *Builder) Maps {
		h := b.Input(0)
		h = b.Conv(h, 6, 5, 0)
		h = b.Conv(h, 16, 5, 0)
		h = b.Linear(h, 120, true)
		h = b.Linear(h, 84, true)
		return b.Linear(h, 10, false)
	}}
}
