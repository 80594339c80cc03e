package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of asm.Tiles behind the configuration; a test of package asm compares them with the
// compiler's.
const (
	tilesSegs = 64 + 8*iota
	tilesChunks
	tilesARow
	tilesAChunk
	tilesANext
	tilesBRow
	tilesBChunk
	tilesBNext
	tilesCRow
	tilesALow
	tilesBLow
	tilesAcc
)

// The numbers of the tile registers: C has 0 to 3, in rows of one or two columns.
const (
	tileA tile = 4 // and 5
	tileB tile = 6 // and 7
)

// productTiles emits the products of AMX. asm.ProductWideAMX has the formula and the order of the sums.
//
// A tile is up to 16 rows of 64 bytes. The processor starts a product of tiles every 16 cycles, and finishes it after
// 52: so four sums are under way at a time, 2 × 2 tiles of C or, if C has one column of tiles, 4 × 1. 2 × 2 tiles have
// 4 loads for 4 products. With operands of two parts, they have 8 loads for 12 products.
func productTiles(a *asm) {
	for _, b := range []tileBlock{
		{"ProductWide", 2, false},
		{"ProductNarrow", 1, false},
		{"ProductSplitWide", 2, true},
		{"ProductSplitNarrow", 1, true},
	} {
		b.emit(a)
	}
}

// tileBlock is one kernel: how many columns of tiles it computes at a time, and whether operands have two parts.
type tileBlock struct {
	name  string
	cols  int
	split bool
}

// tileRegs are the registers of the loops.
type tileRegs struct {
	t, list      reg.GPVirtual    // *Tiles, and the next tile of the list
	a            [4]reg.GPVirtual // the chunk's tile of A, for every row of tiles
	b            reg.GPVirtual    // the chunk's tile of B
	rowA, rowB   reg.GPVirtual    // the strides of the rows of A and B in bytes
	segs, chunks reg.GPVirtual    // left
	off          reg.GPVirtual    // scratch
}

// emit emits one kernel. It goes through the list in groups of as many tiles as there are sums for, and then through
// the rest at once.
func (b tileBlock) emit(a *asm) {
	a.begin(b.name, "func(t *byte, a, b *uint16, c *float32, list *byte, n int)")
	r := tileRegs{
		t: a.arg("t"), list: a.arg("list"), b: a.GP64(), rowA: a.GP64(), rowB: a.GP64(), segs: a.GP64(),
		chunks: a.GP64(), off: a.GP64(),
	}
	for i := range r.a {
		r.a[i] = a.GP64()
	}
	a.loadConfig(at(r.t, 0))
	a.MOVQ(at(r.t, tilesARow), r.rowA)
	a.MOVQ(at(r.t, tilesBRow), r.rowB)
	n, most := a.slot("n"), 4/b.cols
	for rows := most; rows > 0; rows-- {
		next := fmt.Sprintf("fewerThan%d", rows)
		a.Label(fmt.Sprintf("rows%d", rows))
		a.CMPQ(n, operand.U8(rows))
		a.JLT(jump(next))
		b.block(a, r, rows)
		if rows == most {
			a.ADDQ(operand.U8(16*rows), r.list)
			a.SUBQ(operand.U8(rows), n)
			a.JMP(jump(fmt.Sprintf("rows%d", rows)))
		} else {
			a.JMP(jump("done"))
		}
		a.Label(next)
	}
	a.Label("done")
	a.tileRelease()
	a.RET()
}

// block computes the first rows tiles of the list.
func (b tileBlock) block(a *asm, r tileRegs, rows int) {
	name := func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
	// The tiles of C: loaded, or cleared.
	a.CMPB(at(r.t, tilesAcc), operand.U8(0))
	a.JNE(jump(name("load")))
	for i := range b.cols * rows {
		a.tileZero(tile(i))
	}
	a.JMP(jump(name("begun")))
	a.Label(name("load"))
	b.eachC(a, r, rows, func(m operand.Mem, t tile) { a.tileLoad(m, t) })
	a.Label(name("begun"))

	for i := range rows {
		a.MOVQ(at(r.list, 16*i), r.a[i])
		a.ADDQ(a.slot("a"), r.a[i])
	}
	a.MOVQ(a.slot("b"), r.b)
	a.MOVQ(at(r.t, tilesSegs), r.segs)
	a.Label(name("seg"))
	a.MOVQ(at(r.t, tilesChunks), r.chunks)
	a.Label(name("chunk"))
	if b.cols == 2 {
		b.wideChunk(a, r, rows)
	} else {
		b.narrowChunk(a, r, rows)
	}
	advance := func(fieldA, fieldB int) {
		a.MOVQ(at(r.t, fieldA), r.off)
		for i := range rows {
			a.ADDQ(r.off, r.a[i])
		}
		a.ADDQ(at(r.t, fieldB), r.b)
	}
	advance(tilesAChunk, tilesBChunk)
	a.countDown(r.chunks, name("chunk"))
	advance(tilesANext, tilesBNext)
	a.countDown(r.segs, name("seg"))
	b.eachC(a, r, rows, func(m operand.Mem, t tile) { a.tileStore(t, m) })
}

