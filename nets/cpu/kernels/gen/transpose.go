package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose computes dst[j·ldDst + i] = src[i·ldSrc + j] for i < rows, j < cols. It goes in square blocks, as many rows
// and columns as a register has lanes.
//
// A block at the edge is ragged. It masks columns while loading and rows while storing. In place of the rows that it
// lacks it loads its last row again, so that it reads nothing outside src, and it stores only the columns that it has.
func transpose(a *asm) {
	a.begin("Transpose", "func(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)")
	a.transposed(nil)
}

// transposed emits the rest of a kernel that transposes: rows or, unless pairs is nil, pairs of rows.
func (a *asm) transposed(pairs *pairing) {
	t := transposer{
		ldSrc: a.arg("ldSrc"), ldDst: a.arg("ldDst"), rows: a.arg("rows"), cols: a.GP64(), src: a.GP64(), dst: a.GP64(),
		pairs: pairs,
	}
	a.SHLQ(operand.U8(2), t.ldSrc)
	a.SHLQ(operand.U8(2), t.ldDst)

	// A row of blocks: whole blocks as long as there are enough rows and columns left, ragged ones behind. The slots of
	// src and dst hold the first block of the row.
	a.Label("rowBlock")
	a.Load(a.Param("cols"), t.cols)
	a.MOVQ(a.slot("src"), t.src)
	a.MOVQ(a.slot("dst"), t.dst)
	a.CMPQ(t.rows, operand.U8(t.loaded(a)))
	a.JLT(jump("ragged"))
	a.Label("colBlock")
	a.CMPQ(t.cols, operand.U8(a.lanes))
	a.JLT(jump("ragged"))
	t.full(a)
	t.nextCols(a)
	a.JNE(jump("colBlock"))
	a.JMP(jump("nextRows"))

	a.Label("ragged")
	t.ragged(a)
	t.nextCols(a)
	a.JGT(jump("ragged"))

	// The next row of blocks: down in src, to the right in dst.
	a.Label("nextRows")
	step := a.GP64()
	a.IMUL3Q(operand.U8(a.lanes), t.ldSrc, step)
	a.ADDQ(step, a.slot("src"))
	a.ADDQ(operand.U8(a.bytes()), a.slot("dst"))
	a.SUBQ(operand.U8(a.lanes), t.rows)
	a.JGT(jump("rowBlock"))
	a.end()
}

// transposer holds the registers of transpose: the corner of the block in src and dst, the strides in bytes, and how
// many rows and columns are left.
type transposer struct {
	src, ldSrc, dst, ldDst, rows, cols reg.GPVirtual
	pairs                              *pairing
}

// loaded returns how many rows a block needs.
func (t transposer) loaded(a *asm) int {
	if t.pairs != nil {
		return a.lanes + 2
	}
	return a.lanes
}

// paired returns the rows of a block, or their pairs.
func (t transposer) paired(a *asm, r []reg.VecVirtual) []reg.VecVirtual {
	if t.pairs == nil {
		return r
	}
	out := make([]reg.VecVirtual, a.lanes)
	for i := range out {
		out[i] = a.pairUp(r[i], r[i+2], *t.pairs)
	}
	return out
}

// nextCols moves to the next block of columns. Afterwards the processor's flags compare the columns left with 0.
func (t transposer) nextCols(a *asm) {
	step := a.GP64()
	a.ADDQ(operand.U8(a.bytes()), t.src)
	a.IMUL3Q(operand.U8(a.lanes), t.ldDst, step)
	a.ADDQ(step, t.dst)
	a.SUBQ(operand.U8(a.lanes), t.cols)
}

// full emits the code for a whole block.
func (t transposer) full(a *asm) {
	r, p := a.vecs(t.loaded(a)), a.GP64()
	a.MOVQ(t.src, p)
	for i := range r {
		if i > 0 {
			a.ADDQ(t.ldSrc, p)
		}
		a.VMOVUPS(at(p, 0), r[i])
	}
	q := a.GP64()
	a.MOVQ(t.dst, q)
	for j, v := range a.turn(t.paired(a, r)) {
		if j > 0 {
			a.ADDQ(t.ldDst, q)
		}
		a.VMOVUPS(v, at(q, 0))
	}
}

