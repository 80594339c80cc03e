package cpu

import "golang.org/x/sys/cpu"

// Variants returns every variant this processor can run, the slowest first.
func Variants() []Kernels[float32] {
	have := []Kernels[float32]{Generic[float32]()}
	x := &cpu.X86 // reports a feature only if the operating system saves its registers
	if x.HasAVX2 && x.HasFMA && x.HasBMI2 {
		have = append(have, avx2)
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
			have = append(have, avx512)
		}
	}
	return have
}
