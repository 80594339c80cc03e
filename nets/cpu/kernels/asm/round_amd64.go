package asm

// RoundAVX512 sets dst[i] = src[i], rounded to bfloat16, for i < n: to nearest, ties to even. Subnormal numbers become
// 0 with their sign; NaN stays NaN. dst may be src.
//
//go:noescape
func RoundAVX512(dst, src *float32, n int)

// RoundAVX2 is [RoundAVX512] for AVX2.
//
//go:noescape
func RoundAVX2(dst, src *float32, n int)

// RoundSplitAVX512 sets high[i] = src[i] and low[i] = src[i] − high[i], both rounded as by [RoundAVX512], for i < n.
// high or low may be src.
//
//go:noescape
func RoundSplitAVX512(high, low, src *float32, n int)

// RoundSplitAVX2 is [RoundSplitAVX512] for AVX2.
//
//go:noescape
func RoundSplitAVX2(high, low, src *float32, n int)
