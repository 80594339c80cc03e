package models

// linearBinary is logistic regression on the 10 features of CA-Fed's binary data (INFOCOM, section V and appendix F).
// It has one output z, the logit of class 1, as the released code has (binary cross-entropy of a sigmoid), and so 11
// parameters under the ridge. A softmax of two trained outputs would be another model: it would have 22 parameters, and
// half the ridge on the difference of the two outputs.
func linearBinary() *Model {
	return &Model{Name: "linear-binary", revision: 1, H: 1, W: 1, C: 10, Classes: 2, Build: func(b *Builder) Maps {
		return b.Odds(b.Linear(b.Input(0), 1, false))
	}}
}
