package models

// linearSynthetic is multinomial logistic regression on the 60 features of LEAF's synthetic data (CA-Fed, ToN, section
// V). The paper's ridge penalty ½·10⁻²·‖w‖² is a WeightDecay of 10⁻² in nets.LocalWork: like the released code, that
// penalises weights and biases.
func linearSynthetic() *Model {
	return &Model{Name: "linear-synthetic", revision: 1, H: 1, W: 1, C: 60, Classes: 10, Build: func(b *Builder) Maps {
		return b.Linear(b.Input(0), 10, false)
	}}
}
