package asm

// PoolReLUAVX512 pools two rows of a feature map by the maximum of 2 × 2 windows, then adds the bias and clamps at 0:
//
//	y[j,o] = max(0, bias[o] + max(top[2j,o], top[2j+1,o], bottom[2j,o], bottom[2j+1,o]))
//
// NaN counts as the largest. arg is 0 to 3 for the first of the four that is largest, 4 if y is 0. y, arg
// [pixels,cols], top, bottom [2·pixels,cols], bias [cols].
//
//go:noescape
func PoolReLUAVX512(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)

// PoolReLUAVX2 is [PoolReLUAVX512] for AVX2.
//
//go:noescape
func PoolReLUAVX2(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)

// UnpoolReLUAVX512 is the gradient of [PoolReLUAVX512]: the element of top and bottom that arg names becomes gy[j,o],
// every other element 0. db[o] grows by gy[j,o] where arg is not 4, in order of j. Shapes as in PoolReLUAVX512; gy has
// the shape of y, db the shape of bias.
//
//go:noescape
func UnpoolReLUAVX512(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)

// UnpoolReLUAVX2 is [UnpoolReLUAVX512] for AVX2.
//
//go:noescape
func UnpoolReLUAVX2(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)

// AddWinnersAVX512 adds gy[j,o] to db[o] where arg is not 4, in order of j. Shapes as in UnpoolReLUAVX512.
//
//go:noescape
func AddWinnersAVX512(db, gy *float32, arg *uint8, pixels, cols int)

// AddWinnersAVX2 is [AddWinnersAVX512] for AVX2.
//
//go:noescape
func AddWinnersAVX2(db, gy *float32, arg *uint8, pixels, cols int)
