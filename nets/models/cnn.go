package models

// cnnSVHN is FedAWE's net for SVHN (Table 6).
func cnnSVHN() *Model {
	return &Model{Name: "cnn-svhn", revision: 1, Shape: photos, Build: func(b *Builder) Maps {
		h := b.Input(1)
		h = b.Conv(h, 32, 3, 1)
		h = b.Conv(h, 32, 3, 0)
		h = b.Linear(h, 128, true)
		return b.Linear(h, b.model.Classes, false)
	}}
}

// cnnCIFAR10 is FedAWE's net for CIFAR-10 (Table 6).
func cnnCIFAR10() *Model {
	return &Model{Name: "cnn-cifar10", revision: 1, Shape: photos, Build: func(b *Builder) Maps {
		h := b.Input(1)
		h = b.Conv(h, 32, 3, 1)
		h = b.Conv(h, 32, 3, 0)
		h = b.Linear(h, 256, true)
		h = b.Linear(h, 64, true)
		return b.Linear(h, b.model.Classes, false)
	}}
}

// cnnCINIC10 is FedAWE's net for CINIC-10 (Table 6).
func cnnCINIC10() *Model {
	const rate = 0.2
	return &Model{Name: "cnn-cinic10", revision: 1, Shape: photos, Build: func(b *Builder) Maps {
		h := b.Input(1)
		h = b.Conv(h, 32, 3, 1)
		h = b.Conv(h, 32, 3, 0)
		h = b.Dropout(h, rate)
		h = b.Linear(h, 512, true)
		h = b.Dropout(h, rate)
		h = b.Linear(h, 256, true)
		h = b.Dropout(h, rate)
		return b.Linear(h, b.model.Classes, false)
	}}
}

// cnnCAFed is the net of CA-Fed for CIFAR-10 (ToN, section VI): two 5×5 convolutions without padding.
func cnnCAFed() *Model {
	return &Model{Name: "cnn-cafed", revision: 1, Shape: photos, Build: func(b *Builder) Maps {
		h := b.Input(0)
		h = b.Conv(h, 32, 5, 0)
		h = b.Conv(h, 64, 5, 0)
		h = b.Linear(h, 2048, true)
		return b.Linear(h, b.model.Classes, false)
	}}
}

// leNet5 is FedAR's net for CIFAR-10: LeNet-5 with ReLU and max pooling, as is usual today. The paper names LeNet-5
// alone; activation and pooling are inferred.
func leNet5() *Model {
	return &Model{Name: "lenet5", revision: 1, Shape: photos, Build: func(b *Builder) Maps {
		h := b.Input(0)
		h = b.Conv(h, 6, 5, 0)
		h = b.Conv(h, 16, 5, 0)
		h = b.Linear(h, 120, true)
		h = b.Linear(h, 84, true)
		return b.Linear(h, b.model.Classes, false)
	}}
}
