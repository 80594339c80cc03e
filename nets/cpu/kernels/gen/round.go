package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// round emits the family round: float32 rounded to bfloat16 and stored as float32.
func round(a *asm) {
	// dst = src, rounded. Moves 8 |src| bytes.
	a.begin("Round", "func(dst, src *float32, n int)")
	dst, src, n, c := a.arg("dst"), a.arg("src"), a.arg("n"), a.roundConstants()
	a.each(n, func(here func(reg.Register) operand.Mem, masked bool) {
		x := a.vec()
		a.load(here(src), x, masked)
		a.store(c.round(a, x), here(dst), masked)
	})
	a.end()

	// high = src and low = src − high, both rounded. Moves 12 |src| bytes.
	a.begin("RoundSplit", "func(high, low, src *float32, n int)")
	high, low, src, n, c := a.arg("high"), a.arg("low"), a.arg("src"), a.arg("n"), a.roundConstants()
	a.each(n, func(here func(reg.Register) operand.Mem, masked bool) {
		x := a.vec()
		a.load(here(src), x, masked)
		h, rest := c.round(a, x), a.vec()
		a.VSUBPS(h, x, rest)
		a.store(h, here(high), masked)
		a.store(c.round(a, rest), here(low), masked)
	})
	a.end()
}

// rounding holds constants in every lane.
type rounding struct{ one, half, upper, exponent, sign reg.VecVirtual }

// roundConstants returns the constants of rounding.
func (a *asm) roundConstants() rounding {
	return rounding{
		one: a.integers(1), half: a.integers(0x7fff), upper: a.integers(0xffff0000), exponent: a.integers(0x7f800000),
		sign: a.integers(0x80000000),
	}
}

// round returns a new register with x rounded to bfloat16: to nearest, ties to even. Subnormal numbers become 0 with
// their sign; NaN stays NaN, and all else that has the largest exponent.
func (c rounding) round(a *asm, x reg.Register) reg.VecVirtual {
	r, zero := a.vec(), a.vec()
	// Add half a unit, or a little less where the last bit that stays is 0, and cut.
	a.VPSRLD(operand.U8(16), x, r)
	if a.lanes == 16 {
		a.VPANDD(c.one, r, r)
		a.VPADDD(c.half, r, r)
		a.VPADDD(x, r, r)
		a.VPANDD(c.upper, r, r)
		unordered, subnormal := a.K(), a.K()
		a.VCMPPS(isUnord, x, x, unordered)
		a.VMOVAPS(x, unordered, r)
		a.VPTESTNMD(c.exponent, x, subnormal)
		a.VPANDD(c.sign, x, subnormal, r)
		return r
	}
	a.VPAND(c.one, r, r)
	a.VPADDD(c.half, r, r)
	a.VPADDD(x, r, r)
	a.VPAND(c.upper, r, r)
	test, none := a.vec(), a.vec()
	a.VCMPPS(isUnord, x, x, test)
	a.VBLENDVPS(test, x, r, r)
	a.VPXOR(none, none, none)
	a.VPAND(c.exponent, x, test)
	a.VPCMPEQD(none, test, test)
	a.VPAND(c.sign, x, zero)
	a.VBLENDVPS(test, zero, r, r)
	return r
}
