package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// groupLanes is the number of bytes that a group of whole pixels is loaded with; package kernels has the same constant.
const groupLanes = 16

// gather computes dst = (img/255 − mean)/std for rows of pixels, a group of pixels at a time. Moves 5 |dst| bytes.
//
// A group is the 16 bytes at img, put in order by shuffle; its first tail elements are pixels, the others surplus. A
// row has groups − 1 groups, stepDst and stepImg bytes apart, whose surplus elements the following group overwrites.
// Its last group, at dstLast and imgLast, stores tail elements only, and may overlap the group before. lanes holds the
// mean, the standard deviation and its rounded reciprocal for every element. The processor is asked for the bytes ahead
// of every group, which are the next image's.
//
// A division by d is a multiplication by the rounded 1/d and one correction, of half a dozen instructions. For d = 255
// that gives the correctly rounded quotient of every byte. For d = std, package kernels makes sure of it beforehand.
func gather(a *asm) {
	a.begin("Gather", "func(dst, dstLast *float32, img, imgLast, shuffle *uint8, lanes *float32, rows, groups, "+
		"stepDst, stepImg, rowDst, rowImg, tail, ahead int)")
	// A group fills one register with AVX-512 and two with AVX2. Only the last register of the last group is masked, so
	// tail must be more than the lanes of the registers before.
	regs := groupLanes / a.lanes
	tail := a.arg("tail")
	if regs == 2 {
		a.SUBQ(operand.U8(a.lanes), tail)
	}
	a.lanesBelow(tail)
	lanes, mean, std, inverse := a.arg("lanes"), a.vecs(regs), a.vecs(regs), a.vecs(regs)
	for i := range regs {
		for j, v := range []reg.VecVirtual{mean[i], std[i], inverse[i]} {
			a.VMOVUPS(at(lanes, 4*groupLanes*j+i*a.bytes()), v)
		}
	}
	const by = 255
	full, part := a.integers(math.Float32bits(by)), a.integers(math.Float32bits(1.0/by))
	order := a.XMM()
	a.VMOVDQU(at(a.arg("shuffle"), 0), order)

	// quotient emits x/d in q: q = x·(1/d), corrected by (x − d·q)·(1/d). It overwrites x.
	quotient := func(x, d, inverse, q reg.VecVirtual) {
		a.VMULPS(inverse, x, q)
		a.VFNMADD231PS(d, q, x)
		a.VFMADD231PS(inverse, x, q)
	}
	// group emits the code for one group.
	group := func(dst, img reg.GPVirtual, last bool) {
		bytes, x := a.XMM(), a.vecs(regs)
		a.VMOVDQU(at(img, 0), bytes)
		a.VPSHUFB(order, bytes, bytes)
		for i, v := range x {
			if i > 0 {
				a.VPSRLDQ(operand.U8(a.lanes), bytes, bytes)
			}
			a.VPMOVZXBD(bytes, v)
			a.VCVTDQ2PS(v, v)
			q := a.vec()
			quotient(v, full, part, q)
			a.VSUBPS(mean[i], q, q)
			quotient(q, std[i], inverse[i], v)
			a.store(v, at(dst, i*a.bytes()), last && i == regs-1)
		}
	}
	dst, img, stepDst, stepImg := a.arg("dst"), a.arg("img"), a.arg("stepDst"), a.arg("stepImg")
	dstLast, imgLast, p, q, n := a.arg("dstLast"), a.arg("imgLast"), a.GP64(), a.GP64(), a.GP64()
	ahead := a.arg("ahead")
	a.Label("row")
	a.MOVQ(dst, p)
	a.MOVQ(img, q)
	a.Load(a.Param("groups"), n)
	a.DECQ(n)
	a.JEQ(jump("last"))
	a.Label("group")
	a.PREFETCHT0(indexed(q, ahead, 1))
	group(p, q, false)
	a.ADDQ(stepDst, p)
	a.ADDQ(stepImg, q)
	a.countDown(n, "group")
	a.Label("last")
	group(dstLast, imgLast, true)
	a.ADDQ(a.slot("rowDst"), dst)
	a.ADDQ(a.slot("rowDst"), dstLast)
	a.ADDQ(a.slot("rowImg"), img)
	a.ADDQ(a.slot("rowImg"), imgLast)
	a.countDown(a.slot("rows"), "row")
	a.end()
}
