// Package nightly measures the workloads whose speed is followed night by night: rounds, client-steps and evaluations
// of three nets, the server's arithmetic, and single kernels. Package results/track keeps the measurements and finds
// shifts in them.
//
// suite.go has the suite and its passes, sample.go takes one sample, kernels.go has the kernels, and machine.go
// describes the machine, because only nights of the same machine are compared. webhook.go posts a verdict.
package nightly
