// Package conditions says under what conditions something is measured: how much processor time it takes, how fast a
// fixed loop is beside it, and who else uses the machine.
//
// clock_*.go has the processor time of this process, system.go reads Linux's files of the load and of stolen time, and
// card.go asks nvidia-smi for the other processes on a card. Where a system does not say, a number is missing.
package conditions
