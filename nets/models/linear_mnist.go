package models

// linearMNIST is multinomial logistic regression on MNIST's pixels (CA-Fed, section VI; FedAR, section VI).
func linearMNIST() *Model {
	return &Model{Name: "linear-mnist", revision: 1, H: 28, W: 28, C: 1, Classes: 10, Build: func(b *Builder) Maps {
		return b.Linear(b.Input(0), 10, false)
	}}
}
