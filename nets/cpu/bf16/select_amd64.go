package bf16

import "golang.org/x/sys/cpu"

// Variants returns every variant this processor can run, the slowest first; split asks for bf16x3 in place of bf16.
func Variants(split bool) []Kernels[float32] {
	have := []Kernels[float32]{Generic[float32](split)}
	x := &cpu.X86 // reports a feature only if the operating system saves its registers
	if x.HasAVX2 && x.HasFMA && x.HasBMI2 {
		have = append(have, avx2(split))
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
			have = append(have, avx512(split))
		}
	}
	return have
}
