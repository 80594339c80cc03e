// Package reference times a fixed amount of arithmetic that touches no memory. A loaded machine, a clock that changes
// and a neighbour on the same core slow it down as they slow down what is measured beside it, so that the ratio of both
// says how fast the program is when the machine is not always equally fast.
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

// code is one variant of the loop. Every round has so many floating-point operations; rounds is how many a call has,
// for a call to take one to two milliseconds.
type code struct {
	run         func(rounds int)
	rounds      int
	flopInRound int
}

// New returns the loop in the instructions of a variant of package cpu (avx512, avx2, generic), on so many threads, at
// least 1. For amx it is avx512: the arithmetic that both have. A processor without the instructions gets plain Go.
func New(variant string, threads int) *Loop { return &Loop{threads: max(1, threads), code: variantOf(variant)} }

// FLOP returns the number of floating-point operations of each thread in a call of [Loop.Run].
func (l *Loop) FLOP() float64 { return float64(l.code.rounds) * float64(l.code.flopInRound) }

// Run runs the loop on all threads at the same time, and returns the mean processor time of a thread. Where the system
// has no clock for the processor time of a thread, that is the mean wall time.
func (l *Loop) Run() time.Duration {
	took := make([]time.Duration, l.threads)
	var others sync.WaitGroup
	for i := range l.threads - 1 {
		others.Go(func() { took[i] = l.code.timed() })
	}
	took[l.threads-1] = l.code.timed()
	others.Wait()
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	return sum / time.Duration(l.threads)
}

// timed runs the loop on one thread and returns the thread's processor time.
func (c code) timed() time.Duration {
	runtime.LockOSThread() // both readings are of the same thread
	defer runtime.UnlockOSThread()
	begun := threadTime()
	c.run(c.rounds)
	return threadTime() - begun
}

// generic is the loop in plain Go, for processors without AVX2.
var generic = code{run: plain, rounds: 1 << 19, flopInRound: 16}

// sink keeps the compiler from leaving the sums out.
var sink [8]float32

// plain runs n rounds of eight independent multiply-adds.
func plain(n int) {
	const x, y = 0.999, 1e-3 // the sums go to 1: none overflows or becomes subnormal, which is slow
	var a, b, c, d, e, f, g, h float32
	for range n {
		a = a*x + y
		b = b*x + y
		c = c*x + y
		d = d*x + y
		e = e*x + y
		f = f*x + y
		g = g*x + y
		h = h*x + y
	}
	if a < 0 { // never
		sink = [8]float32{a, b, c, d, e, f, g, h}
	}
}

// start is the time from which wall time counts where a thread has no clock of its own.
var start = time.Now()
