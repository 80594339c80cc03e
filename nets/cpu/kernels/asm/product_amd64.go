package asm

// Product holds the numbers of a product with operands rounded to bfloat16, for the kernels Product…. Strides count
// elements.
type Product struct {
	Segs, Chunks, Pairs int // segments, chunks of a segment, pairs of terms in a chunk
	Passes              int // 1, or 3 if the operands have two parts
	ASeg, ARow          int
	BSeg, BRow          int
	CRow                int
	PassA, PassB        [3]int // bytes from the first part of an operand to the part that a pass multiplies
	Acc                 bool
}

// ProductWideAVX512 computes two full registers of columns. It adds to every c[i·CRow + j], which begins as 0 unless
// Acc, for every segment s, every chunk of it and every pass, in this order: even + odd, the sums over the even and
// over the odd terms p of the chunk, each in order of p, of
//
//	a[s·ASeg + i·ARow + p] · b[s·BSeg + p·BRow + j]
//
// Chunk k has the terms 2·Pairs·k ≤ p < 2·Pairs·(k+1), and a pass shifts a and b to other parts. Subnormal numbers
// count as 0, and become 0.
//
// It works down the rows i in tiles·rows + smaller·(rows−1) rows: first tiles tiles of rows rows each, then smaller
// tiles (0 or more) of one row less. rows is 1 to 4, with AVX2 1 or 2. tail is not read. c overlaps neither a nor b.
//
//go:noescape
func ProductWideAVX512(t *Product, a, b, c *float32, tail, rows, tiles, smaller int)

// ProductWideAVX512BF16 is [ProductWideAVX512] by VDPBF16PS. The upper half of an element of a or b is its number in
// bfloat16, and the lower half that of the element two terms on: so an instruction adds two neighbours of the even
// terms, or of the odd ones, in order. The lower halves of the last two terms of a chunk are not read if Pairs is odd;
// their numbers are multiplied and added as float32.
//
//go:noescape
func ProductWideAVX512BF16(t *Product, a, b *uint32, c *float32, tail, rows, tiles, smaller int)

// ProductWideAVX2 is [ProductWideAVX512] for AVX2.
//
//go:noescape
func ProductWideAVX2(t *Product, a, b, c *float32, tail, rows, tiles, smaller int)

// ProductRaggedAVX512 is [ProductWideAVX512] where the second register of columns has only its first tail columns.
//
//go:noescape
func ProductRaggedAVX512(t *Product, a, b, c *float32, tail, rows, tiles, smaller int)

// ProductRaggedAVX2 is [ProductRaggedAVX512] for AVX2.
//
//go:noescape
func ProductRaggedAVX2(t *Product, a, b, c *float32, tail, rows, tiles, smaller int)

// ProductNarrowAVX512 is [ProductWideAVX512] with one register of columns, of which only the first tail are computed.
// rows is 1 to 8, with AVX2 1 to 4.
//
//go:noescape
func ProductNarrowAVX512(t *Product, a, b, c *float32, tail, rows, tiles, smaller int)

// ProductNarrowAVX2 is [ProductNarrowAVX512] for AVX2.
//
//go:noescape
func ProductNarrowAVX2(t *Product, a, b, c *float32, tail, rows, tiles, smaller int)

// ProductRaggedAVX512BF16 is [ProductRaggedAVX512] with the operands of [ProductWideAVX512BF16].
//
//go:noescape
func ProductRaggedAVX512BF16(t *Product, a, b *uint32, c *float32, tail, rows, tiles, smaller int)

// ProductNarrowAVX512BF16 is [ProductNarrowAVX512] with the operands of [ProductWideAVX512BF16].
//
//go:noescape
func ProductNarrowAVX512BF16(t *Product, a, b *uint32, c *float32, tail, rows, tiles, smaller int)

// ProductHalfAVX512BF16 is [ProductNarrowAVX512BF16] with a register of 8 columns.
//
//go:noescape
func ProductHalfAVX512BF16(t *Product, a, b *uint32, c *float32, tail, rows, tiles, smaller int)
