package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposeNarrow emits dst[j·ldDst + i] = src[i·ldSrc + j], rounded to bfloat16 and stored in 16 bits, for i < rows,
// j < cols; and the same for the low part, what rounding leaves. Moves 6 |src| bytes.
//
// It goes in blocks of 32 rows and 16 columns, whose edges are ragged as in transpose: 32 numbers of bfloat16 fill a
// register of dst, 16 of float32 one of src.
func transposeNarrow(a *asm) {
	for _, k := range []struct {
		name string
		low  bool
	}{{"TransposeRound", false}, {"TransposeLow", true}} {
		a.begin(k.name, "func(dst *uint16, ldDst int, src *float32, ldSrc, rows, cols int)")
		t := narrowTransposer{
			low: k.low, ldSrc: a.arg("ldSrc"), ldDst: a.arg("ldDst"), rows: a.arg("rows"), cols: a.GP64(),
			src: a.GP64(), dst: a.GP64(),
		}
		t.emit(a)
	}
}

// narrowTransposer holds the registers of transposeNarrow: the corner of the block in src and dst, the strides in
// bytes, and how many rows and columns are left.
type narrowTransposer struct {
	low                                bool
	src, ldSrc, dst, ldDst, rows, cols reg.GPVirtual
}

// The rows and the columns of a block.
const (
	blockRows = 32
	blockCols = 16
)

// emit emits the kernel.
func (t narrowTransposer) emit(a *asm) {
	a.SHLQ(operand.U8(2), t.ldSrc)
	a.SHLQ(operand.U8(1), t.ldDst)
	// A row of blocks. The slots of src and dst hold the first block of the row.
	a.Label("rowBlock")
	a.Load(a.Param("cols"), t.cols)
	a.MOVQ(a.slot("src"), t.src)
	a.MOVQ(a.slot("dst"), t.dst)
	a.CMPQ(t.rows, operand.U8(blockRows))
	a.JLT(jump("ragged"))
	a.Label("colBlock")
	a.CMPQ(t.cols, operand.U8(blockCols))
	a.JLT(jump("ragged"))
	t.full(a)
	t.nextCols(a)
	a.JNE(jump("colBlock"))
	a.JMP(jump("nextRows"))

	a.Label("ragged")
	t.ragged(a)
	t.nextCols(a)
	a.JGT(jump("ragged"))

	a.Label("nextRows")
	step := a.GP64()
	a.MOVQ(t.ldSrc, step)
	a.SHLQ(operand.U8(5), step)
	a.ADDQ(step, a.slot("src"))
	a.ADDQ(operand.U8(2*blockRows), a.slot("dst"))
	a.SUBQ(operand.U8(blockRows), t.rows)
	a.JGT(jump("rowBlock"))
	a.end()
}

// nextCols moves to the next block of columns. Afterwards the processor's flags compare the columns left with 0.
func (t narrowTransposer) nextCols(a *asm) {
	step := a.GP64()
	a.ADDQ(operand.U8(4*blockCols), t.src)
	a.MOVQ(t.ldDst, step)
	a.SHLQ(operand.U8(4), step)
	a.ADDQ(step, t.dst)
	a.SUBQ(operand.U8(blockCols), t.cols)
}

// full emits the code for a whole block.
func (t narrowTransposer) full(a *asm) {
	p := a.GP64()
	a.MOVQ(t.src, p)
	out := t.turn(a, func(i int, r reg.Register) {
		if i > 0 {
			a.ADDQ(t.ldSrc, p)
		}
		a.VMOVUPS(at(p, 0), r)
	})
	q := a.GP64()
	a.MOVQ(t.dst, q)
	for j, v := range out {
		if j > 0 {
			a.ADDQ(t.ldDst, q)
		}
		a.VMOVDQU16(v, at(q, 0))
	}
}

