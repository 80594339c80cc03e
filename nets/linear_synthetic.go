package nets

// linearSynthetic is multinomial logistic regression on the 60 features of LEAF's synthetic data (CA-Fed, ToN, section
// V). Its ridge penalty ½·10⁻²·‖w‖², of weights and bias alike as in the released code, is [LocalWork]'s WeightDecay of
// 10⁻².
func linearSynthetic() *Model {
	return &Model{Name: "linear-synthetic", revision: 1, H: 1, W: 1, C: 60, Classes: 10, build: func(b *builder) maps {
		return b.linear(b.input(0), 10, false)
	}}
}