// eachC does something with every tile of C.
func (b tileBlock) eachC(a *asm, r tileRegs, rows int, do func(m operand.Mem, t tile)) {
	stride := r.segs
	a.MOVQ(at(r.t, tilesCRow), stride)
	for i := range rows {
		a.MOVQ(at(r.list, 16*i+8), r.off)
		a.ADDQ(a.slot("c"), r.off)
		for j := range b.cols {
			m := indexed(r.off, stride, 1)
			m.Disp = 64 * j
			do(m, tile(b.cols*i+j))
		}
	}
}

// loadA loads the tile of A of row i, from its high or its low part.
func (r tileRegs) loadA(a *asm, i int, low bool, to tile) {
	p := r.a[i]
	if low {
		p = r.off
		a.MOVQ(at(r.t, tilesALow), p)
		a.ADDQ(r.a[i], p)
	}
	a.tileLoad(indexed(p, r.rowA, 1), to)
}

// loadB loads the first cols tiles of a row of B into tiles from to on.
func (r tileRegs) loadB(a *asm, cols int, low bool, to tile) {
	p := r.b
	if low {
		p = r.off
		a.MOVQ(at(r.t, tilesBLow), p)
		a.ADDQ(r.b, p)
	}
	for j := range cols {
		m := indexed(p, r.rowB, 1)
		m.Disp = 64 * j
		a.tileLoad(m, to+tile(j))
	}
}

// wideChunk adds one chunk to rows × 2 tiles of C.
func (b tileBlock) wideChunk(a *asm, r tileRegs, rows int) {
	loadA := func(low bool) {
		for i := range rows {
			r.loadA(a, i, low, tileA+tile(i))
		}
	}
	multiply := func() {
		for i := range rows {
			for j := range 2 {
				a.tileMultiply(tileB+tile(j), tileA+tile(i), tile(2*i+j))
			}
		}
	}
	if b.split {
		loadA(true)
		r.loadB(a, 2, false, tileB)
		multiply()
		loadA(false)
	} else {
		loadA(false)
		r.loadB(a, 2, false, tileB)
	}
	multiply()
	if b.split {
		r.loadB(a, 2, true, tileB)
		multiply()
	}
}

// narrowChunk adds one chunk to rows × 1 tiles of C. It takes the tiles of A by twos; B stays in registers.
func (b tileBlock) narrowChunk(a *asm, r tileRegs, rows int) {
	const lowB = tileB + 1
	r.loadB(a, 1, false, tileB)
	if b.split {
		r.loadB(a, 1, true, lowB)
	}
	for first := 0; first < rows; first += 2 {
		n := min(2, rows-first)
		loadA := func(low bool) {
			for i := range n {
				r.loadA(a, first+i, low, tileA+tile(i))
			}
		}
		multiply := func(y tile) {
			for i := range n {
				a.tileMultiply(y, tileA+tile(i), tile(first+i))
			}
		}
		if b.split {
			loadA(true)
			multiply(tileB)
		}
		loadA(false)
		multiply(tileB)
		if b.split {
			multiply(lowB)
		}
	}
}

// state emits XCR0, which returns the register of that name: a bit for every state that the operating system saves.
func state(a *asm) {
	a.Function("XCR0")
	a.SignatureExpr("func() uint64")
	a.Attributes(attr.NOSPLIT)
	a.XORL(reg.ECX, reg.ECX)
	a.XGETBV()
	a.SHLQ(operand.U8(32), reg.RDX)
	a.ORQ(reg.RDX, reg.RAX)
	a.Store(reg.RAX, a.ReturnIndex(0))
	a.RET()
}
