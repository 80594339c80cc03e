package models

// cnnCIFAR10 is FedAWE's net for CIFAR-10 (Table 6).
func cnnCIFAR10() *Model {
	return &Model{Name: "cnn-cifar10", revision: 1, H: 32, W: 32, C: 3, Classes: 10, Build: func(b *Builder) Maps {
		h := b.Input(1)
		h = b.Conv(h, 32, 3, 1)
		h = b.Conv(h, 32, 3, 0)
		h = b.Linear(h, 256, true)
		h = b.Linear(h, 64, true)
		return b.Linear(h, 10, false)
	}}
}
