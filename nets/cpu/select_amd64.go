package cpu

import (
	"sync"
	"time"

	"rollcall/nets/cpu/asm"
)

// Variants returns every variant this processor can run, the slowest first.
func Variants() []Kernels[float32] {
	have := []Kernels[float32]{Generic[float32]()}
	if asm.HasAVX2() {
		have = append(have, avx2)
	}
	if asm.HasAVX512() {
		prepareAVX512()
		have = append(have, avx512)
	}
	return have
}

var prepareAVX512 = sync.OnceFunc(func() { avx512.halves = takesHalves() })

// takesHalves reports whether a multiply-add of a register of AVX-512 takes as long as two of AVX2: on AMD Zen 4, for
// one, and on an Intel core with a single unit of 512 bits. No flag of the processor says so, and a table of processors
// would age, so it takes 0.1 ms to time both. Only speed depends on the answer.
func takesHalves() bool {
	const rounds, turns = 256, 16
	var fastest [2]time.Duration
	for range turns {
		for i, run := range []func(int){asm.FMAPeakAVX2, asm.FMAPeakAVX512} {
			begin := time.Now()
			run(rounds)
			if took := time.Since(begin); fastest[i] == 0 || took < fastest[i] {
				fastest[i] = took
			}
		}
	}
	return 2*fastest[1] > 3*fastest[0]
}
