package models

import "rollcall/datasets/plan"

// The shapes of the sets of photos, and of MNIST.
var (
	photos = plan.Shape{H: 32, W: 32, C: 3, Classes: 10}
	digits = plan.Shape{H: 28, W: 28, C: 1, Classes: 10}
)

// normRevision is the revision of the nets with batch normalisation. It stands for what engines and methods do with
// running statistics too. 2: they are averaged apart from the weights, and are part of no norm.
const normRevision = 2

// winogradRevision is added to the revision of the nets with a convolution that the CPU engine computes by Winograd's
// algorithm; see [kernels.Conv2DShape.Winograd]. 1: until then it computed all of them directly.
const winogradRevision = 1

// catalogue are the nets of the papers; a new one is a text or a function here.
var catalogue = []*Model{
	// FedAWE's nets (Table 6).
	of("cnn-svhn", photos, "conv 32 3x3 pad 1 pool, conv 32 3x3 pad 1 pool, linear 128"),
	of("cnn-cifar10", photos, "conv 32 3x3 pad 1 pool, conv 32 3x3 pad 1 pool, linear 256, linear 64"),
	of("cnn-cinic10", photos, "conv 32 3x3 pad 1 pool, conv 32 3x3 pad 1 pool, dropout 0.2, linear 512, dropout 0.2, "+
		"linear 256, dropout 0.2"),

	// The net of CA-Fed for CIFAR-10 (ToN, section VI): two 5×5 convolutions without padding.
	of("cnn-cafed", photos, "conv 32 5x5 pool, conv 64 5x5 pool, linear 2048"),

	// FedAR's net for CIFAR-10: LeNet-5 with ReLU and max pooling, as is usual today. The paper names LeNet-5 alone;
	// activation and pooling are inferred.
	of("lenet5", photos, "conv 6 5x5 pool, conv 16 5x5 pool, linear 120, linear 84"),

	// Multinomial logistic regression on MNIST's pixels (CA-Fed, section VI; FedAR, section VI).
	of("linear-mnist", digits, none),

	// Multinomial logistic regression on the 60 features of LEAF's synthetic data (CA-Fed, ToN, section V). The paper's
	// ridge penalty ½·10⁻²·‖w‖² is a WeightDecay of 10⁻² in nets.LocalWork: like the released code, that penalises
	// weights and biases.
	of("linear-synthetic", plan.Shape{H: 1, W: 1, C: 60, Classes: 10}, none),

	// Logistic regression on the 10 features of CA-Fed's binary data (INFOCOM, section V and appendix F). It has one
	// output z, the logit of class 1, as the released code has (binary cross-entropy of a sigmoid), and so 11
	// parameters under the ridge. A softmax of two trained outputs would be another model: it would have 22 parameters,
	// and half the ridge on the difference of the two outputs.
	{
		Name: "linear-binary", revision: 1, Shape: plan.Shape{H: 1, W: 1, C: 10, Classes: 2}, Linear: true,
		Build: func(b *Builder) Maps { return b.Odds(b.Linear(b.Input(0), 1, false)) },
	},

	// FedAR's large net for CIFAR-10: ResNet-18 in its usual form for images of 32×32, whose first convolution is 3×3
	// with stride 1 and without max pooling behind it. The paper names ResNet-18 alone; the form is inferred.
	of("resnet18", photos, "conv 64 3x3 pad 1 norm relu, block 64, block 64, block 128 stride 2, block 128, "+
		"block 256 stride 2, block 256, block 512 stride 2, block 512, average"),

	// The net of He et al. (2016, section 4.2) for CIFAR-10 with n = 3: three stages of 16, 32 and 64 channels, and
	// shortcuts of option A, which have no weights.
	{
		Name: "resnet20", revision: normRevision, Shape: photos,
		Build: func(b *Builder) Maps { return b.Residual(16, 3, 3) },
	},
}

// of returns the net of a text of the catalogue.
func of(name string, shape plan.Shape, text string) *Model {
	_, l, err := parse(text)
	if err != nil {
		panic("nets: " + name + ": " + err.Error())
	}
	return fromLayers(name, shape, l)
}
