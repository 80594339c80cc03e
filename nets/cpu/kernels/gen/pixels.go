package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pixels emits the family pixels: convolutions with few outputs, with pixels in the lanes.
func pixels(a *asm) {
	pixelRows(a)
	if a.lanes == 8 {
		poolPixels(a)
		planes(a)
		narrow(a)
	}
}

// Offsets of the fields of asm.Pixels; a test of package asm compares them with the compiler's.
const (
	pixelsR = 8 * iota
	pixelsS
	pixelsC
	pixelsO
	pixelsPlane
	pixelsWidth
	pixelsRow
	pixelsOutputs
)

// mostOutputs is how many outputs have sums at the same time at most, with vecs registers of pixels for two rows.
// asm.PixelOutputs is the same.
func mostOutputs(lanes, vecs int) int { return min(6, 3*lanes/2/vecs) }

// pixelRows emits PixelRows, which goes two rows at a time, in shapes of 1 to 4 registers of pixels and some outputs.
// One step has a load for every register and a broadcast for every output, and a multiply-add for every pair of them: 7
// loads for 12 with AVX2, 10 for 24 with AVX-512.
func pixelRows(a *asm) {
	a.begin("PixelRows", "func(t *byte, y, x, w *float32, shape, rows int)")
	r := pixelRegs{t: a.arg("t"), x: a.GP64(), w: a.GP64(), p: a.GP64(), width: a.GP64()}
	var shapes []pixelShape
	for vecs := 1; vecs <= 4; vecs++ {
		for n := range mostOutputs(a.lanes, vecs) {
			shapes = append(shapes, pixelShape{vecs, n + 1})
		}
	}
	dispatch(a, "shape", a.arg("shape"), 0, len(shapes)-1)
	for i, s := range shapes {
		a.Label(fmt.Sprintf("shape%d", i))
		s.emit(a, r)
	}
}

// pixelRegs are the registers of PixelRows; p is any pointer.
type pixelRegs struct{ t, x, w, p, width reg.GPVirtual }

// pixelShape is the sums that are in registers at the same time: registers of pixels of two rows, and outputs. Where
// the number of registers is odd, the two rows share the last, half by half.
type pixelShape struct{ vecs, outputs int }

// emit emits the loop over pairs of rows.
func (s pixelShape) emit(a *asm, r pixelRegs) {
	name := func(what string) string { return fmt.Sprintf("%s%dx%d", what, s.vecs, s.outputs) }
	a.Label(name("rows"))
	sums := make([][]reg.VecVirtual, s.outputs)
	for i := range sums {
		sums[i] = a.vecs(s.vecs)
		for _, v := range sums[i] {
			a.zero(v)
		}
	}
	a.Load(a.Param("x"), r.x)
	a.Load(a.Param("w"), r.w)
	down, across, c, q, plane, step := a.GP64(), a.GP64(), a.GP64(), a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(at(r.t, pixelsR), down)
	a.MOVQ(at(r.t, pixelsPlane), plane)
	a.MOVQ(at(r.t, pixelsWidth), r.width)
	a.MOVQ(at(r.t, pixelsO), step)
	for _, stride := range []reg.GPVirtual{plane, r.width, step} {
		a.SHLQ(operand.U8(2), stride)
	}
	a.Label(name("r"))
	a.MOVQ(at(r.t, pixelsS), across)
	a.MOVQ(r.x, q)
	a.Label(name("s"))
	a.MOVQ(at(r.t, pixelsC), c)
	a.MOVQ(q, r.p)
	a.Label(name("c"))
	s.term(a, r, sums)
	a.ADDQ(plane, r.p)
	a.ADDQ(step, r.w)
	a.countDown(c, name("c"))
	a.ADDQ(operand.U8(4), q)
	a.countDown(across, name("s"))
	a.ADDQ(r.width, r.x)
	a.countDown(down, name("r"))

	row, output := a.GP64(), a.GP64()
	a.MOVQ(at(r.t, pixelsRow), row)
	a.MOVQ(at(r.t, pixelsOutputs), output)
	a.SHLQ(operand.U8(2), row)
	a.SHLQ(operand.U8(2), output)
	for j := range 2 {
		a.MOVQ(a.slot("y"), r.p)
		for i := range sums {
			if i > 0 {
				a.ADDQ(output, r.p)
			}
			s.each(a, j, func(v, disp int, half bool) {
				if half {
					a.storeHalf(sums[i][v], at(r.p, disp), j > 0)
				} else {
					a.VMOVUPS(sums[i][v], at(r.p, disp))
				}
			})
		}
		a.ADDQ(row, a.slot("y"))
		a.ADDQ(r.width, a.slot("x"))
	}
	a.SUBQ(operand.U8(2), a.slot("rows"))
	a.JNE(jump(name("rows")))
	a.end()
}

