package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wideLanes is the number of elements that softmax takes at a time: in float64, one register of AVX-512 or two of AVX2.
const wideLanes = 8

// expTerms is the degree of the Taylor series of exp on ±(ln 2)/2. The first term left out is below 2⁻⁵⁷ of the sum.
const expTerms = 13

// The offsets of the constants of exp in their table.
const (
	expFloor  = 8 * iota // exp is 0 below this, where 2ⁿ would not be a normal number
	expLog2E             // log₂ e
	expMagic             // 1.5·2⁵²: adding it rounds a number to an integer, which is then in the low bits
	expLn2Hi             // the leading bits of ln 2, so few that a product with n is exact
	expLn2Lo             // ln 2 without its leading bits
	expBias              // 1023 << 52: adding it to n << 52 gives the bits of 2ⁿ
	expSeries            // 1/13!, 1/12! … 1/0!
)

// expConstants emits the table of these constants, and returns its address.
func (a *asm) expConstants() operand.Mem {
	m := a.StaticGlobal("exp")
	a.DataAttributes(rodata)
	const high = 0x1.62e42feep-1 // the first 32 bits of ln 2, as no n has more than 11
	datum := func(at int, v float64) { a.AddDatum(at, operand.F64(v)) }
	datum(expFloor, -708)
	datum(expLog2E, math.Log2E)
	datum(expMagic, 0x1.8p52)
	datum(expLn2Hi, high)
	datum(expLn2Lo, math.Ln2-high) // both are exact constants
	a.AddDatum(expBias, operand.U64(1023<<52))
	factorial := 6227020800.0 // 13!
	for i := range expTerms + 1 {
		datum(expSeries+8*i, 1/factorial)
		factorial /= max(1, float64(expTerms-i))
	}
	return m
}

// softmax computes top = max x, e = exp(x − top) and z = Σ e in float64, and p = e·c/z unless p is nil. x is a short
// row in the first cache, which softmax goes through twice, and then through e. Reads 4 and writes 8 to 12 bytes per x.
//
// e has room for whole registers. Element i is added to sum i mod 8, and the eight sums are then folded in halves, so
// that both sets add in the same order. exp(d) is 2ⁿ·exp(r) with n = ⌊d·log₂e⌉, r = d − n·ln 2 and the series of
// exp(r); its relative error is at most 2⁻⁵². NaN and +Inf make z NaN.
func softmax(a *asm) {
	a.begin("Softmax", "func(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)")
	table := a.GP64()
	a.LEAQ(a.expConstants(), table)
	x, n := a.arg("x"), a.arg("n")
	blocks, rest := a.GP64(), a.GP64()
	a.MOVQ(n, blocks)
	a.SHRQ(operand.U8(3), blocks)
	a.MOVQ(n, rest)
	a.ANDQ(operand.U8(wideLanes-1), rest)
	a.lanesBelow(rest)
	lowest := a.YMM()
	r := a.GP32()
	a.MOVL(operand.U32(math.Float32bits(float32(math.Inf(-1)))), r)
	a.VMOVD(r, lowest.AsX())
	a.VBROADCASTSS(lowest.AsX(), lowest)

	// The first pass over x finds the maximum: lane by lane, then over the lanes. Surplus lanes hold −∞.
	most, p := a.YMM(), a.GP64()
	a.VMOVAPS(lowest, most)
	a.octets(x, p, blocks, rest, lowest, func(v reg.VecVirtual, _ bool) { a.VMAXPS(v, most, most) })
	half := a.XMM()
	a.VEXTRACTF128(operand.U8(1), most, half)
	a.VMAXPS(half, most.AsX(), half)
	for _, order := range []operand.U8{0x4e, 0xb1} { // swap halves, swap neighbours
		other := a.XMM()
		a.VPERMILPS(order, half, other)
		a.VMAXPS(other, half, half)
	}
	a.VMOVSS(half, address(a.Return("top")))
	top := a.vec()
	a.VCVTSS2SD(half, half, top.AsX())
	a.VBROADCASTSD(top.AsX(), top)

	// The second pass over x computes e and adds it to eight sums. Surplus lanes hold −∞, whose exponential is 0, so
	// the last group is summed and stored like the others.
	e, sums := a.arg("e"), a.vecs(wideLanes/(a.lanes/2))
	for _, s := range sums {
		a.zero(s)
	}
	a.octets(x, p, blocks, rest, lowest, func(v reg.VecVirtual, _ bool) {
		d := a.vecs(len(sums))
		for i := range d {
			part := reg.Register(v)
			if len(d) == 2 {
				part = a.XMM()
				a.VEXTRACTF128(operand.U8(i), v, part)
			}
			a.VCVTPS2PD(part, d[i])
			a.VSUBPD(top, d[i], d[i])
		}
		a.exp(d, table)
		for i := range d {
			a.VADDPD(d[i], sums[i], sums[i])
			a.VMOVUPD(d[i], at(e, i*a.bytes()))
		}
		a.ADDQ(operand.U8(8*wideLanes), e)
	})
	z := a.total(sums)

	// The pass over e computes p = e·(c/z), unless p is nil: one division per row, not one per element.
	done := a.label("done")
	out := a.arg("p")
	a.TESTQ(out, out)
	a.JEQ(jump(done))
	factor := a.vec()
	a.VMOVSD(a.slot("c"), factor.AsX())
	a.VDIVSD(z, factor.AsX(), factor.AsX())
	a.VBROADCASTSD(factor.AsX(), factor)
	a.Load(a.Param("e"), e)
	a.octets(out, p, blocks, rest, nil, func(_ reg.VecVirtual, masked bool) {
		v, q := a.vec(), a.YMM()
		a.VMULPD(at(e, 0), factor, v)
		if a.lanes == 16 {
			a.VCVTPD2PS(v, q)
		} else {
			w, high := a.vec(), a.XMM()
			a.zero(q) // otherwise avo's register allocator takes the upper half of q for an input
			a.VCVTPD2PSY(v, q.AsX())
			a.VMULPD(at(e, a.bytes()), factor, w)
			a.VCVTPD2PSY(w, high)
			a.VINSERTF128(operand.U8(1), high, q, q)
		}
		a.store(q, at(p, 0), masked)
		a.ADDQ(operand.U8(8*wideLanes), e)
	})
	a.Label(done)
	a.VMOVSD(z, address(a.Return("z")))
	a.end()
}

