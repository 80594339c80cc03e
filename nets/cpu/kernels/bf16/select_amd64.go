package bf16

import (
	"rollcall/nets/cpu/kernels/asm"
	"rollcall/nets/cpu/kernels/bf16/permit"
)

// Variants returns every variant this processor can run, the slowest first; split asks for bf16x3 in place of bf16.
func Variants(split bool) []Kernels[float32] {
	have := []Kernels[float32]{Generic[float32](split)}
	if asm.HasAVX2() {
		have = append(have, avx2(split))
	}
	if asm.HasAVX512() {
		have = append(have, avx512(split))
		if ok, _ := permit.AMX(); ok {
			have = append(have, amx{split})
		}
	}
	return have
}

// Lost returns why AMX is not used although the processor has it, in one line that begins with "AMX: ". It is empty if
// the processor has no AMX, and if AMX is used.
func Lost() string {
	_, lost := permit.AMX()
	return lost
}
