package asm

// TransposeAVX512 sets dst[j·ldDst + i] = src[i·ldSrc + j] for i < rows, j < cols. Neither the rows of src nor the rows
// of dst overlap.
//
//go:noescape
func TransposeAVX512(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)

// TransposeAVX2 is [TransposeAVX512] for AVX2.
//
//go:noescape
func TransposeAVX2(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)
