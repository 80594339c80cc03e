package models

// resnet18 is FedAR's large net for CIFAR-10: ResNet-18 in its usual form for images of 32×32, whose first convolution
// is 3×3 with stride 1 and without max pooling behind it. The paper names ResNet-18 alone; the form is inferred.
func resnet18() *Model {
	return &Model{
		Name: "resnet18", revision: normRevision, H: 32, W: 32, C: 3, Classes: 10,
		Build: func(b *Builder) Maps { return b.Residual(64, 4, 2, true) },
	}
}
