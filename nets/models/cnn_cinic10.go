package models

// cnnCINIC10 is FedAWE's net for CINIC-10 (Table 6).
func cnnCINIC10() *Model {
	const rate = 0.2
	return &Model{Name: "cnn-cinic10", revision: 1, H: 32, W: 32, C: 3, Classes: 10, Build: func(b *Builder) Maps {
		h := b.Input(1)
		h = b.Conv(h, 32, 3, 1)
		h = b.Conv(h, 32, 3, 0)
		h = b.Dropout(h, rate)
		h = b.Linear(h, 512, true)
		h = b.Dropout(h, rate)
		h = b.Linear(h, 256, true)
		h = b.Dropout(h, rate)
		return b.Linear(h, 10, false)
	}}
}
