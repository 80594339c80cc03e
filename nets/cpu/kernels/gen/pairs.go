package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs emits the family pairs: float32 rounded to bfloat16 and stored in pairs, for the products of AVX512_BF16. With
// Split there is a low part too, what rounding leaves, rounded in turn. Moves 12 |src| bytes, or 16.
func pairs(a *asm) {
	a.begin("Pair", "func(dst *uint32, src, next *float32, n, valid int)")
	pairBlocks(a, a.arg("dst"), nil)
	a.begin("PairSplit", "func(high, low *uint32, src, next *float32, n, valid int)")
	pairBlocks(a, a.arg("high"), a.arg("low"))
	a.begin("PairRows", "func(dst *uint32, src *float32, ld, rows, cols int)")
	pairRows(a, a.arg("dst"), nil)
	a.begin("PairRowsSplit", "func(high, low *uint32, src *float32, ld, rows, cols int)")
	pairRows(a, a.arg("high"), a.arg("low"))
	transposePairs(a)

	// sum[l] = sum[l] + x[l]·y[l], both terms of a pair, for 16 lanes.
	a.begin("Dot", "func(sum *float32, x, y *uint32)")
	sum, x, y := a.arg("sum"), a.vec(), a.vec()
	s := a.vec()
	a.VMOVUPS(at(a.arg("x"), 0), x)
	a.VMOVUPS(at(a.arg("y"), 0), y)
	a.VMOVUPS(at(sum, 0), s)
	a.dot(x, y, s)
	a.VMOVUPS(s, at(sum, 0))
	a.end()
}

// pairing holds constants of the code that makes pairs.
type pairing struct {
	turns reg.VecVirtual // places of words that take turns
	upper reg.VecVirtual // the bits of a pair's own number
}

// pairConstants returns the constants of pairing. Without split, upper is not set.
func (a *asm) pairConstants(split bool) (c pairing) {
	c.turns = a.words("turns", func(i int) int { return i/2 + i%2*16 })
	if split {
		c.upper = a.integers(0xffff0000)
	}
	return c
}

// pairUp returns a new register with x, rounded, in the upper halves and next in the lower ones.
func (a *asm) pairUp(x, next reg.Register, c pairing) reg.VecVirtual {
	r := a.vec()
	a.narrow(next, x, r)
	a.VPERMW(r, c.turns, r)
	return r
}

// keepRest subtracts from x and next what their pairs r hold of them.
func (a *asm) keepRest(x, next, r reg.VecVirtual, c pairing) {
	part := a.vec()
	a.VPANDD(c.upper, r, part)
	a.VSUBPS(part, x, x)
	a.VPSLLD(operand.U8(16), r, part)
	a.VSUBPS(part, next, next)
}

// pairBlocks emits the rest of a kernel that makes n pairs, a register at a time. low is nil without the low part.
func pairBlocks(a *asm, high, low reg.GPVirtual) {
	src, next, n, valid := a.arg("src"), a.arg("next"), a.arg("n"), a.arg("valid")
	c := a.pairConstants(low != nil)
	move := []reg.GPVirtual{src, next, high}
	if low != nil {
		move = append(move, low)
	}
	block := func(lanes, validLanes reg.Register) {
		x, y := a.vec(), a.vec()
		a.loadLanes(at(src, 0), lanes, x)
		a.loadLanes(at(next, 0), validLanes, y)
		store := func(r reg.Register, p reg.GPVirtual) {
			if lanes == nil {
				a.VMOVUPS(r, at(p, 0))
			} else {
				a.VMOVUPS(r, lanes, at(p, 0))
			}
		}
		r := a.pairUp(x, y, c)
		store(r, high)
		if low != nil {
			a.keepRest(x, y, r, c)
			store(a.pairUp(x, y, c), low)
		}
		a.move(a.bytes(), move...)
		a.SUBQ(operand.U8(a.lanes), n)
	}
	a.Label("full")
	a.CMPQ(n, operand.U8(a.lanes))
	a.JLT(jump("ragged"))
	a.CMPQ(valid, operand.U8(a.lanes))
	a.JLT(jump("ragged"))
	a.SUBQ(operand.U8(a.lanes), valid)
	block(nil, nil)
	a.JMP(jump("full"))
	a.Label("ragged")
	a.TESTQ(n, n)
	a.JLE(jump("done"))
	lanes, validLanes, left, zero, all := a.K(), a.K(), a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(operand.U32(a.lanes), all)
	for _, mask := range []struct {
		of reg.GPVirtual
		to reg.Register
	}{{n, lanes}, {valid, validLanes}} {
		a.XORQ(zero, zero)
		a.MOVQ(mask.of, left)
		a.CMPQ(left, zero)
		a.CMOVQLT(zero, left)
		a.CMPQ(left, all)
		a.CMOVQGT(all, left)
		a.MOVL(operand.U32(0xffff), zero.As32())
		a.BZHIL(left.As32(), zero.As32(), zero.As32())
		a.KMOVW(zero.As32(), mask.to)
	}
	a.SUBQ(all, valid)
	block(lanes, validLanes)
	a.JMP(jump("full"))
	a.Label("done")
	a.end()
}

// pairRows emits the rest of a kernel that pairs the rows p and p+2 of src [rows,cols], in strips of columns. low is
// nil without the low part. Rows of a wide matrix are far apart, so it asks for them ahead of time.
func pairRows(a *asm, high, low reg.GPVirtual) {
	src, ld, cols, pitch := a.arg("src"), a.arg("ld"), a.arg("cols"), a.GP64()
	a.MOVQ(cols, pitch)
	a.SHLQ(operand.U8(2), pitch)
	a.SHLQ(operand.U8(2), ld)
	c := a.pairConstants(low != nil)
	columns := []reg.GPVirtual{src, high}
	if low != nil {
		columns = append(columns, low)
	}
	a.strips([]int{2, 1}, cols, columns, func(vecs int, masked bool) {
		from, off, n := a.GP64(), a.GP64(), a.GP64()
		row := func(last bool) {
			for i := range vecs {
				x, y := a.vec(), a.vec()
				a.load(at(from, i*a.bytes()), x, masked)
				if last {
					a.zero(y)
				} else {
					next, ahead := indexed(from, ld, 2), indexed(from, ld, 8)
					next.Disp, ahead.Disp = i*a.bytes(), i*a.bytes()
					a.load(next, y, masked)
					a.PREFETCHT0(ahead)
				}
				r := a.pairUp(x, y, c)
				a.store(r, a.behind(off, i)(high), masked)
				if low != nil {
					a.keepRest(x, y, r, c)
					a.store(a.pairUp(x, y, c), a.behind(off, i)(low), masked)
				}
			}
			a.ADDQ(ld, from)
			a.ADDQ(pitch, off)
		}
		loop, last, lastLoop := a.label("row"), a.label("last"), a.label("lastRow")
		a.MOVQ(src, from)
		a.XORQ(off, off)
		a.Load(a.Param("rows"), n)
		a.SUBQ(operand.U8(2), n)
		a.JLE(jump(last))
		a.Label(loop)
		row(false)
		a.countDown(n, loop)
		a.Label(last) // two rows, or a single one if n is below 0
		a.ADDQ(operand.U8(2), n)
		a.Label(lastLoop)
		row(true)
		a.countDown(n, lastLoop)
	})
	a.end()
}

// transposePairs emits transpose with pairs of the rows i and i+2 of src in place of row i.
func transposePairs(a *asm) {
	a.begin("TransposePair", "func(dst *uint32, ldDst int, src *float32, ldSrc, rows, cols int)")
	c := a.pairConstants(false)
	a.transposed(&c)
}
