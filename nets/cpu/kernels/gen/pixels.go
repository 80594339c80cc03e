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

// mostOutputs is how many outputs have sums at the same time, for two registers of pixels.
const mostOutputs = 6

// pixelRows emits PixelRows. One step has two loads of pixels and a broadcast for each output, which share two
// multiply-adds: 8 loads for 12 multiply-adds with 6 outputs.
func pixelRows(a *asm) {
	a.begin("PixelRows", "func(t *byte, y, x, w *float32, outputs, rows int)")
	t, x, w := a.arg("t"), a.GP64(), a.GP64()
	outputs := a.arg("outputs")
	dispatch(a, "outputs", outputs, 1, mostOutputs)
	for n := mostOutputs; n > 0; n-- {
		name := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
		a.Label(name("outputs"))
		a.Label(name("row"))
		sums := make([][2]reg.VecVirtual, n)
		for i := range sums {
			sums[i] = [2]reg.VecVirtual{a.vec(), a.vec()}
			a.zero(sums[i][0])
			a.zero(sums[i][1])
		}
		a.Load(a.Param("x"), x)
		a.Load(a.Param("w"), w)
		r, s, c, plane, width, step, p := a.GP64(), a.GP64(), a.GP64(), a.GP64(), a.GP64(), a.GP64(), a.GP64()
		a.MOVQ(at(t, pixelsR), r)
		a.MOVQ(at(t, pixelsPlane), plane)
		a.MOVQ(at(t, pixelsWidth), width)
		a.MOVQ(at(t, pixelsO), step)
		for _, stride := range []reg.GPVirtual{plane, width, step} {
			a.SHLQ(operand.U8(2), stride)
		}
		a.Label(name("r"))
		a.MOVQ(at(t, pixelsS), s)
		q := a.GP64()
		a.MOVQ(x, q)
		a.Label(name("s"))
		a.MOVQ(at(t, pixelsC), c)
		a.MOVQ(q, p)
		a.Label(name("c"))
		pixels := [2]reg.VecVirtual{a.vec(), a.vec()}
		for i, v := range pixels {
			a.VMOVUPS(at(p, i*a.bytes()), v)
		}
		for i := range sums {
			b := a.vec()
			a.VBROADCASTSS(at(w, 4*i), b)
			a.VFMADD231PS(pixels[0], b, sums[i][0])
			a.VFMADD231PS(pixels[1], b, sums[i][1])
		}
		a.ADDQ(plane, p)
		a.ADDQ(step, w)
		a.countDown(c, name("c"))
		a.ADDQ(operand.U8(4), q)
		a.countDown(s, name("s"))
		a.ADDQ(width, x)
		a.countDown(r, name("r"))

		y, row := a.GP64(), a.GP64()
		a.Load(a.Param("y"), y)
		a.MOVQ(y, p)
		a.MOVQ(at(t, pixelsOutputs), row)
		a.SHLQ(operand.U8(2), row)
		for i := range sums {
			if i > 0 {
				a.ADDQ(row, p)
			}
			a.VMOVUPS(sums[i][0], at(p, 0))
			a.VMOVUPS(sums[i][1], at(p, a.bytes()))
		}
		a.MOVQ(at(t, pixelsRow), row)
		a.LEAQ(indexed(y, row, 4), y)
		a.MOVQ(y, a.slot("y"))
		a.ADDQ(width, a.slot("x"))
		a.countDown(a.slot("rows"), name("row"))
		a.end()
	}
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

// narrow emits Narrow. It stores whole registers, but for the last: the next store overwrites what is too much, since
// a pixel is at least half a register.
func narrow(a *asm) {
	a.begin("Narrow", "func(dst, src *float32, pixels, cols, ld int)")
	dst, src, n, cols, ld := a.arg("dst"), a.arg("src"), a.arg("pixels"), a.arg("cols"), a.arg("ld")
	a.lanesBelow(cols)
	v := a.vec()
	a.DECQ(n)
	a.JEQ(jump("last"))
	a.Label("pixel")
	a.VMOVUPS(at(src, 0), v)
	a.VMOVUPS(v, at(dst, 0))
	a.LEAQ(indexed(src, ld, 4), src)
	a.LEAQ(indexed(dst, cols, 4), dst)
	a.countDown(n, "pixel")
	a.Label("last")
	a.VMOVUPS(at(src, 0), v)
	a.store(v, at(dst, 0), true)
	a.end()
}