// term adds a term to every sum. What there is less of, pixels or outputs, is in registers at the same time.
func (s pixelShape) term(a *asm, r pixelRegs, sums [][]reg.VecVirtual) {
	pixels, weights := make([]reg.VecVirtual, s.vecs), make([]reg.VecVirtual, s.outputs)
	weight := func(i int) {
		weights[i] = a.vec()
		a.VBROADCASTSS(at(r.w, 4*i), weights[i])
	}
	if s.outputs < s.vecs {
		for i := range weights {
			weight(i)
		}
	}
	for row := range 2 {
		s.each(a, row, func(j, disp int, half bool) {
			m := at(r.p, disp)
			if row > 0 {
				m.Index, m.Scale = r.width, 1
			}
			if pixels[j] == nil {
				pixels[j] = a.vec()
			}
			if half {
				a.loadHalf(m, pixels[j], row > 0)
			} else {
				a.VMOVUPS(m, pixels[j])
			}
			if s.outputs < s.vecs && (row > 0 || !half) {
				for i, b := range weights {
					a.VFMADD231PS(pixels[j], b, sums[i][j])
				}
			}
		})
	}
	if s.outputs < s.vecs {
		return
	}
	for i := range weights {
		weight(i)
		for j, v := range pixels {
			a.VFMADD231PS(v, weights[i], sums[i][j])
		}
	}
}

// each goes through the registers j that a row has pixels in, and where these begin in the row, in bytes.
func (s pixelShape) each(a *asm, row int, do func(j, disp int, half bool)) {
	own := s.vecs / 2
	for i := range own {
		do(row*own+i, i*a.bytes(), false)
	}
	if s.vecs%2 != 0 {
		do(s.vecs-1, own*a.bytes(), true)
	}
}

// loadHalf loads the lower half of v, or then the upper.
func (a *asm) loadHalf(m operand.Mem, v reg.VecVirtual, upper bool) {
	switch {
	case !upper && a.lanes == 16:
		a.VMOVUPS(m, v.AsY())
	case !upper:
		a.VMOVUPS(m, v.AsX())
	case a.lanes == 16:
		a.VINSERTF32X8(operand.U8(1), m, v, v)
	default:
		a.VINSERTF128(operand.U8(1), m, v, v)
	}
}

// storeHalf stores half of v.
func (a *asm) storeHalf(v reg.VecVirtual, m operand.Mem, upper bool) {
	switch {
	case !upper && a.lanes == 16:
		a.VMOVUPS(v.AsY(), m)
	case !upper:
		a.VMOVUPS(v.AsX(), m)
	case a.lanes == 16:
		a.VEXTRACTF32X8(operand.U8(1), v, m)
	default:
		a.VEXTRACTF128(operand.U8(1), v, m)
	}
}

