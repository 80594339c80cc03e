// Package reference times a fixed amount of arithmetic that touches no memory. Another clock rate, and a neighbour on
// the same core, slow it down as they slow down what is measured beside it. So the ratio of both says how fast the
// program is on a machine that is not always equally fast.
package reference

import (
	"runtime"
	"sync"
	"time"
)

// Loop is the fixed amount of arithmetic, once on each of a number of threads.
type Loop struct {
	threads int
	code    code
}

// code is one variant of the loop.
type code struct {
	run         func(rounds int)
	rounds      int // of a part
	flopInRound int // floating-point operations of a round
}

// parts is how often a call of [Loop.Run] repeats the arithmetic. All parts together take one to two milliseconds.
const parts = 4

// New returns the loop in the instructions of a variant of package kernels (avx512, avx2, generic), on so many threads,
// at least 1. For avx512bf16 and amx it is that of avx512. A processor without the instructions gets plain Go.
func New(variant string, threads int) *Loop {
	return &Loop{threads: max(1, threads), code: variantOf(variant)}
}

// FLOP returns the number of floating-point operations of one thread in the time that [Loop.Run] returns.
func (l *Loop) FLOP() float64 { return float64(l.code.rounds) * float64(l.code.flopInRound) }

// Run runs the loop on all threads at the same time. It returns the processor time of the fastest of four equal parts,
// the one that interrupts and other processes disturbed least, as a mean over the threads. Where the system has no
// clock for the processor time of a thread, it is wall time.
func (l *Loop) Run() time.Duration {
	fastest := make([]time.Duration, l.threads)
	var others sync.WaitGroup
	for i := range l.threads - 1 {
		others.Go(func() { fastest[i] = l.code.fastest() })
	}
	fastest[l.threads-1] = l.code.fastest()
	others.Wait()
	var sum time.Duration
	for _, t := range fastest {
		sum += t
	}
	return sum / time.Duration(l.threads)
}

// fastest runs the parts on one thread and returns the least processor time of one.
func (c code) fastest() time.Duration {
	runtime.LockOSThread() // all readings are of the same thread
	defer runtime.UnlockOSThread()
	var least time.Duration
	before := threadTime()
	for i := range parts {
		c.run(c.rounds)
		now := threadTime()
		if took := now - before; i == 0 || took < least {
			least = took
		}
		before = now
	}
	return max(least, 1) // a clock that stands still would make a ratio infinite
}

// start is the time from which wall time counts where a thread has no clock of its own.
var start = time.Now()
