package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of asm.Tile; a test of package asm compares them with the compiler's.
const (
	tileSegs = 88 + 8*iota
	tileK
	tileASeg
	tileARow
	tileAK
	tileBSeg
	tileBRow
	tileCRow
	tileAcc
)

// block is one shape of the matrix-multiply tile.
type block struct {
	name   string
	vecs   int  // registers in a row of C
	masked bool // whether the last register of a row is ragged
	rows   int  // the most rows of a tile
	unroll int  // steps p per pass of the inner loop
}

// gemm emits the family gemm, the matrix-multiply tiles:
//
//	C[i,j] = (C[i,j]) + Σ_s Σ_p A[s·ASeg + i·ARow + p·AK] · B[s·BSeg + p·BRow + j]
//
// All sums of a tile stay in registers: 12 × 2 of the 32 registers with AVX-512, 6 × 2 of the 16 with AVX2, and 12 × 1
// for a panel of one register. A core starts two fused multiply-adds per cycle, and each takes 4 cycles; so at least 8
// independent sums are needed for full speed, which a tile of 4 × 2 has. Per step p every row costs a broadcast and
// every column a load: a tile of 12 × 2 has 14 loads for 24 multiply-adds.
func gemm(a *asm) {
	rows := 6
	if a.lanes == 16 {
		rows = 12
	}
	for _, b := range []block{
		{"GemmWide", 2, false, rows, 2},
		{"GemmRagged", 2, true, rows, 1},
		{"GemmNarrow", 1, true, 12, 1},
	} {
		b.emit(a)
	}
}

// emit emits one kernel, which computes tiles tiles of rows rows, and then smaller tiles of one row less. tail is the
// number of columns in the last register. The kernel has a loop for every number of rows, and jumps to the right one.
func (b block) emit(a *asm) {
	a.begin(b.name, "func(t *byte, a, b, c *float32, tail, rows, tiles, smaller int)")
	if b.masked {
		a.lanesBelow(a.arg("tail"))
	}
	r := gemmRegs{
		t: a.arg("t"), rowA: a.GP64(), stepA: a.GP64(), rowB: a.GP64(),
		segA: a.GP64(), segB: a.GP64(), b: a.GP64(), p: a.GP64(), tiles: a.arg("tiles"),
	}
	for i := range r.a {
		r.a[i] = a.GP64()
	}
	// Strides in bytes.
	for _, stride := range []struct {
		disp int
		to   reg.GPVirtual
	}{{tileARow, r.rowA}, {tileAK, r.stepA}, {tileBRow, r.rowB}} {
		a.MOVQ(at(r.t, stride.disp), stride.to)
		a.SHLQ(operand.U8(2), stride.to)
	}
	// Jump to the loop for the given number of rows, which then leads on to the loop for one row less.
	h := a.arg("rows")
	dispatch(a, "rows", h, 1, b.rows)
	for rows := b.rows; rows > 0; rows-- {
		b.tile(a, r, rows)
	}
}

// gemmRegs are the registers of the tile loop.
type gemmRegs struct {
	t                 reg.GPVirtual    // *Tile
	rowA, stepA, rowB reg.GPVirtual    // the strides ARow, AK and BRow in bytes
	segA, segB        reg.GPVirtual    // where the segment begins in A and B
	a                 [4]reg.GPVirtual // rows 0, 3, 6 and 9 of A at step p
	b, p, tiles       reg.GPVirtual    // row p of B, steps left, tiles left
}

// dispatch emits jumps to the labels name followed by h, lo ≤ h ≤ hi, by a binary search.
func dispatch(a *asm, name string, h reg.Register, lo, hi int) {
	if lo == hi {
		a.JMP(jump(fmt.Sprintf("%s%d", name, lo)))
		return
	}
	mid := (lo + hi + 1) / 2
	upper := fmt.Sprintf("from%d", mid)
	a.CMPQ(h, operand.U8(mid))
	a.JGE(jump(upper))
	dispatch(a, name, h, lo, mid-1)
	a.Label(upper)
	dispatch(a, name, h, mid, hi)
}