// poolPixels emits PoolPixels: the maxima of 16 pixels of every output, and then these 8 windows of all outputs turned
// into windows with outputs in the lanes. Reads 16 and writes 5 bytes per y, and moves 5 bytes to and from memory that
// the first cache holds.
func poolPixels(a *asm) {
	a.begin("PoolPixels", "func(y *float32, arg *uint8, top, bottom, bias *float32, room *byte, "+
		"pixels, outputs, cols, ld int)")
	y, arg, top, bottom, ld := a.arg("y"), a.arg("arg"), a.arg("top"), a.arg("bottom"), a.arg("ld")
	a.SHLQ(operand.U8(2), ld)
	which := []reg.VecVirtual{a.vec(), a.integers(1), a.integers(2), a.integers(3), a.integers(dead)}
	zero := which[0]
	a.zero(zero)
	// The room has, for every output and then for every window, 8 float32 and 8 bytes.
	const step = 32 + 8
	a.Label("strip")
	off, bias, room, n := a.GP64(), a.arg("bias"), a.arg("room"), a.arg("outputs")
	a.XORQ(off, off)
	a.Label("output")
	v, nan := a.vecs(4), a.vecs(2)
	for i, row := range []reg.GPVirtual{top, bottom} {
		from, low, high := a.GP64(), a.vec(), a.vec()
		a.LEAQ(indexed(row, off, 1), from)
		a.VMOVUPS(at(from, 0), low)
		a.VMOVUPS(at(from, a.bytes()), high)
		a.VSHUFPS(operand.U8(0x88), high, low, v[2*i])
		a.VSHUFPS(operand.U8(0xdd), high, low, v[2*i+1])
		a.VCMPPS(isUnord, v[2*i], v[2*i+1], nan[i])
	}
	a.VORPS(nan[0], nan[1], nan[0])
	a.VTESTPS(nan[0], nan[0])
	a.JNE(jump("nan"))
	m, index := v[0], nan[0]
	for i, w := range v[1:] {
		k := index
		if i > 0 {
			k = a.vec()
		}
		a.VCMPPS(isGT, m, w, k)
		a.VMAXPS(w, m, m)
		a.VANDPS(which[i+1], k, k)
		if i > 0 {
			a.VPMAXSD(k, index, index)
		}
	}
	a.Label("pooled")
	b := a.vec()
	a.VBROADCASTSS(at(bias, 0), b)
	a.VADDPS(b, m, m)
	gone := a.zeroUnlessPositive(m, m, zero)
	a.VANDPS(which[dead], gone, gone)
	a.VPMAXSD(gone, index, index)
	// The windows are in the order 0, 1, 4, 5, 2, 3, 6, 7.
	const order = operand.U8(0xd8)
	a.VPERMPD(order, m, m)
	a.VPERMQ(order, index, index)
	a.VMOVUPS(m, at(room, 0))
	into := a.GP64()
	a.LEAQ(at(room, 32), into)
	a.storeBytes(index, into, nil, false)
	a.ADDQ(ld, off)
	a.move(4, bias)
	a.move(step, room)
	a.countDown(n, "output")

	room = a.arg("room")
	g, bytes := a.vecs(8), make([]reg.VecVirtual, 8)
	for i := range g {
		a.VMOVUPS(at(room, i*step), g[i])
	}
	for i, v := range a.turn(g) {
		a.VMOVUPS(v, at(room, i*step))
	}
	for i := range bytes {
		bytes[i] = a.XMM()
		a.VMOVQ(at(room, i*step+32), bytes[i])
	}
	for i, v := range a.turnBytes(bytes) {
		a.VMOVQ(v, at(room, 2*i*step+32))
		a.VMOVHPS(v, at(room, (2*i+1)*step+32))
	}

	// Whole registers are stored, but for the last window: the next one overwrites what is too much.
	cols, left, last, word := a.arg("cols"), a.GP64(), a.GP64(), a.GP64()
	a.Load(a.Param("pixels"), left)
	a.DECQ(left)
	a.MOVQ(operand.U32(8), last)
	a.CMPQ(left, last)
	a.CMOVQGT(last, left)
	a.TESTQ(left, left)
	a.JEQ(jump("last"))
	out := a.vec()
	a.Label("window")
	a.VMOVUPS(at(room, 0), out)
	a.MOVQ(at(room, 32), word)
	a.VMOVUPS(out, at(y, 0))
	a.MOVQ(word, at(arg, 0))
	a.LEAQ(indexed(y, cols, 4), y)
	a.ADDQ(cols, arg)
	a.move(step, room)
	a.countDown(left, "window")
	a.CMPQ(a.slot("pixels"), operand.U8(8))
	a.JGT(jump("next"))
	a.Label("last")
	outputs := a.arg("outputs")
	a.lanesBelow(outputs)
	a.VMOVUPS(at(room, 0), out)
	a.MOVQ(at(room, 32), word)
	a.store(out, at(y, 0), true)
	whole := a.label("whole")
	a.CMPQ(outputs, operand.U8(8))
	a.JEQ(jump(whole))
	a.storeSome(word, arg, outputs)
	a.end()
	a.Label(whole)
	a.MOVQ(word, at(arg, 0))
	a.end()

	a.Label("nan")
	for i, w := range v[1:] {
		a.larger(w, m, which[i+1], index, i == 0)
	}
	a.JMP(jump("pooled"))

	a.Label("next")
	a.move(2*a.bytes(), top, bottom)
	a.SUBQ(operand.U8(8), a.slot("pixels"))
	a.JMP(jump("strip"))
}