// octets emits a loop that runs body for eight elements at a time, from x on: blocks times, and then once more for the
// rest elements behind, if there are any. p is the address of the eight elements and v their values. The surplus lanes
// of the rest have the value of fill; if fill is nil, v is not loaded.
func (a *asm) octets(x, p, blocks, rest reg.GPVirtual, fill reg.VecVirtual, body func(v reg.VecVirtual, masked bool)) {
	loop, ragged, done, n := a.label("octet"), a.label("ragged"), a.label("done"), a.GP64()
	a.MOVQ(x, p)
	a.MOVQ(blocks, n)
	a.TESTQ(n, n)
	a.JEQ(jump(ragged))
	a.Label(loop)
	v := a.YMM()
	if fill != nil {
		a.VMOVUPS(at(p, 0), v)
	}
	body(v, false)
	a.ADDQ(operand.U8(4*wideLanes), p)
	a.countDown(n, loop)
	a.Label(ragged)
	a.TESTQ(rest, rest)
	a.JEQ(jump(done))
	v = a.YMM()
	if fill != nil {
		if a.lanes == 16 {
			a.VMOVAPS(fill, v)
			a.VMOVUPS(at(p, 0), a.mask, v)
		} else {
			a.VMASKMOVPS(at(p, 0), a.mask, v)
			a.VBLENDVPS(a.mask, v, fill, v)
		}
	}
	body(v, true)
	a.Label(done)
}

// exp replaces d ≤ 0 by exp(d) in every lane of every register, and by 0 below expFloor. It handles all registers
// together, step by step, so that the processor can overlap their chains of operations.
func (a *asm) exp(d []reg.VecVirtual, table reg.GPVirtual) {
	constant := func(disp int) reg.VecVirtual {
		v := a.vec()
		a.VBROADCASTSD(at(table, disp), v)
		return v
	}
	r, scale, n := a.vecs(len(d)), a.vecs(len(d)), a.vecs(len(d))
	// n = ⌊d·log₂e⌉ in scale, twice: as an integer in the low bits of the sum with expMagic, and as a number in n.
	floor := constant(expFloor)
	for i := range d {
		a.VMAXPD(d[i], floor, r[i]) // if d is NaN, VMAXPD returns d
	}
	log2e, magic := constant(expLog2E), constant(expMagic)
	for i := range d {
		a.VMOVAPD(magic, scale[i])
		a.VFMADD231PD(log2e, r[i], scale[i])
		a.VSUBPD(magic, scale[i], n[i])
	}
	// r = d − n·ln 2, in two steps, the first of which is exact.
	hi, lo := constant(expLn2Hi), constant(expLn2Lo)
	for i := range d {
		a.VFNMADD231PD(hi, n[i], r[i])
		a.VFNMADD231PD(lo, n[i], r[i])
	}
	// scale = 2ⁿ: shift the integer to the place of the exponent.
	bias := constant(expBias)
	for _, s := range scale {
		a.VPSLLQ(operand.U8(52), s, s)
		a.VPADDQ(bias, s, s)
	}
	// y = exp(r), the series by Horner's rule, from 1/13! on.
	y := a.vecs(len(d))
	for t := range expTerms + 1 {
		c := constant(expSeries + 8*t)
		for i := range y {
			if t == 0 {
				a.VMOVAPD(c, y[i])
			} else {
				a.VFMADD213PD(c, r[i], y[i])
			}
		}
	}
	// d = 2ⁿ·y, or 0 below the floor.
	floor = constant(expFloor)
	for i := range y {
		a.VMULPD(scale[i], y[i], y[i]) // multiplying, not adding to the exponent, keeps NaN
		if a.lanes == 16 {
			const notLess = operand.U8(21)
			k := a.K()
			a.VCMPPD(notLess, floor, d[i], k)
			a.VMOVAPD_Z(y[i], k, d[i])
		} else {
			const less = operand.U8(17)
			m := a.vec()
			a.VCMPPD(less, floor, d[i], m)
			a.VANDNPD(y[i], m, d[i])
		}
	}
}

// total returns the sum of eight sums, folded in halves: 0+4, 1+5 and so on first.
func (a *asm) total(sums []reg.VecVirtual) reg.VecVirtual {
	low := a.YMM()
	if len(sums) == 2 {
		a.VADDPD(sums[1], sums[0], low)
	} else {
		high := a.YMM()
		a.VEXTRACTF64X4(operand.U8(1), sums[0], high)
		a.VADDPD(high, sums[0].(reg.Vec).AsY(), low)
	}
	x, other := a.XMM(), a.XMM()
	a.VEXTRACTF128(operand.U8(1), low, x)
	a.VADDPD(x, low.AsX(), x)
	a.VPERMILPD(operand.U8(1), x, other)
	a.VADDSD(other, x, x)
	return x
}
