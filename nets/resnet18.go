package nets

// resnet18 is FedAR's large net for CIFAR-10: ResNet-18 for images of 32×32, that is with a 3×3 stem of stride 1 and no
// max pooling [inferred].
func resnet18() *Model {
	return &Model{Name: "resnet18", revision: 1, H: 32, W: 32, C: 3, Classes: 10, build: func(b *builder) maps {
		return b.residual(64, 4, 2, true)
	}}
}
