package bf16

import "math"

// paired is the variant for AVX512_BF16. Its instruction VDPBF16PS multiplies pairs of bfloat16, and adds the products
// to a sum one after the other: [dot] says how. With the terms p and p+2 of a chunk for a pair, that is two steps of
// the chain that [Product] asks for.
//
// An operand has a pair for every element, and not for every second one: products may begin at any term, as the windows
// of a convolution do.
type paired struct {
	split bool
	code  pairedCode
}

// pairedCode is the instructions of the variant: the processor's or, in tests, a model of them. A pair is a number and,
// in the lower half, the next one, both rounded. Each function also writes the pairs of what rounding leaves to low,
// unless it is nil.
type pairedCode interface {
	name() string
	// pair pairs src[i] with next[i], for all i in src. next may be shorter: zeros follow it. dst may be src.
	pair(dst, low []uint32, src, next []float32)
	// pairRows sets dst [rows,cols] to the pairs of rows p and p+2 of src, whose rows are ld elements apart.
	pairRows(dst, low []uint32, src []float32, ld, rows, cols int)
	// transpose does so for the columns of dst, whose rows are ldDst elements apart.
	transpose(dst, low []uint32, ldDst int, src []float32, ldSrc, rows, cols int)
	// multiply computes a product whose numbers are checked.
	multiply(p *Product[float32])
}

func (k paired) Name() string { return k.code.name() }

func (k paired) Bytes() int { return 4 * parts(k.split) }

func (k paired) NewOperand(n int) Operand[float32] {
	var of formats[float32]
	for part := range parts(k.split) {
		of.pairs[part] = make([]uint32, n+Depth)
	}
	return newOperand(of, n+Depth)
}

func (k paired) Round(dst Operand[float32], src []float32) {
	if n := len(src); n > 0 {
		to := dst.pairs()
		k.code.pair(to[0][:n], first(to[1], n), src, src[min(2, n):])
	}
}

func (k paired) Transpose(dst Operand[float32], ldDst int, src []float32, ldSrc, rows, cols int) {
	checkTranspose(dst, ldDst, src, ldSrc, rows, cols)
	to := dst.pairs()
	k.code.transpose(to[0], to[1], ldDst, src, ldSrc, rows, cols)
}

func (k paired) Pack(dst Operand[float32], src []float32, ld, rows, cols, padded int) {
	n := rows * cols
	if n > 0 {
		_ = src[(rows-1)*ld+cols-1]
		to := dst.pairs()
		k.code.pairRows(to[0][:n], first(to[1], n), src, ld, rows, cols)
	}
	dst.From(n).First((padded - rows) * cols).Clear()
}

func (k paired) Multiply(p *Product[float32]) {
	p.check()
	k.code.multiply(p)
}

// dot is a model of VDPBF16PS, from the pseudocode in Intel's manual: it adds the product of the upper halves of x and
// y to sum, and then that of the lower ones. A step rounds once, to nearest even; a subnormal operand counts as 0, and
// a subnormal result becomes 0, each with its sign.
func dot(sum float32, x, y uint32) float32 {
	const upper = 0xffff0000
	sum = multiplyAdd(flush(math.Float32frombits(x&upper)), flush(math.Float32frombits(y&upper)), flush(sum))
	return multiplyAdd(flush(math.Float32frombits(x<<16)), flush(math.Float32frombits(y<<16)), sum)
}

// multiplyAdd returns x·y + sum, rounded once to float32, for x and y that are bfloat16.
func multiplyAdd(x, y, sum float32) float32 {
	product := float64(x) * float64(y) // exact
	s := product + float64(sum)
	if careful(s) {
		return fusedAdd(product, float64(sum), s)
	}
	return float32(s)
}
