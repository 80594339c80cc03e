package asm

// PairAVX512BF16 sets dst[i] to a pair of bfloat16 for i < n: src[i], rounded, in the upper half, and next[i], rounded,
// in the lower one, or 0 where i ≥ valid. valid may be below 0. Numbers are rounded to nearest, ties to even; subnormal
// ones become 0 with their sign, NaN stays NaN. dst may be src.
//
//go:noescape
func PairAVX512BF16(dst *uint32, src, next *float32, n, valid int)

// PairSplitAVX512BF16 is [PairAVX512BF16] for numbers of two parts: high has pairs of the rounded numbers, low those of
// what rounding leaves of them, rounded in turn.
//
//go:noescape
func PairSplitAVX512BF16(high, low *uint32, src, next *float32, n, valid int)

// PairRowsAVX512BF16 sets dst[p·cols + j] to the pair of src[p·ld + j] and src[(p+2)·ld + j], for p < rows, j < cols.
// Zeros follow the last row.
//
//go:noescape
func PairRowsAVX512BF16(dst *uint32, src *float32, ld, rows, cols int)

// PairRowsSplitAVX512BF16 is [PairRowsAVX512BF16] with the parts of [PairSplitAVX512BF16].
//
//go:noescape
func PairRowsSplitAVX512BF16(high, low *uint32, src *float32, ld, rows, cols int)

// TransposePairAVX512BF16 sets dst[j·ldDst + i] to the pair of src[i·ldSrc + j] and src[(i+2)·ldSrc + j], for i < rows,
// j < cols. Zeros follow the last row.
//
//go:noescape
func TransposePairAVX512BF16(dst *uint32, ldDst int, src *float32, ldSrc, rows, cols int)

// DotAVX512BF16 adds to each of 16 sums the product of the upper halves of its x and y and then that of the lower ones,
// by VDPBF16PS.
//
//go:noescape
func DotAVX512BF16(sum *[16]float32, x, y *[16]uint32)
