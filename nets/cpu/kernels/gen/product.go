package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of asm.Product; a test of package asm compares them with the compiler's.
const (
	productSegs = 8 * iota
	productChunks
	productPairs
	productPasses
	productASeg
	productARow
	productBSeg
	productBRow
	productCRow
	productPassA
	productPassB = productPassA + 24
	productAcc   = productPassB + 24
)

// product emits the family product, the matrix-multiply tiles with operands rounded to bfloat16, in elements of 32
// bits. asm.ProductWideAVX512 has the formula and the order of the sums.
//
// A tile has two sums for every element of C, one of the even terms of a chunk and one of the odd ones, and C itself: 4
// × 2 × 3 of the 32 registers with AVX-512, 2 × 2 × 3 of the 16 with AVX2. Per term every row costs a broadcast and
// every column a load: a tile of 4 × 2 has 6 loads for 8 multiply-adds.
//
// With AVX512_BF16 a multiply-add of a register does two terms of a sum, one after the other, and the element of a term
// has the term behind the next with it: see asm.ProductWideAVX512BF16. It takes its numbers of A from memory, which
// leaves the two threads of a core more room to decode instructions. Up to 8 columns go in registers of AVX2.
func product(a *asm) {
	rows := 2
	if a.lanes == 16 {
		rows = 4
	}
	productBlock{block{name: "ProductWide", vecs: 2, rows: rows}}.emit(a)
	productBlock{block{name: "ProductRagged", vecs: 2, rows: rows, masked: true}}.emit(a)
	productBlock{block{name: "ProductNarrow", vecs: 1, rows: 2 * rows, masked: true}}.emit(a)
	if a.isa == dots {
		half := *a
		half.lanes = avx2.lanes
		productBlock{block{name: "ProductHalf", vecs: 1, rows: 2 * rows, masked: true}}.emit(&half)
	}
}

// productBlock is one shape of the tile.
type productBlock struct{ block }

// productRegs are the registers of the tile loop.
type productRegs struct {
	t          reg.GPVirtual    // *Product
	rowA, rowB reg.GPVirtual    // the strides of the rows of A and B in bytes
	a, b       reg.GPVirtual    // where the chunk begins in A and B
	row        [3]reg.GPVirtual // rows 0, 3 and 6 of A at the current pair of terms; row[1] and row[2] also serve C
	pairB      reg.GPVirtual    // the row of B with the even term of the pair
	left       reg.GPVirtual    // pairs left
	off        reg.GPVirtual    // scratch
	upper      reg.VecVirtual   // with AVX512_BF16: the bits of an element's own term
	segs, chunks, pass,
	segA, segB, saved, flushing operand.Mem // variables on the stack
}

// emit emits one kernel, which computes tiles tiles of rows rows, and then smaller tiles of one row less. tail is the
// number of columns in the last register. It sets the processor's flush bits, and restores them.
func (b productBlock) emit(a *asm) {
	a.begin(b.name, "func(t *byte, a, b, c *float32, tail, rows, tiles, smaller int)")
	if b.masked {
		a.lanesBelow(a.arg("tail"))
	}
	r := productRegs{
		t: a.arg("t"), rowA: a.GP64(), rowB: a.GP64(), a: a.GP64(), b: a.GP64(), pairB: a.GP64(), left: a.GP64(),
		off: a.GP64(),
	}
	local := a.AllocLocal(48)
	for i, v := range []*operand.Mem{&r.segs, &r.chunks, &r.pass, &r.segA, &r.segB, &r.saved} {
		*v = local.Offset(8 * i)
	}
	r.flushing = local.Offset(8*5 + 4)
	for i := range r.row {
		r.row[i] = a.GP64()
	}
	const flushBits = 1<<15 | 1<<6 // of MXCSR: subnormal results become 0, subnormal operands count as 0
	a.STMXCSR(r.saved)
	a.MOVL(r.saved, r.off.As32())
	a.ORL(operand.U32(flushBits), r.off.As32())
	a.MOVL(r.off.As32(), r.flushing)
	a.LDMXCSR(r.flushing)
	for _, stride := range []struct {
		disp int
		to   reg.GPVirtual
	}{{productARow, r.rowA}, {productBRow, r.rowB}} {
		a.MOVQ(at(r.t, stride.disp), stride.to)
		a.SHLQ(operand.U8(2), stride.to)
	}
	if a.name == dots.name {
		r.upper = a.integers(0xffff0000)
	}
	h := a.arg("rows")
	dispatch(a, "rows", h, 1, b.rows)
	for rows := b.rows; rows > 0; rows-- {
		b.tile(a, r, rows)
	}
}