// ragged emits the code for a block at the edge, of fewer rows or columns. In place of the rows that it lacks it loads
// its last row again.
func (t narrowTransposer) ragged(a *asm) {
	atMost := func(n reg.GPVirtual, limit int) reg.GPVirtual {
		m, most := a.GP64(), a.GP64()
		a.MOVQ(operand.U32(limit), most)
		a.MOVQ(n, m)
		a.CMPQ(m, most)
		a.CMOVQGT(most, m)
		return m
	}
	// Load: once the last row is reached, the stride becomes 0.
	a.lanesBelow(atMost(t.cols, blockCols))
	p, left, ld, none := a.GP64(), a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(t.src, p)
	a.MOVQ(t.rows, left)
	a.MOVQ(t.ldSrc, ld)
	a.XORQ(none, none)
	out := t.turn(a, func(i int, r reg.Register) {
		if i > 0 {
			a.DECQ(left)
			a.CMOVQEQ(none, ld)
			a.ADDQ(ld, p)
		}
		a.load(at(p, 0), r, true)
	})

	// Store: the columns of the block are rows of dst.
	words, _ := a.wordsBelow(atMost(t.rows, blockRows))
	q, stored := a.GP64(), a.label("stored")
	a.MOVQ(t.dst, q)
	a.MOVQ(t.cols, left)
	for j, v := range out {
		a.storeWords(v, words, at(q, 0))
		if j < len(out)-1 {
			a.ADDQ(t.ldDst, q)
			a.DECQ(left)
			a.JEQ(jump(stored))
		}
	}
	a.Label(stored)
}

// turn loads the 32 rows of a block, in order, and returns its 16 columns.
//
// Rounding two rows into one register and four steps bring the 32 words of a column together. Each step merges
// registers whose rows differ in one bit of their numbers, and parts columns by one bit of theirs. The last step takes
// two whole lanes of 128 bits of either register: of these, one has come from the first row of a rounded pair and one
// from the second. So the rows of a pair differ in the bit below the highest.
func (t narrowTransposer) turn(a *asm, load func(i int, r reg.Register)) []reg.VecVirtual {
	// merge applies both instructions to every pair of registers that are distance apart. The result of the first
	// instruction takes the place of the pair's first register.
	merge := func(r []reg.VecVirtual, distance int, first, second func(x, y, to reg.Register)) {
		for i := range r {
			if i&distance == 0 {
				low, high := a.vec(), a.vec()
				first(r[i], r[i+distance], low)
				second(r[i], r[i+distance], high)
				r[i], r[i+distance] = low, high
			}
		}
	}
	// Register i has the rows i%8 + i/8·16, and these rows + 8: its lanes 0 and 1 the 16 words of the first of these.
	const apart = 8
	rows, r := make([]reg.VecVirtual, apart), make([]reg.VecVirtual, blockCols)
	for i := range blockRows {
		v := a.vec()
		load(i, v)
		if i&apart == 0 {
			rows[i%apart] = v
			continue
		}
		pair := a.vec()
		a.narrow(rows[i%apart], v, pair)
		if t.low {
			a.lowPart(rows[i%apart], v, pair)
		}
		r[i/16*apart+i%apart] = pair
	}
	merge(r, 1, func(x, y, to reg.Register) { a.VPUNPCKLWD(y, x, to) },
		func(x, y, to reg.Register) { a.VPUNPCKHWD(y, x, to) })
	merge(r, 2, func(x, y, to reg.Register) { a.VPUNPCKLDQ(y, x, to) },
		func(x, y, to reg.Register) { a.VPUNPCKHDQ(y, x, to) })
	merge(r, 4, func(x, y, to reg.Register) { a.VPUNPCKLQDQ(y, x, to) },
		func(x, y, to reg.Register) { a.VPUNPCKHQDQ(y, x, to) })
	const evenLanes, oddLanes = operand.U8(0x88), operand.U8(0xdd)
	merge(r, 8, func(x, y, to reg.Register) { a.VSHUFI32X4(evenLanes, y, x, to) },
		func(x, y, to reg.Register) { a.VSHUFI32X4(oddLanes, y, x, to) })
	// The bits of a column's number, from the highest, are now those of its register's number that the steps with
	// distances 8, 1, 2 and 4 have set.
	out := make([]reg.VecVirtual, blockCols)
	for j := range out {
		out[j] = r[j&8+j>>2&1+j>>1&1*2+j&1*4]
	}
	return out
}
