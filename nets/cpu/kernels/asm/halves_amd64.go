package asm

import (
	"sync"
	"time"
)

// TakesHalves reports whether a multiply-add of a register of AVX-512 takes as long as two of AVX2: on AMD Zen 4, and
// on Intel cores with a single unit of 512 bits. Then products with no more columns than such a register holds are
// faster in AVX2, where every number of A that is loaded has two multiply-adds in place of one. No flag of the
// processor says so, and a table of processors would age, so the first call times both, which takes 0.1 ms. Only speed
// depends on the answer.
var TakesHalves = sync.OnceValue(func() bool {
	if !HasAVX512() {
		return false
	}
	avx2, avx512 := times(FMAPeakAVX2, FMAPeakAVX512)
	return 2*avx512 > 3*avx2
})

// DotsAreFast reports whether VDPBF16PS, which does two multiply-adds, takes less time than both of them: on AMD Zen 4
// and 5, but not on Intel's first processors with it. The first call times it.
var DotsAreFast = sync.OnceValue(func() bool {
	dot, add := times(DotPeakAVX512BF16, FMAPeakAVX512)
	return 2*dot < 3*add
})

// times returns the least time that 256 rounds of either loop take, in turn.
func times(first, second func(n int)) (ofFirst, ofSecond time.Duration) {
	const rounds, turns = 256, 16
	var fastest [2]time.Duration
	for range turns {
		for i, run := range []func(int){first, second} {
			begin := time.Now()
			run(rounds)
			if took := time.Since(begin); fastest[i] == 0 || took < fastest[i] {
				fastest[i] = took
			}
		}
	}
	return fastest[0], fastest[1]
}
