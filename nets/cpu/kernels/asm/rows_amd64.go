package asm

// BiasReLUAVX512 adds bias [cols] to rows of y, ld elements apart, in place, and clamps the sums at 0 if relu.
//
//go:noescape
func BiasReLUAVX512(y *float32, rows, ld int, bias *float32, cols int, relu bool)

// BiasReLUAVX2 is [BiasReLUAVX512] for AVX2.
//
//go:noescape
func BiasReLUAVX2(y *float32, rows, ld int, bias *float32, cols int, relu bool)

// ReLUGradAVX512 sets d = gy where y > 0 and 0 elsewhere; if relu is false, d = gy everywhere and y is not read. It
// adds the column sums of d to db, in order of rows. d, gy, y [rows,cols], db [cols]. d may be gy or y.
//
//go:noescape
func ReLUGradAVX512(d, db, gy, y *float32, rows, cols int, relu bool)

// ReLUGradAVX2 is [ReLUGradAVX512] for AVX2.
//
//go:noescape
func ReLUGradAVX2(d, db, gy, y *float32, rows, cols int, relu bool)