// tile emits the loop over all tiles with the given number of rows. Behind it, the smaller tiles continue in the loop
// for one row less.
func (b productBlock) tile(a *asm, r productRegs, rows int) {
	name := func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
	var sums [2][][]reg.VecVirtual // of the even terms and of the odd ones
	var c [][]reg.VecVirtual
	for range rows {
		sums[0], sums[1] = append(sums[0], a.vecs(b.vecs)), append(sums[1], a.vecs(b.vecs))
		c = append(c, a.vecs(b.vecs))
	}
	// eachC does something with every register of C and its memory.
	eachC := func(do func(v reg.Register, m operand.Mem, masked bool)) {
		p, stride := r.row[1], r.row[2]
		a.MOVQ(at(r.t, productCRow), stride)
		a.SHLQ(operand.U8(2), stride)
		a.MOVQ(a.slot("c"), p)
		for i := range rows {
			for j := range b.vecs {
				do(c[i][j], at(p, j*a.bytes()), b.masked && j == b.vecs-1)
			}
			a.ADDQ(stride, p)
		}
	}
	a.Label(name("rows"))
	for i := range rows {
		for j := range b.vecs {
			a.zero(c[i][j])
		}
	}
	a.CMPB(at(r.t, productAcc), operand.U8(0))
	a.JEQ(jump(name("begun")))
	eachC(func(v reg.Register, m operand.Mem, masked bool) { a.load(m, v, masked) })
	a.Label(name("begun"))

	load := func(from operand.Mem, to operand.Mem) {
		a.MOVQ(from, r.off)
		a.MOVQ(r.off, to)
	}
	load(a.slot("a"), r.segA)
	load(a.slot("b"), r.segB)
	load(at(r.t, productSegs), r.segs)
	a.Label(name("seg"))
	load(at(r.t, productChunks), r.chunks)
	a.MOVQ(r.segA, r.a)
	a.MOVQ(r.segB, r.b)
	a.Label(name("chunk"))
	a.MOVQ(operand.U32(0), r.pass)
	a.Label(name("pass"))
	b.addChunk(a, r, sums, name)
	for i := range rows {
		for j := range b.vecs {
			even := sums[0][i][j]
			a.VADDPS(sums[1][i][j], even, even)
			a.VADDPS(even, c[i][j], c[i][j])
		}
	}
	a.MOVQ(r.pass, r.off)
	a.INCQ(r.off)
	a.MOVQ(r.off, r.pass)
	a.CMPQ(r.off, at(r.t, productPasses))
	a.JLT(jump(name("pass")))
	// The next chunk: Pairs pairs of terms on, in A and B.
	a.MOVQ(at(r.t, productPairs), r.off)
	a.LEAQ(indexed(r.a, r.off, 8), r.a)
	a.IMULQ(r.rowB, r.off)
	a.LEAQ(indexed(r.b, r.off, 2), r.b)
	a.countDown(r.chunks, name("chunk"))
	for _, s := range []struct {
		stride int
		at     operand.Mem
	}{{productASeg, r.segA}, {productBSeg, r.segB}} {
		a.MOVQ(at(r.t, s.stride), r.off)
		a.SHLQ(operand.U8(2), r.off)
		a.ADDQ(r.off, s.at)
	}
	a.countDown(r.segs, name("seg"))
	eachC(func(v reg.Register, m operand.Mem, masked bool) { a.store(v, m, masked) })

	// The next tile of the same height, then the tiles of one row less.
	a.IMUL3Q(operand.U8(rows), r.rowA, r.off)
	a.ADDQ(r.off, a.slot("a"))
	a.MOVQ(at(r.t, productCRow), r.off)
	a.IMUL3Q(operand.U8(4*rows), r.off, r.off)
	a.ADDQ(r.off, a.slot("c"))
	a.countDown(a.slot("tiles"), name("rows"))
	if rows > 1 {
		a.MOVQ(a.slot("smaller"), r.off)
		a.MOVQ(operand.U32(0), a.slot("smaller"))
		a.MOVQ(r.off, a.slot("tiles"))
		a.TESTQ(r.off, r.off)
		a.JNE(jump(fmt.Sprintf("rows%d", rows-1)))
	}
	a.LDMXCSR(r.saved)
	a.end()
}