// planes emits Planes3: 8 pixels of three channels are three registers, each with lanes of all channels. Two blends
// bring the lanes of a channel together, and a permutation in order.
func planes(a *asm) {
	a.begin("Planes3", "func(dst *float32, plane int, src *float32, groups int)")
	dst, plane, src, n := a.arg("dst"), a.arg("plane"), a.arg("src"), a.arg("groups")
	a.SHLQ(operand.U8(2), plane)
	var orders [3]reg.VecVirtual
	var masks [3][3]int
	for c := range orders {
		m := a.StaticGlobal(fmt.Sprintf("order%d", c))
		a.DataAttributes(rodata)
		for j := range 8 { // element 3j+c
			e := 3*j + c
			masks[c][e/8] |= 1 << (e % 8)
			a.AddDatum(4*j, operand.U32(e%8))
		}
		orders[c] = a.vec()
		a.VMOVDQU(m, orders[c])
	}
	a.Label("group")
	var v [3]reg.VecVirtual
	for i := range v {
		v[i] = a.vec()
		a.VMOVUPS(at(src, i*a.bytes()), v[i])
	}
	for c := range orders {
		u := a.vec()
		a.VBLENDPS(operand.U8(masks[c][1]), v[1], v[0], u)
		a.VBLENDPS(operand.U8(masks[c][2]), v[2], u, u)
		a.VPERMPS(u, orders[c], u)
		m := at(dst, 0)
		if c > 0 {
			m = indexed(dst, plane, uint8(c))
		}
		a.VMOVUPS(u, m)
	}
	a.move(3*a.bytes(), src)
	a.move(a.bytes(), dst)
	a.countDown(n, "group")
	a.end()
}

// narrow emits Narrow, for pixels of one register and of two. It stores whole registers, but for the last: the next
// pixel overwrites what is too much, since it is at least half as long.
func narrow(a *asm) {
	a.begin("Narrow", "func(dst, src *float32, pixels, cols, ld int)")
	dst, src, n, cols, ld := a.arg("dst"), a.arg("src"), a.arg("pixels"), a.arg("cols"), a.arg("ld")
	tail := a.GP64()
	a.MOVQ(cols, tail)
	a.CMPQ(cols, operand.U8(a.lanes))
	a.JGT(jump("pair"))
	for vecs := 1; vecs <= 2; vecs++ {
		v, pixel, last := a.vecs(vecs), a.label("pixel"), a.label("last")
		if vecs == 2 {
			a.Label("pair")
			a.SUBQ(operand.U8(a.lanes), tail)
		}
		a.lanesBelow(tail)
		move := func(masked bool) {
			for i, r := range v {
				a.VMOVUPS(at(src, i*a.bytes()), r)
			}
			for i, r := range v {
				a.store(r, at(dst, i*a.bytes()), masked && i == vecs-1)
			}
		}
		a.DECQ(n)
		a.JEQ(jump(last))
		a.Label(pixel)
		move(false)
		a.LEAQ(indexed(src, ld, 4), src)
		a.LEAQ(indexed(dst, cols, 4), dst)
		a.countDown(n, pixel)
		a.Label(last)
		move(true)
		a.end()
	}
}
