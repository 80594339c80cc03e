package models

// cnnCAFed is the net of CA-Fed for CIFAR-10 (ToN, section VI): two 5×5 convolutions without padding.
func cnnCAFed() *Model {
	return &Model{Name: "cnn-cafed", revision: 1, H: 32, W: 32, C: 3, Classes: 10, Build: func(b *Builder) Maps {
		h := b.Input(0)
		h = b.Conv(h, 32, 5, 0)
		h = b.Conv(h, 64, 5, 0)
		h = b.Linear(h, 2048, true)
		return b.Linear(h, 10, false)
	}}
}
