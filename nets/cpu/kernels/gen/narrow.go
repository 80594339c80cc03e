package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// roundNarrow emits float32 rounded to bfloat16 and stored in 16 bits, with and without the low part: what rounding
// leaves, rounded in turn. Moves 6 |src| bytes, or 8.
func roundNarrow(a *asm) {
	a.begin("Round", "func(dst *uint16, src *float32, n int)")
	roundBlocks(a, a.arg("dst"), nil)
	a.begin("RoundSplit", "func(high, low *uint16, src *float32, n int)")
	roundBlocks(a, a.arg("high"), a.arg("low"))
}

// roundBlocks emits the rest of a kernel that rounds n numbers of src, 32 at a time. low is nil without the low part.
func roundBlocks(a *asm, high, low reg.GPVirtual) {
	src, n := a.arg("src"), a.arg("n")
	block := func(words, first, second reg.Register) {
		x, y, r := a.vec(), a.vec(), a.vec()
		a.loadLanes(at(src, 0), first, x)
		a.loadLanes(at(src, a.bytes()), second, y)
		a.narrow(x, y, r)
		a.storeWords(r, words, at(high, 0))
		if low != nil {
			a.lowPart(x, y, r)
			a.storeWords(r, words, at(low, 0))
			a.move(a.bytes(), low)
		}
		a.move(a.bytes(), high)
		a.move(2*a.bytes(), src)
	}
	a.whole(2*a.lanes, n, a.label("loop"), a.label("loopDone"), func() { block(nil, nil, nil) })
	done := a.label("done")
	a.JEQ(jump(done))
	words, second := a.wordsBelow(n)
	block(words, words, second)
	a.Label(done)
	a.end()
}

// lowPart replaces r, the numbers of x and y in bfloat16, by what rounding left of them, rounded. It overwrites x
// and y.
func (a *asm) lowPart(x, y, r reg.VecVirtual) {
	half := a.YMM()
	a.VEXTRACTI64X4(operand.U8(1), r, half)
	for _, part := range []struct {
		from reg.Register
		x    reg.VecVirtual
	}{{r.AsY(), x}, {half, y}} {
		high := a.vec()
		a.VPMOVZXWD(part.from, high)
		a.VPSLLD(operand.U8(16), high, high)
		a.VSUBPS(high, part.x, part.x)
	}
	a.narrow(x, y, r)
}

// wordsBelow returns a mask of the words l < n, for n in 0 … 32, and another one of those from 16 on, moved to bit 0.
// The lower half of the first mask is the float32 that belong to the second's.
func (a *asm) wordsBelow(n reg.GPVirtual) (words, second reg.Register) {
	all, k, high := a.GP32(), a.K(), a.K()
	a.MOVL(operand.U32(0xffffffff), all)
	a.BZHIL(n.As32(), all, all)
	a.KMOVD(all, k)
	a.KSHIFTRD(operand.U8(16), k, high)
	return k, high
}

// loadLanes loads the float32 that the mask k names, and zeros in place of the others. A nil mask names all.
func (a *asm) loadLanes(m operand.Mem, k, r reg.Register) {
	if k == nil {
		a.VMOVUPS(m, r)
	} else {
		a.VMOVUPS_Z(m, k, r)
	}
}

// storeWords stores the words that the mask k names. A nil mask names all.
func (a *asm) storeWords(r, k reg.Register, m operand.Mem) {
	if k == nil {
		a.VMOVDQU16(r, m)
	} else {
		a.VMOVDQU16(r, k, m)
	}
}

// packNarrow emits the operand B of a product: pairs of rows of src, rounded, whose numbers take turns. Row p of src
// becomes the words p%2, p%2 + 2 … of row p/2 of dst, which is 2·cols words long. A last row alone takes turns with
// zeros. Moves 6 |src| bytes, or 8.
func packNarrow(a *asm) {
	a.begin("Pack", "func(dst *uint16, src *float32, ld, rows, cols int)")
	packStrips(a, a.arg("dst"), nil)
	a.begin("PackSplit", "func(high, low *uint16, src *float32, ld, rows, cols int)")
	packStrips(a, a.arg("high"), a.arg("low"))
}

// packStrips emits the rest of a kernel that packs src, in strips of columns. low is nil without the low part.
func packStrips(a *asm, high, low reg.GPVirtual) {
	src, ld, cols, pitch := a.arg("src"), a.arg("ld"), a.arg("cols"), a.GP64()
	a.MOVQ(cols, pitch)
	a.SHLQ(operand.U8(2), pitch)
	a.SHLQ(operand.U8(2), ld)
	turns, upper := a.words("turns", func(i int) int { return i/2 + i%2*16 }), reg.VecVirtual(nil)
	columns := []reg.GPVirtual{src, high}
	if low != nil {
		upper = a.integers(0xffff0000)
		columns = append(columns, low)
	}
	a.strips([]int{2, 1}, cols, columns, func(vecs int, masked bool) {
		from, off, n := a.GP64(), a.GP64(), a.GP64()
		pair := func(alone bool) {
			for i := range vecs {
				x, y, r := a.vec(), a.vec(), a.vec()
				a.load(at(from, i*a.bytes()), x, masked)
				if alone {
					a.zero(y)
				} else {
					m := indexed(from, ld, 1)
					m.Disp = i * a.bytes()
					a.load(m, y, masked)
				}
				a.narrow(x, y, r)
				a.VPERMW(r, turns, r)
				a.store(r, a.behind(off, i)(high), masked)
				if low == nil {
					continue
				}
				// Every lane of r has the two numbers of a column.
				part := a.vec()
				a.VPSLLD(operand.U8(16), r, part)
				a.VSUBPS(part, x, x)
				a.VPANDD(upper, r, part)
				a.VSUBPS(part, y, y)
				a.narrow(x, y, r)
				a.VPERMW(r, turns, r)
				a.store(r, a.behind(off, i)(low), masked)
			}
		}
		rest, done, loop := a.label("rest"), a.label("rowsDone"), a.label("pair")
		a.MOVQ(src, from)
		a.XORQ(off, off)
		a.Load(a.Param("rows"), n)
		a.SHRQ(operand.U8(1), n)
		a.JEQ(jump(rest))
		a.Label(loop)
		pair(false)
		a.LEAQ(indexed(from, ld, 2), from)
		a.ADDQ(pitch, off)
		a.countDown(n, loop)
		a.Label(rest)
		a.TESTQ(operand.U32(1), a.slot("rows"))
		a.JEQ(jump(done))
		pair(true)
		a.Label(done)
	})
	a.end()
}

// words returns a new register with word(0) … word(31) in its words, loaded from a table. The table is local to the
// file.
func (a *asm) words(name string, word func(i int) int) reg.VecVirtual {
	m, known := a.tables[name]
	if !known {
		m = a.StaticGlobal(name)
		a.DataAttributes(rodata)
		for i := range 32 {
			a.AddDatum(2*i, operand.U16(word(i)))
		}
		if a.tables == nil {
			a.tables = map[string]operand.Mem{}
		}
		a.tables[name] = m
	}
	v := a.vec()
	a.VMOVDQU16(m, v)
	return v
}
