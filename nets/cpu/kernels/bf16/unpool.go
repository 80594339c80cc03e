package bf16

// Unpooler is what a variant of [Kernels] may have on top: the gradient of pooling and ReLU, which cpu.Kernels has as
// UnpoolReLU, in the formats of operands. The variant with AMX has it: its products are so fast that writing the
// gradient in float32 and rounding it afterwards would take longer than they do.
type Unpooler[T Float] interface {
	// Unpool rounds the gradient gy of a row of pooled pixels [W,O] and sends it to where it came from: a window of
	// 2 × 2 pixels in a top and a bottom row of pixels [2·W,O]. O = len(db) is 16 or 32. The gradient gy[j,o] goes to
	// pixel 2j of the top row if arg[j,o] is 0, to pixel 2j+1 if it is 1, to these pixels of the bottom row if it is 2
	// or 3, and nowhere if it is 4; every other element becomes 0. db[o] += Σ_j gy[j,o], not rounded, over the j with
	// arg[j,o] ≠ 4, in order of j.
	//
	// pairsTop and pairsBottom are written as [Kernels.Pack] writes the rows: operands B of a product over pixels.
	// rowsTop and rowsBottom are written as [Kernels.Round] writes them: operands A. They may both be empty, and are
	// not written then.
	Unpool(pairsTop, pairsBottom, rowsTop, rowsBottom Operand[T], db, gy []T, arg []uint8)
}
