// Package nightly measures the workloads whose speed is followed night by night: rounds, client-steps and evaluations
// of three nets, the server's arithmetic, and single kernels. Package results/track keeps the measurements and finds
// shifts in them.
//
// suite.go has the suite and its passes, workload.go what the engines train on, kernels.go the kernels. sample.go takes
// one sample. machine.go describes the machine, because only nights of the same machine are compared. warn.go says when
// a night is not reliable, and webhook.go posts a verdict.
package nightly
