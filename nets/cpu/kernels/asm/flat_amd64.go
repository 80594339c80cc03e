package asm

// ScaleAVX512 sets dst = c·src, [n]. dst may be src.
//
//go:noescape
func ScaleAVX512(dst *float32, c float32, src *float32, n int)

// ScaleAVX2 is [ScaleAVX512] for AVX2.
//
//go:noescape
func ScaleAVX2(dst *float32, c float32, src *float32, n int)

// AxpyAVX512 adds c·src to dst, [n], with fused multiply-adds.
//
//go:noescape
func AxpyAVX512(dst *float32, c float32, src *float32, n int)

// AxpyAVX2 is [AxpyAVX512] for AVX2.
//
//go:noescape
func AxpyAVX2(dst *float32, c float32, src *float32, n int)

// StepAVX512 applies one SGD step to the weights w, [n]: w = w − lr·(scale·grad + decay·w). It reads neither v nor
// drift nor momentum.
//
//go:noescape
func StepAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// StepAVX2 is [StepAVX512] for AVX2.
//
//go:noescape
func StepAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// StepDriftAVX512 is [StepAVX512] with drift, [n], added to the gradient: w = w − lr·(scale·grad + decay·w + drift).
//
//go:noescape
func StepDriftAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// StepDriftAVX2 is [StepDriftAVX512] for AVX2.
//
//go:noescape
func StepDriftAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// StepMomentumAVX512 is [StepAVX512] with momentum: v = momentum·v + scale·grad + decay·w, then w = w − lr·v. v is [n].
//
//go:noescape
func StepMomentumAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// StepMomentumAVX2 is [StepMomentumAVX512] for AVX2.
//
//go:noescape
func StepMomentumAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// StepBothAVX512 is [StepMomentumAVX512] with drift, [n], added to the gradient before the momentum.
//
//go:noescape
func StepBothAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// StepBothAVX2 is [StepBothAVX512] for AVX2.
//
//go:noescape
func StepBothAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

// DotAVX512 adds x[i]·y[i] to sums[i mod 32], in float64. x and y are [32·blocks]; blocks may be 0.
//
//go:noescape
func DotAVX512(sums *float64, x, y *float32, blocks int)

// DotAVX2 is [DotAVX512] for AVX2.
//
//go:noescape
func DotAVX2(sums *float64, x, y *float32, blocks int)
