// Package selftest checks on a user's machine that a card, its driver and the CUDA engine compute rightly together: it
// trains small rounds of every net on the card and on the CPU engine, and compares.
//
// Read run.go first, which lists the checks. card.go checks what the engine stands on: the context, the kernels, the
// copies. round.go trains the rounds of package crowd, net.go one net in one precision, and reference.go has what the
// CPU engine makes of the same rounds. deviation.go says how far the two are apart. unavailable.go stands in for
// all of it in a program without CUDA.
package selftest

import "time"

// Check is one check that has ended.
type Check struct {
	Name  string // such as "kernels fp32" or "resnet20 bf16"
	Found string // what was measured; or what is wrong
	Wrong bool
	Took  time.Duration
}

// Nets returns the nets that are trained unless others are named. Together they launch every kernel that any net of the
// catalogue launches. The nets that are left out differ in sizes alone; some have millions of parameters, which take
// the CPU long.
func Nets() []string {
	return []string{"linear-mnist", "linear-binary", "lenet5", "cnn-cifar10", "cnn-cinic10", "resnet20"}
}
