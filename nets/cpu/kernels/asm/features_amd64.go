package asm

import "golang.org/x/sys/cpu"

// HasAVX2 reports whether this processor runs the kernels whose names end in AVX2, and the operating system saves their
// registers.
func HasAVX2() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2 }

// HasAVX512 reports whether this processor runs the kernels whose names end in AVX512 too.
func HasAVX512() bool {
	x := &cpu.X86
	return HasAVX2() && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL
}
