package kernels

import (
	"sync"

	"rollcall/nets/cpu/kernels/asm"
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

// prepareAVX512 completes avx512, once.
var prepareAVX512 = sync.OnceFunc(func() { avx512.halves = asm.TakesHalves() })
