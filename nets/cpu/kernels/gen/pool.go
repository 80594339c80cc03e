package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pool emits the family pool: 2 × 2 max pooling, fused with bias and ReLU, and its gradient. Both take one register of
// channels at a time and go along the row of pixels, so that bias and bias gradient stay in registers. Each register of
// channels goes over the same two rows of pixels, which the first cache holds.
func pool(a *asm) {
	poolReLU(a)
	unpoolReLU(a, true)
	unpoolReLU(a, false)
}

// dead has the value of cpu.Dead: the arg of an element that the ReLU set to 0.
const dead = 4

// channels emits a loop over left channels, one register at a time, the last one ragged if need be. strip is the body.
// The pointers move with the channels: bytes by one byte per channel, floats by four.
func (a *asm) channels(left, bytes reg.GPVirtual, floats []reg.GPVirtual, strip func(masked bool)) {
	loop, rest, done := a.label("channels"), a.label("rest"), a.label("done")
	a.whole(a.lanes, left, loop, rest, func() {
		strip(false)
		a.move(a.lanes, bytes)
		a.move(a.bytes(), floats...)
	})
	a.ragged(left, done, func() { strip(true) })
}

// poolReLU computes y[j,o] = max(0, m + bias[o]), where m is the maximum of the window's four elements and NaN counts
// as the largest. arg[j,o] is the number of the element that is m, or dead if y is 0. pixels counts the pixels of y.
// Reads 16 and writes 5 bytes per y.
func poolReLU(a *asm) {
	a.begin("PoolReLU", "func(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)")
	y, arg, top, bottom, bias, cols, left := a.arg("y"), a.arg("arg"), a.arg("top"), a.arg("bottom"),
		a.arg("bias"), a.arg("cols"), a.GP64()
	a.MOVQ(cols, left)
	zero, which := a.vec(), []reg.VecVirtual{nil, a.integers(1), a.integers(2), a.integers(3), a.integers(dead)}
	a.zero(zero)
	// off is the offset of the window in both rows. It goes over the even and the odd column of the top row, then back
	// to the even column of the bottom row.
	a.channels(left, arg, []reg.GPVirtual{y, top, bottom, bias}, func(masked bool) {
		b, pixel := a.vec(), a.label("pixel")
		a.load(at(bias, 0), b, masked)
		py, pa, off, n := a.GP64(), a.GP64(), a.GP64(), a.GP64()
		a.MOVQ(y, py)
		a.MOVQ(arg, pa)
		a.XORQ(off, off)
		a.Load(a.Param("pixels"), n)

		a.Label(pixel)
		m, index := a.vec(), a.vec()
		a.load(indexed(top, off, 1), m, masked)
		a.LEAQ(indexed(off, cols, 4), off)
		for i, row := range []reg.GPVirtual{top, bottom, bottom} {
			if i == 1 {
				a.NEGQ(cols) // back to the even column, of the bottom row
				a.LEAQ(indexed(off, cols, 4), off)
				a.NEGQ(cols)
			}
			v := a.vec()
			a.load(indexed(row, off, 1), v, masked)
			a.larger(v, m, which[i+1], index, i == 0)
			if i != 0 {
				a.LEAQ(indexed(off, cols, 4), off)
			}
		}
		a.VADDPS(b, m, m)
		a.replace(index, which[dead], a.zeroUnlessPositive(m, m, zero))
		a.store(m, at(py, 0), masked)
		a.storeBytes(index, pa, left, masked)
		a.LEAQ(indexed(py, cols, 4), py)
		a.ADDQ(cols, pa)
		a.countDown(n, pixel)
	})
	a.end()
}

// larger sets m = v and index = which where v > m or v is NaN. If first, it sets index to 0 elsewhere; otherwise index
// stays there.
func (a *asm) larger(v, m, which, index reg.Register, first bool) {
	k, nan := a.selection(), a.selection()
	a.VCMPPS(isGT, m, v, k)
	a.VCMPPS(isUnord, v, v, nan)
	if a.lanes == 16 {
		a.KORW(nan, k, k)
		a.VMOVAPS(v, k, m)
	} else {
		a.VORPS(nan, k, k)
		a.VBLENDVPS(k, v, m, m)
	}
	switch {
	case !first:
		a.replace(index, which, k)
	case a.lanes == 16:
		a.VMOVDQA32_Z(which, k, index)
	default:
		a.VANDPS(which, k, index)
	}
}

// replace sets index = which in the lanes where k is set.
func (a *asm) replace(index, which, k reg.Register) {
	if a.lanes == 16 {
		a.VMOVDQA32(which, k, index)
	} else {
		a.VBLENDVPS(k, which, index, index)
	}
}

// storeBytes stores the low byte of every lane of index; if masked, of the first left lanes only. AVX2 cannot store
// single bytes under a mask, so it stores 4, 2 and 1 of them, by the bits of left.
func (a *asm) storeBytes(index reg.Register, p, left reg.GPVirtual, masked bool) {
	x := a.XMM()
	if a.lanes == 16 {
		a.VPMOVDB(index, x)
		if masked {
			a.VMOVDQU8(x, a.mask, at(p, 0))
		} else {
			a.VMOVDQU(x, at(p, 0))
		}
		return
	}
	// Narrow the 32-bit lanes to 16 bits and then to 8; the values are at most 4, so nothing saturates.
	a.VEXTRACTI128(operand.U8(1), index, x)
	a.VPACKSSDW(x, index.(reg.Vec).AsX(), x)
	a.VPACKUSWB(x, x, x)
	if !masked {
		a.VMOVQ(x, at(p, 0))
		return
	}
	word := a.GP64()
	a.VMOVQ(x, word)
	a.storeSome(word, p, left)
}

