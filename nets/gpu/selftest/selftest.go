// Package selftest checks on a user's machine that a card, its driver and the CUDA engine compute rightly together: it
// trains small rounds of every net on the card and on the CPU engine, and compares.
//
//	cards, err := gpu.Cards()
//	if err != nil {
//		return err
//	}
//	return selftest.Run(ctx, cards[0], selftest.Nets(), func(c selftest.Check) { fmt.Println(c.Name, c.Found) })
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
