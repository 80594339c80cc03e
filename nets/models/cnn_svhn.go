package models

// cnnSVHN is FedAWE's net for SVHN (Table 6).
func cnnSVHN() *Model {
	return &Model{Name: "cnn-svhn", revision: 1, H: 32, W: 32, C: 3, Classes: 10, Build: func(b *Builder) Maps {
		h := b.Input(1)
		h = b.Conv(h, 32, 3, 1)
		h = b.Conv(h, 32, 3, 0)
		h = b.Linear(h, 128, true)
		return b.Linear(h, 10, false)
	}}
}
