package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wideLanes is the number of elements softmax takes at a time, in float64 one register of AVX-512 or two of AVX2.
const wideLanes = 8

// expTerms is the degree of the Taylor series of exp on ±(ln 2)/2: the first term left out is below 2⁻⁵⁷ of the sum.
const expTerms = 13

// Where the constants of exp stand.
const (
	expFloor  = 8 * iota // below it exp is 0: less than it, 2ⁿ would not be a normal number
	expLog2E             // log₂ e
	expMagic             // adding it rounds to an integer, which is then in the low bits
	expLn2Hi             // ln 2, so much of it that a product with n is exact
	expLn2Lo             // and the rest
	expBias              // 1023 << 52
	expSeries            // 1/13!, 1/12! … 1/0!
)

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

// softmax: top = max x; e = exp(x − top) and z = Σ e in float64, p = e·c/z if there is a p. Reads 4 and writes 8 to 12
// bytes per x, which is a row in the first cache.
//
// e has room for whole registers; element i is added to sum i mod 8, and the sums are then folded in halves. exp is
// 2ⁿ·exp(r) with n = ⌊d·log₂e⌉ and the series of exp(r): right to 2⁻⁵² of itself. NaN and +Inf make z NaN.
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
			a.zero(q) // or the allocator takes its upper half for an input
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

// octets writes body for eight elements from x on, blocks times, then for rest of them if there is a rest; p is where
// they are, v what they are, filled up with fill (nil: not read).
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

// exp replaces every d ≤ 0 by exp(d), 0 below the floor.
func (a *asm) exp(d []reg.VecVirtual, table reg.GPVirtual) {
	constant := func(disp int) reg.VecVirtual {
		v := a.vec()
		a.VBROADCASTSD(at(table, disp), v)
		return v
	}
	r, scale, n := a.vecs(len(d)), a.vecs(len(d)), a.vecs(len(d))
	floor := constant(expFloor)
	for i := range d {
		a.VMAXPD(d[i], floor, r[i]) // the second of the two if one is NaN: d
	}
	log2e, magic := constant(expLog2E), constant(expMagic)
	for i := range d {
		a.VMOVAPD(magic, scale[i])
		a.VFMADD231PD(log2e, r[i], scale[i])
		a.VSUBPD(magic, scale[i], n[i])
	}
	hi, lo := constant(expLn2Hi), constant(expLn2Lo)
	for i := range d {
		a.VFNMADD231PD(hi, n[i], r[i])
		a.VFNMADD231PD(lo, n[i], r[i])
	}
	bias := constant(expBias)
	for _, s := range scale {
		a.VPSLLQ(operand.U8(52), s, s)
		a.VPADDQ(bias, s, s)
	}
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
	floor = constant(expFloor)
	for i := range y {
		a.VMULPD(scale[i], y[i], y[i]) // a product, so that NaN stays NaN
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

// total folds eight sums in halves.
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