// tile emits the loop over all tiles with the given number of rows. Behind it, the smaller tiles continue in the loop
// for one row less.
func (b block) tile(a *asm, r gemmRegs, rows int) {
	name := func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
	acc := make([][]reg.VecVirtual, rows)
	a.Label(name("rows"))
	for i := range acc {
		acc[i] = a.vecs(b.vecs)
		for _, v := range acc[i] {
			a.zero(v)
		}
	}
	// The loop over the segments s.
	segs := a.GP64()
	a.MOVQ(a.slot("a"), r.segA)
	a.MOVQ(a.slot("b"), r.segB)
	a.MOVQ(at(r.t, tileSegs), segs)

	a.Label(name("seg"))
	// Row pointers, three rows of A apart; r.p is free for their distance, 3·rowA, until the loop over p.
	a.MOVQ(r.segA, r.a[0])
	a.LEAQ(indexed(r.rowA, r.rowA, 2), r.p)
	for i := 1; 3*i < rows; i++ {
		a.LEAQ(indexed(r.a[i-1], r.p, 1), r.a[i])
	}
	a.MOVQ(r.segB, r.b)
	a.MOVQ(at(r.t, tileK), r.p)
	if b.unroll > 1 {
		a.whole(b.unroll, r.p, name("loop"), name("rest"), func() {
			for range b.unroll {
				b.step(a, r, acc)
			}
		})
		a.JEQ(jump(name("next")))
	}
	a.Label(name("one"))
	b.step(a, r, acc)
	a.countDown(r.p, name("one"))
	a.Label(name("next"))
	// The next segment; the strides count elements of 4 bytes.
	a.MOVQ(at(r.t, tileASeg), r.p)
	a.LEAQ(indexed(r.segA, r.p, 4), r.segA)
	a.MOVQ(at(r.t, tileBSeg), r.p)
	a.LEAQ(indexed(r.segB, r.p, 4), r.segB)
	a.countDown(segs, name("seg"))

	b.write(a, r, acc, name)
	// The next tile of the same height, then the tiles of one row less.
	a.IMUL3Q(operand.U8(rows), r.rowA, r.p)
	a.ADDQ(r.p, a.slot("a"))
	a.countDown(r.tiles, name("rows"))
	if rows > 1 {
		a.MOVQ(a.slot("smaller"), r.tiles)
		a.MOVQ(operand.U32(0), a.slot("smaller"))
		a.TESTQ(r.tiles, r.tiles)
		a.JNE(jump(fmt.Sprintf("rows%d", rows-1)))
	}
	a.end()
}

// step emits the multiply-adds of one step p: acc[i,j] += A[i,p]·B[p,j]. Rows 3k, 3k+1 and 3k+2 of A are addressed from
// r.a[k] with an index of 0, 1 or 2 strides, so that 12 rows need 4 pointers.
func (b block) step(a *asm, r gemmRegs, acc [][]reg.VecVirtual) {
	cols := a.vecs(b.vecs)
	for j, v := range cols {
		a.load(at(r.b, j*a.bytes()), v, b.masked && j == b.vecs-1)
	}
	a.ADDQ(r.rowB, r.b)
	for i, row := range acc {
		x := operand.Mem{Base: r.a[i/3]}
		if i%3 > 0 {
			x.Index, x.Scale = r.rowA, uint8(i%3)
		}
		bc := a.vec()
		a.VBROADCASTSS(x, bc)
		for j, v := range cols {
			a.VFMADD231PS(v, bc, row[j])
		}
	}
	for i := 0; 3*i < len(acc); i++ {
		a.ADDQ(r.stepA, r.a[i])
	}
}

// write emits the end of a tile: it adds the old C if Acc is set, stores the sums, and moves c to the next tile.
func (b block) write(a *asm, r gemmRegs, acc [][]reg.VecVirtual, name func(string) string) {
	c, stride := r.a[0], r.a[1]
	each := func(do func(m operand.Mem, v reg.VecVirtual, masked bool)) {
		a.MOVQ(a.slot("c"), c)
		for _, row := range acc {
			for j, v := range row {
				do(at(c, j*a.bytes()), v, b.masked && j == b.vecs-1)
			}
			a.ADDQ(stride, c)
		}
	}
	a.MOVQ(at(r.t, tileCRow), stride)
	a.SHLQ(operand.U8(2), stride)
	a.CMPB(at(r.t, tileAcc), operand.U8(0))
	a.JEQ(jump(name("store")))
	each(func(m operand.Mem, v reg.VecVirtual, masked bool) {
		if !masked {
			a.VADDPS(m, v, v)
			return
		}
		old := a.vec()
		a.load(m, old, true)
		a.VADDPS(old, v, v)
	})
	a.Label(name("store"))
	each(func(m operand.Mem, v reg.VecVirtual, masked bool) { a.store(v, m, masked) })
	a.MOVQ(c, a.slot("c"))
}