// storeSome stores the first left bytes of word, at most 7, and shifts word.
func (a *asm) storeSome(word, p, left reg.GPVirtual) {
	q := a.GP64()
	a.MOVQ(p, q)
	for _, size := range []int{4, 2, 1} {
		skip := a.label("skip")
		a.TESTQ(operand.U32(size), left)
		a.JEQ(jump(skip))
		switch size {
		case 4:
			a.MOVL(word.As32(), at(q, 0))
		case 2:
			a.MOVW(word.As16(), at(q, 0))
		case 1:
			a.MOVB(word.As8(), at(q, 0))
		}
		a.SHRQ(operand.U8(8*size), word)
		a.ADDQ(operand.U8(size), q)
		a.Label(skip)
	}
}

// loadBytes loads one byte into every lane of index; if masked, into the first left lanes only. It is the counterpart
// of storeBytes.
func (a *asm) loadBytes(p, left reg.GPVirtual, index reg.Register, masked bool) {
	switch {
	case !masked:
		a.VPMOVZXBD(at(p, 0), index)
	case a.lanes == 16:
		a.VPMOVZXBD_Z(at(p, 0), a.mask, index)
	default:
		// From the last byte to the first: word = word·256^size + bytes.
		word, part, q := a.GP64(), a.GP64(), a.GP64()
		a.XORQ(word, word)
		a.MOVQ(p, q)
		a.ADDQ(left, q)
		for _, size := range []int{1, 2, 4} {
			skip := a.label("skip")
			a.TESTQ(operand.U32(size), left)
			a.JEQ(jump(skip))
			a.SUBQ(operand.U8(size), q)
			a.SHLQ(operand.U8(8*size), word)
			switch size {
			case 4:
				a.MOVL(at(q, 0), part.As32())
			case 2:
				a.MOVWQZX(at(q, 0), part)
			case 1:
				a.MOVBQZX(at(q, 0), part)
			}
			a.ORQ(part, word)
			a.Label(skip)
		}
		x := a.XMM()
		a.VMOVQ(word, x)
		a.VPMOVZXBD(x, index)
	}
}

// unpoolReLU sets the element of the window that arg[j,o] names to gy[j,o], the others to 0, and adds gy[j,o] to db[o]
// unless arg[j,o] is dead. pixels counts the pixels of gy. Reads 5 and writes 16 bytes per gy. AddWinners is the same
// without the windows: it only adds.
func unpoolReLU(a *asm, windows bool) {
	if windows {
		a.begin("UnpoolReLU", "func(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)")
	} else {
		a.begin("AddWinners", "func(db, gy *float32, arg *uint8, pixels, cols int)")
	}
	var top, bottom reg.GPVirtual
	var moving []reg.GPVirtual // with the channels
	if windows {
		top, bottom = a.arg("top"), a.arg("bottom")
		moving = append(moving, top, bottom)
	}
	db, gy, arg, cols, left := a.arg("db"), a.arg("gy"), a.arg("arg"), a.arg("cols"), a.GP64()
	moving = append(moving, db, gy)
	a.MOVQ(cols, left)
	// For each of the window's four elements, store gy in the lanes whose arg is its number, and 0 in the others.
	var which []reg.VecVirtual
	if windows {
		which = []reg.VecVirtual{a.vec(), a.integers(1), a.integers(2), a.integers(3)}
		a.zero(which[0])
	}
	none := a.integers(dead)
	a.channels(left, arg, moving, func(masked bool) {
		sum, pixel := a.vec(), a.label("pixel")
		a.load(at(db, 0), sum, masked)
		pg, pa, n := a.GP64(), a.GP64(), a.GP64()
		a.MOVQ(gy, pg)
		a.MOVQ(arg, pa)
		var rows [2]reg.GPVirtual
		if windows {
			rows = [2]reg.GPVirtual{a.GP64(), a.GP64()}
			a.MOVQ(top, rows[0])
			a.MOVQ(bottom, rows[1])
		}
		a.Load(a.Param("pixels"), n)

		a.Label(pixel)
		g, index := a.vec(), a.vec()
		a.load(at(pg, 0), g, masked)
		a.loadBytes(pa, left, index, masked)
		a.addUnless(g, sum, index, none)
		for i, number := range which {
			p, v := rows[i/2], a.vec()
			a.only(g, v, index, number)
			a.store(v, at(p, 0), masked)
			a.LEAQ(indexed(p, cols, 4), p)
		}
		a.LEAQ(indexed(pg, cols, 4), pg)
		a.ADDQ(cols, pa)
		a.countDown(n, pixel)
		a.store(sum, at(db, 0), masked)
	})
	a.end()
}

// only sets v = g where index = which, and 0 elsewhere.
func (a *asm) only(g, v, index, which reg.Register) {
	if a.lanes == 16 {
		k := a.K()
		a.VPCMPEQD(which, index, k)
		a.VMOVAPS_Z(g, k, v)
		return
	}
	a.VPCMPEQD(which, index, v)
	a.VANDPS(g, v, v)
}

// addUnless adds g to sum where index ≠ which. With AVX2 it adds −0 elsewhere, which changes no number.
func (a *asm) addUnless(g, sum, index, which reg.Register) {
	if a.lanes == 16 {
		const notEqual = operand.U8(4)
		k := a.K()
		a.VPCMPD(notEqual, which, index, k)
		a.VADDPS(g, sum, k, sum)
		return
	}
	k, minus := a.YMM(), a.YMM()
	a.VPCMPEQD(which, index, k)
	a.VPSLLD(operand.U8(31), k, minus)
	a.VANDNPS(g, k, k)
	a.VORPS(minus, k, k)
	a.VADDPS(k, sum, sum)
}
