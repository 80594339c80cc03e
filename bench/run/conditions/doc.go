// Package conditions records the conditions of a measurement: its processor time, the speed of a fixed loop at the same
// time, and the other programs on the machine.
//
// clock_*.go has the processor time of this process, system.go reads Linux's files of the load and of stolen time, and
// card.go asks nvidia-smi for the other processes on a card. A number that the system does not have is missing.
package conditions