// addChunk emits the sums of one chunk in one pass, over parts of A and B that the pass names.
func (b productBlock) addChunk(a *asm, r productRegs, sums [2][][]reg.VecVirtual, name func(string) string) {
	rows := len(sums[0])
	a.MOVQ(r.pass, r.off)
	a.MOVQ(operand.Mem{Base: r.t, Index: r.off, Scale: 8, Disp: productPassA}, r.row[0])
	a.ADDQ(r.a, r.row[0])
	a.MOVQ(operand.Mem{Base: r.t, Index: r.off, Scale: 8, Disp: productPassB}, r.pairB)
	a.ADDQ(r.b, r.pairB)
	a.LEAQ(indexed(r.rowA, r.rowA, 2), r.off)
	for i := 1; 3*i < rows; i++ {
		a.LEAQ(indexed(r.row[i-1], r.off, 1), r.row[i])
	}
	for parity := range sums {
		for _, row := range sums[parity] {
			for _, v := range row {
				a.zero(v)
			}
		}
	}
	a.MOVQ(at(r.t, productPairs), r.left)
	if a.name != dots.name {
		a.Label(name("pair"))
		b.addTerms(a, r, sums, 1)
		a.countDown(r.left, name("pair"))
		return
	}
	a.SHRQ(operand.U8(1), r.left)
	a.JEQ(jump(name("last")))
	a.Label(name("pair"))
	b.addTerms(a, r, sums, 2)
	a.countDown(r.left, name("pair"))
	a.Label(name("last"))
	a.TESTQ(operand.U32(1), at(r.t, productPairs))
	a.JEQ(jump(name("added")))
	b.addTerms(a, r, sums, 1)
	a.Label(name("added"))
}

// addTerms emits the next terms of both parities, each of them steps terms: 1 by a multiply-add, or 2 by dot. It moves
// behind them.
func (b productBlock) addTerms(a *asm, r productRegs, sums [2][][]reg.VecVirtual, steps int) {
	rows := len(sums[0])
	alone := a.name == dots.name && steps == 1 // elements have a term more than is wanted
	for parity := range sums {
		cols := a.vecs(b.vecs)
		for j, v := range cols {
			a.load(at(r.pairB, j*a.bytes()), v, b.masked && j == b.vecs-1)
			if alone {
				a.VPANDD(r.upper, v, v)
			}
		}
		a.ADDQ(r.rowB, r.pairB)
		for i, row := range sums[parity] {
			x := operand.Mem{Base: r.row[i/3], Disp: 4 * parity}
			if i%3 > 0 {
				x.Index, x.Scale = r.rowA, uint8(i%3)
			}
			if steps == 2 {
				for j, v := range cols {
					a.dotBroadcast(x, v, row[j])
				}
				continue
			}
			bc := a.vec()
			if alone {
				a.VPANDD_BCST(x, r.upper, bc)
			} else {
				a.VBROADCASTSS(x, bc)
			}
			for j, v := range cols {
				a.VFMADD231PS(v, bc, row[j])
			}
		}
	}
	if steps == 2 {
		a.LEAQ(indexed(r.pairB, r.rowB, 2), r.pairB)
	}
	for i := 0; 3*i < rows; i++ {
		a.ADDQ(operand.U8(8*steps), r.row[i])
	}
}
