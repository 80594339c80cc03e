package bf16

// Kernels is one variant of the matrix products with rounded operands. All variants with float32 compute the same bits,
// any NaN being as good as another.
type Kernels[T Float] interface {
	// Name is generic, avx2, avx512, avx512bf16 or amx.
	Name() string
	// Bytes returns the size of an element of an operand, all its parts together.
	Bytes() int
	// NewOperand returns an operand of n zeros, which products may read [Depth] elements past its end.
	NewOperand(n int) Operand[T]

	// Multiply computes one product; see [Product].
	Multiply(p *Product[T])
	// Round sets dst[i] = src[i], rounded: the operand A of a product whose terms follow one another in src.
	Round(dst Operand[T], src []T)
	// Transpose sets dst[j·ldDst + i] = src[i·ldSrc + j], rounded, for i < rows, j < cols: the operand A of a product
	// over the rows of src.
	Transpose(dst Operand[T], ldDst int, src []T, ldSrc, rows, cols int)
	// Pack writes the operand B of a product: src[p·ld + j], rounded, for p < rows, j < cols, and zeros for rows ≤ p <
	// padded. padded is even. dst gets padded·cols elements, in an order of the variant's own; any even number of rows
	// is a whole number of its blocks, so that row p begins at element p·cols if p is even.
	Pack(dst Operand[T], src []T, ld, rows, cols, padded int)
}
