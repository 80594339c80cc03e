package reference

import (
	"slices"

	"rollcall/nets/cpu/kernels/asm"
)

// rounds is the number of rounds of the vector loops in a part: 50 million operations with AVX-512.
const rounds = 1 << 16

// variantOf returns the loop of a variant.
func variantOf(name string) code {
	switch {
	case slices.Contains([]string{"avx512", "avx512bf16", "amx"}, name) && asm.HasAVX512():
		return code{asm.FMAPeakAVX512, rounds, asm.PeakFMAs * 2 * 16} // 16 lanes
	case name != "generic" && asm.HasAVX2():
		return code{asm.FMAPeakAVX2, rounds, asm.PeakFMAs * 2 * 8}
	}
	return generic
}
