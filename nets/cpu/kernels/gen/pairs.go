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

// pairBlocks emits the rest of a kernel that makes n pairs, a register at a time. low is nil without the low part.
func pairBlocks(a *asm, high, low reg.GPVirtual) {
	src, next, n, valid := a.arg("src"), a.arg("next"), a.arg("n"), a.arg("valid")
	turns := a.words("turns", func(i int) int { return i/2 + i%2*16 })
	upper := a.integers(0xffff0000)
	move := []reg.GPVirtual{src, next, high}
	if low != nil {
		move = append(move, low)
	}
	block := func(lanes, validLanes reg.Register) {
		x, y, r := a.vec(), a.vec(), a.vec()
		a.loadLanes(at(src, 0), lanes, x)
		a.loadLanes(at(next, 0), validLanes, y)
		to := func(p reg.GPVirtual) {
			a.narrow(y, x, r)
			a.VPERMW(r, turns, r)
			if lanes == nil {
				a.VMOVUPS(r, at(p, 0))
			} else {
				a.VMOVUPS(r, lanes, at(p, 0))
			}
		}
		to(high)
		if low != nil {
			part := a.vec()
			a.VPANDD(upper, r, part)
			a.VSUBPS(part, x, x)
			a.VPSLLD(operand.U8(16), r, part)
			a.VSUBPS(part, y, y)
			to(low)
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
