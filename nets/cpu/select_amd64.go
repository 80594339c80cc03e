package cpu

import "rollcall/nets/cpu/asm"

// Variants returns every variant this processor can run, the slowest first.
func Variants() []Kernels[float32] {
	have := []Kernels[float32]{Generic[float32]()}
	if asm.HasAVX2() {
		have = append(have, avx2)
	}
	if asm.HasAVX512() {
		have = append(have, avx512)
	}
	return have
}
