package asm

// FMAPeakAVX512 runs n times 12 independent fused multiply-adds of registers, without touching memory: the most
// arithmetic that a core can do. The benchmarks compare the other kernels with it.
func FMAPeakAVX512(n int)

// FMAPeakAVX2 is [FMAPeakAVX512] for AVX2.
func FMAPeakAVX2(n int)
