package asm

// FMAPeakAVX512 runs n rounds of [PeakFMAs] fused multiply-adds of registers, without touching memory: the most
// arithmetic that a core can do. It has 24 independent sums. n is at least 1.
func FMAPeakAVX512(n int)

// FMAPeakAVX2 is [FMAPeakAVX512] for AVX2, with 12 independent sums.
func FMAPeakAVX2(n int)

// DotPeakAVX512BF16 is [FMAPeakAVX512] with VDPBF16PS: every multiply-add is one of a pair of bfloat16.
func DotPeakAVX512BF16(n int)

// PeakFMAs is the number of multiply-adds in a round of FMAPeak, each of a whole register.
const PeakFMAs = 24
