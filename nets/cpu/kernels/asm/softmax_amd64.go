package asm

// SoftmaxAVX512 returns top, the largest element of x [n], and z = Σ e with e = exp(x − top) in float64. It sets p [n]
// to c·e/z unless p is nil. e has room for n rounded up to a multiple of 8; the surplus elements are undefined
// afterwards. Element i of e is added to sum i mod 8, and the eight sums are then folded in halves. The relative error
// of e and z is at most 2⁻⁵¹; e is 0 below exp(−708). NaN or +Inf in x makes z NaN.
//
//go:noescape
func SoftmaxAVX512(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)

// SoftmaxAVX2 is [SoftmaxAVX512] for AVX2.
//
//go:noescape
func SoftmaxAVX2(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)