// ragged emits the code for a block at the edge, of fewer rows or columns than a register has lanes.
func (t transposer) ragged(a *asm) {
	most := a.GP64()
	a.MOVQ(operand.U32(a.lanes), most)
	atMost := func(n reg.GPVirtual) reg.GPVirtual {
		m := a.GP64()
		a.MOVQ(n, m)
		a.CMPQ(m, most)
		a.CMOVQGT(most, m)
		return m
	}

	// Load: once the last row is reached, the stride becomes 0. Pairs want zeros behind it.
	a.lanesBelow(atMost(t.cols))
	r, p, left, ld, none := a.vecs(t.loaded(a)), a.GP64(), a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(t.src, p)
	a.MOVQ(t.rows, left)
	a.MOVQ(t.ldSrc, ld)
	a.XORQ(none, none)
	bits := a.GP64()
	if t.pairs != nil {
		a.KMOVW(a.mask, bits.As32())
	}
	for i := range r {
		if i > 0 {
			a.DECQ(left)
			a.CMOVQEQ(none, ld)
			if t.pairs != nil {
				a.CMOVQEQ(none, bits)
				a.KMOVW(bits.As32(), a.mask)
			}
			a.ADDQ(ld, p)
		}
		a.load(at(p, 0), r[i], true)
	}

	// Store: the columns of the block are rows of dst.
	out := a.turn(t.paired(a, r))
	a.lanesBelow(atMost(t.rows))
	q, stored := a.GP64(), a.label("stored")
	a.MOVQ(t.dst, q)
	a.MOVQ(t.cols, left)
	for j, v := range out {
		a.store(v, at(q, 0), true)
		if j < len(out)-1 {
			a.ADDQ(t.ldDst, q)
			a.DECQ(left)
			a.JEQ(jump(stored))
		}
	}
	a.Label(stored)
}

// turn returns the columns of the block with rows r. It overwrites r.
//
// It interleaves pairs of rows, and then pairs of pairs. After that, the 128-bit lane L of register q in group g holds
// column 4L+q of rows 4g … 4g+3. The last step brings the lanes of each column together.
func (a *asm) turn(r []reg.VecVirtual) []reg.VecVirtual {
	n := len(r)
	quads := make([]reg.VecVirtual, n)
	for g := 0; g < n; g += 4 {
		t := a.vecs(4)
		a.VUNPCKLPS(r[g+1], r[g], t[0])
		a.VUNPCKHPS(r[g+1], r[g], t[1])
		a.VUNPCKLPS(r[g+3], r[g+2], t[2])
		a.VUNPCKHPS(r[g+3], r[g+2], t[3])
		q := a.vecs(4)
		a.VUNPCKLPD(t[2], t[0], q[0])
		a.VUNPCKHPD(t[2], t[0], q[1])
		a.VUNPCKLPD(t[3], t[1], q[2])
		a.VUNPCKHPD(t[3], t[1], q[3])
		copy(quads[g:], q)
	}
	out := make([]reg.VecVirtual, n)
	const evenLanes, oddLanes = operand.U8(0x88), operand.U8(0xdd)
	for q := range 4 {
		if n == 8 {
			out[q], out[4+q] = a.vec(), a.vec()
			a.VPERM2F128(operand.U8(0x20), quads[4+q], quads[q], out[q])
			a.VPERM2F128(operand.U8(0x31), quads[4+q], quads[q], out[4+q])
			continue
		}
		t := a.vecs(4)
		a.VSHUFF32X4(evenLanes, quads[4+q], quads[q], t[0])
		a.VSHUFF32X4(evenLanes, quads[12+q], quads[8+q], t[1])
		a.VSHUFF32X4(oddLanes, quads[4+q], quads[q], t[2])
		a.VSHUFF32X4(oddLanes, quads[12+q], quads[8+q], t[3])
		for l := range 4 {
			out[4*l+q] = a.vec()
			select4 := evenLanes
			if l >= 2 {
				select4 = oddLanes
			}
			a.VSHUFF32X4(select4, t[2*(l%2)+1], t[2*(l%2)], out[4*l+q])
		}
	}
	return out
}
