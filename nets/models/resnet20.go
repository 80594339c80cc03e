package models

// resnet20 is the net of He et al. (2016, section 4.2) for CIFAR-10 with n = 3: three stages of 16, 32 and 64 channels,
// and shortcuts of option A, which have no weights.
func resnet20() *Model {
	return &Model{
		Name: "resnet20", revision: normRevision, H: 32, W: 32, C: 3, Classes: 10,
		Build: func(b *Builder) Maps { return b.Residual(16, 3, 3, false) },
	}
}
