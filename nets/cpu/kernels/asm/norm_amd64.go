package asm

// MomentsAVX512 adds to sum and squares [cols] the column sums of x − pivot and of (x − pivot)², in order of rows. x
// [rows,cols], pivot [cols].
//
//go:noescape
func MomentsAVX512(sum, squares, x, pivot *float32, rows, cols int)

// MomentsAVX2 is [MomentsAVX512] for AVX2.
//
//go:noescape
func MomentsAVX2(sum, squares, x, pivot *float32, rows, cols int)

// NormaliseAVX512 sets y = x·scale + shift, with a fused multiply-add; add is not read. y, x, add [rows,cols], scale,
// shift [cols].
//
//go:noescape
func NormaliseAVX512(y, x, add, scale, shift *float32, rows, cols int)

// NormaliseAVX2 is [NormaliseAVX512] for AVX2.
//
//go:noescape
func NormaliseAVX2(y, x, add, scale, shift *float32, rows, cols int)

// NormaliseReLUAVX512 is [NormaliseAVX512] with y clamped at 0.
//
//go:noescape
func NormaliseReLUAVX512(y, x, add, scale, shift *float32, rows, cols int)

// NormaliseReLUAVX2 is [NormaliseReLUAVX512] for AVX2.
//
//go:noescape
func NormaliseReLUAVX2(y, x, add, scale, shift *float32, rows, cols int)

// NormaliseAddAVX512 is [NormaliseAVX512] with add added last: y = (x·scale + shift) + add.
//
//go:noescape
func NormaliseAddAVX512(y, x, add, scale, shift *float32, rows, cols int)

// NormaliseAddAVX2 is [NormaliseAddAVX512] for AVX2.
//
//go:noescape
func NormaliseAddAVX2(y, x, add, scale, shift *float32, rows, cols int)

// NormaliseAddReLUAVX512 is [NormaliseAddAVX512] with y clamped at 0 after the addition.
//
//go:noescape
func NormaliseAddReLUAVX512(y, x, add, scale, shift *float32, rows, cols int)

// NormaliseAddReLUAVX2 is [NormaliseAddReLUAVX512] for AVX2.
//
//go:noescape
func NormaliseAddReLUAVX2(y, x, add, scale, shift *float32, rows, cols int)

// NormSumsAVX512 adds to db and dw [cols] the column sums of gy and of gy·(x − mean), in order of rows; scale and
// shift are not read. gy, x [rows,cols], mean, scale, shift [cols].
//
//go:noescape
func NormSumsAVX512(db, dw, gy, x, mean, scale, shift *float32, rows, cols int)

// NormSumsAVX2 is [NormSumsAVX512] for AVX2.
//
//go:noescape
func NormSumsAVX2(db, dw, gy, x, mean, scale, shift *float32, rows, cols int)

// NormSumsReLUAVX512 is [NormSumsAVX512] with 0 in place of gy where x·scale + shift ≤ 0, with a fused multiply-add.
//
//go:noescape
func NormSumsReLUAVX512(db, dw, gy, x, mean, scale, shift *float32, rows, cols int)

// NormSumsReLUAVX2 is [NormSumsReLUAVX512] for AVX2.
//
//go:noescape
func NormSumsReLUAVX2(db, dw, gy, x, mean, scale, shift *float32, rows, cols int)

// NormSumsAddAVX512 is [NormSumsAVX512], and copies gy to d; y is not read. d, gy, y, x [rows,cols].
//
//go:noescape
func NormSumsAddAVX512(d, db, dw, gy, y, x, mean *float32, rows, cols int)

// NormSumsAddAVX2 is [NormSumsAddAVX512] for AVX2.
//
//go:noescape
func NormSumsAddAVX2(d, db, dw, gy, y, x, mean *float32, rows, cols int)

// NormSumsAddReLUAVX512 is [NormSumsAddAVX512] with 0 in place of gy where y ≤ 0.
//
//go:noescape
func NormSumsAddReLUAVX512(d, db, dw, gy, y, x, mean *float32, rows, cols int)

// NormSumsAddReLUAVX2 is [NormSumsAddReLUAVX512] for AVX2.
//
//go:noescape
func NormSumsAddReLUAVX2(d, db, dw, gy, y, x, mean *float32, rows, cols int)

// NormGradAVX512 sets dx = a·gy + b·x + c; scale and shift are not read. dx, gy, x [rows,cols], a, b, c, scale,
// shift [cols].
//
//go:noescape
func NormGradAVX512(dx, gy, x, a, b, c, scale, shift *float32, rows, cols int)

// NormGradAVX2 is [NormGradAVX512] for AVX2.
//
//go:noescape
func NormGradAVX2(dx, gy, x, a, b, c, scale, shift *float32, rows, cols int)

// NormGradReLUAVX512 is [NormGradAVX512] with 0 in place of gy where x·scale + shift ≤ 0.
//
//go:noescape
func NormGradReLUAVX512(dx, gy, x, a, b, c, scale, shift *float32, rows, cols int)

// NormGradReLUAVX2 is [NormGradReLUAVX512] for AVX2.
//
//go:noescape
func NormGradReLUAVX2(dx, gy, x, a, b, c, scale, shift *float32, rows, cols int)
