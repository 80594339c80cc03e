package models

import "rollcall/datasets/plan"

// linearMNIST is multinomial logistic regression on MNIST's pixels (CA-Fed, section VI; FedAR, section VI).
func linearMNIST() *Model {
	return &Model{Name: "linear-mnist", revision: 1, Shape: digits, Build: func(b *Builder) Maps {
		return b.Linear(b.Input(0), b.model.Classes, false)
	}}
}

// linearSynthetic is multinomial logistic regression on the 60 features of LEAF's synthetic data (CA-Fed, ToN, section
// V). The paper's ridge penalty ½·10⁻²·‖w‖² is a WeightDecay of 10⁻² in nets.LocalWork: like the released code, that
// penalises weights and biases.
func linearSynthetic() *Model {
	return &Model{Name: "linear-synthetic", revision: 1, Shape: plan.Shape{H: 1, W: 1, C: 60, Classes: 10}, Build: func(b *Builder) Maps {
		return b.Linear(b.Input(0), b.model.Classes, false)
	}}
}

// linearBinary is logistic regression on the 10 features of CA-Fed's binary data (INFOCOM, section V and appendix F).
// It has one output z, the logit of class 1, as the released code has (binary cross-entropy of a sigmoid), and so 11
// parameters under the ridge. A softmax of two trained outputs would be another model: it would have 22 parameters, and
// half the ridge on the difference of the two outputs.
func linearBinary() *Model {
	return &Model{Name: "linear-binary", revision: 1, Shape: plan.Shape{H: 1, W: 1, C: 10, Classes: 2}, Build: func(b *Builder) Maps {
		return b.Odds(b.Linear(b.Input(0), 1, false))
	}}
}
