package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unpoolNarrow emits unpoolReLU with results in bfloat16, in the two orders that products read. Reads 5 bytes per gy
// and writes 16, or 32 with the low part.
//
// A row of pixels is one or two registers of gy, which fill one register of bfloat16, of which the second half is
// zeros if there is one.
func unpoolNarrow(a *asm) {
	for _, k := range []struct {
		name  string
		vecs  int
		split bool
	}{{"Unpool16", 1, false}, {"Unpool32", 2, false}, {"UnpoolSplit16", 1, true}, {"UnpoolSplit32", 2, true}} {
		a.begin(k.name, "func(to *byte, db, gy *float32, arg *uint8, pixels int)")
		unpooler{k.vecs, k.split}.emit(a)
	}
}

// unpooler is one kernel: how many registers a pixel of gy has, and whether there is a low part.
type unpooler struct {
	vecs  int
	split bool
}

// emit emits the kernel. The two elements that a window has in a row of pixels take as many bytes in bfloat16 as their
// gradient takes in float32: so one offset goes through all rows.
func (u unpooler) emit(a *asm) {
	parts := 1
	if u.split {
		parts = 2
	}
	// The pointers of asm.Unpooled, part by part: the pairs of the top row and the bottom row, then the rows.
	to, out := a.arg("to"), [2][4]reg.GPVirtual{}
	for part := range parts {
		for i := range out[part] {
			out[part][i] = a.GP64()
			a.MOVQ(at(to, 8*(4*part+i)), out[part][i])
		}
	}
	gy, arg, n, off := a.arg("gy"), a.arg("arg"), a.arg("pixels"), a.GP64()
	a.XORQ(off, off)
	db := a.arg("db")
	sums := a.loads(db, u.vecs, false)
	// twice are the orders of words that put word j of either half into both words of lane j.
	twice := []reg.VecVirtual{
		a.words("twiceLow", func(i int) int { return i / 2 }),
		a.words("twiceHigh", func(i int) int { return 16 + i/2 }),
	}
	var upper reg.VecVirtual
	if u.split {
		upper = a.integers(0xffff0000)
	}
	inRow := []reg.VecVirtual{a.vec(), a.integers(0x00010001), a.integers(0x00020002), a.integers(0x00030003)}
	a.zero(inRow[0])
	inPair := []reg.VecVirtual{a.integers(0x00010000), a.integers(0x00030002)}
	dead := a.integers(dead<<16 | dead)

	a.Label("pixel")
	// The gradient, and which element of the window gets it, in words.
	g, which, bits := a.vecs(u.vecs), a.vec(), a.vec()
	for i, v := range g {
		a.VMOVUPS(a.behind(off, i)(gy), v)
	}
	if u.vecs == 2 {
		a.VPMOVZXBW(at(arg, 0), which)
		a.narrow(g[0], g[1], bits)
	} else {
		a.zero(which) // for avo's register allocator, which takes the upper half for an input
		a.VPMOVZXBW(at(arg, 0), which.AsY())
		a.narrow(g[0], inRow[0], bits)
	}
	const notEqual = operand.U8(4)
	alive := a.K()
	a.VPCMPW(notEqual, dead, which, alive)
	for i, v := range sums {
		if i > 0 {
			a.KSHIFTRD(operand.U8(16), alive, alive)
		}
		a.VADDPS(g[i], v, alive, v)
	}
	// Pairs of pixels: every lane has the gradient twice.
	pairs := func(bits reg.VecVirtual, to [4]reg.GPVirtual, each func(i int, both reg.VecVirtual)) {
		for i := range u.vecs {
			both, whichTwice := a.vec(), a.vec()
			a.VPERMW(bits, twice[i], both)
			a.VPERMW(which, twice[i], whichTwice)
			for row := range 2 {
				k, v := a.K(), a.vec()
				a.VPCMPEQW(inPair[row], whichTwice, k)
				a.VMOVDQU16_Z(both, k, v)
				a.VMOVDQU16(v, a.behind(off, i)(to[row]))
			}
			each(i, both)
		}
	}
	rounded := []reg.VecVirtual{bits}
	if u.split {
		rest := []reg.VecVirtual{a.vec(), inRow[0]}
		pairs(bits, out[0], func(i int, both reg.VecVirtual) {
			rest[i] = a.vec()
			a.VPANDD(upper, both, rest[i])
			a.VSUBPS(rest[i], g[i], rest[i])
		})
		low := a.vec()
		a.narrow(rest[0], rest[1], low)
		rounded = append(rounded, low)
		pairs(low, out[1], func(int, reg.VecVirtual) {})
	} else {
		pairs(bits, out[0], func(int, reg.VecVirtual) {})
	}
	// Rows of pixels, unless nobody wants them.
	a.TESTQ(out[0][2], out[0][2])
	a.JEQ(jump("next"))
	for i := range 4 {
		k := a.K()
		a.VPCMPEQW(inRow[i], which, k)
		for part, x := range rounded {
			v, m := a.vec(), a.behind(off, 0)(out[part][2+i/2])
			a.VMOVDQU16_Z(x, k, v)
			m.Disp = i % 2 * 2 * 16 * u.vecs
			if u.vecs == 2 {
				a.VMOVDQU16(v, m)
			} else {
				a.VMOVDQU(v.AsY(), m)
			}
		}
	}
	a.Label("next")
	a.move(4*16*u.vecs, off)
	a.move(16*u.vecs, arg)
	a.countDown(n, "pixel")
	a.stores(sums, db, false)
	a.end()
}
