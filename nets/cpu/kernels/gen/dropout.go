package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of asm.Philox; a test of package asm compares them with the compiler's.
const (
	philoxCounter = 4 * iota // round, client, step
	_
	_
	philoxThreshold
	philoxKeys // ten pairs
)

// The multipliers of Philox4x32 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011).
const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
)

// masks emits the family masks: the kernels of dropout.
func masks(a *asm) {
	dropout(a)
	applyMask(a)
}

// dropout draws one word of Philox4x32-10 per element:
//
//	mask = word ≥ threshold ? 1 : 0;  y = mask ? scale·x : 0
//
// It moves 9 |x| bytes.
//
// draw is an asm.Philox. A block is two registers of elements, which take the words of eight counters (AVX2: four).
// Each word of a counter is in the low half of a 64-bit lane, where the multiplication reads its factors; the high word
// of a product is shifted down from the high half. Other bits of high halves are never read. The counters are in such
// an order that interleaving their words at the end puts the words in the order of the elements.
func dropout(a *asm) {
	a.begin("Dropout", "func(y *float32, mask *uint8, x *float32, draw *byte, index, blocks int, scale float32)")
	y, mask, x, draw, blocks, scale := a.arg("y"), a.arg("mask"), a.arg("x"), a.arg("draw"),
		a.arg("blocks"), a.number("scale")
	counters := a.lanes / 2
	order := a.StaticGlobal("order")
	a.DataAttributes(rodata)
	for i := range counters {
		a.AddDatum(8*i, operand.I64(i/2+i%2*counters/2))
	}
	spread := func(m operand.Mem) reg.VecVirtual { // the 32 bits at m in every lane
		v := a.vec()
		a.VPBROADCASTD(m, v)
		return v
	}
	// index holds the fourth words of the counters, in the order of the table; each block adds next to them.
	index, next := spread(a.slot("index")), a.integers(uint32(counters))
	a.VPADDD(order, index, index)
	m0, m1, threshold := a.integers(philoxM0), a.integers(philoxM1), spread(at(draw, philoxThreshold))
	var ones reg.VecVirtual
	if a.lanes == 16 {
		r := a.GP32()
		ones = a.XMM()
		a.MOVL(operand.U32(1), r)
		a.VPBROADCASTB(r, ones)
	}

	// The ten rounds of the generator: in each, two words are multiplied, and the halves of the products are mixed with
	// the other two words and the key of the round.
	a.Label("block")
	var c [4]reg.VecVirtual
	for i := range 3 {
		c[i] = spread(at(draw, philoxCounter+4*i))
	}
	c[3] = a.vec()
	a.VMOVAPS(index, c[3])
	a.VPADDD(next, index, index)
	for round := range 10 {
		p0, p1 := a.vec(), a.vec()
		a.VPMULUDQ(m0, c[0], p0)
		a.VPMULUDQ(m1, c[2], p1)
		n0, n2 := a.vec(), a.vec()
		a.VPSRLQ(operand.U8(32), p1, n0)
		a.VPSRLQ(operand.U8(32), p0, n2)
		a.xor3(spread(at(draw, philoxKeys+8*round)), c[1], n0)
		a.xor3(spread(at(draw, philoxKeys+8*round+4)), c[3], n2)
		c = [4]reg.VecVirtual{n0, p1, n2, p0}
	}
	// Interleave the four words of each counter: words[0] holds the first elements of the block, words[1] the rest.
	a.pair(c[0], c[1])
	a.pair(c[2], c[3])
	words := a.vecs(2)
	a.VPUNPCKLQDQ(c[2], c[0], words[0])
	a.VPUNPCKHQDQ(c[2], c[0], words[1])
	// Compare with the threshold, scale x, and store. AVX2 has no unsigned comparison: word ≥ threshold where the
	// larger of the two is the word.
	for i, w := range words {
		v := a.vec()
		if a.lanes == 16 {
			const atLeast = operand.U8(5)
			k, bytes := a.K(), a.XMM()
			a.VPCMPUD(atLeast, threshold, w, k)
			a.VMULPS_Z(at(x, i*a.bytes()), scale, k, v)
			a.VMOVDQU8_Z(ones, k, bytes)
			a.VMOVDQU(bytes, at(mask, i*a.lanes))
		} else {
			most := a.vec()
			a.VPMAXUD(threshold, w, most)
			a.VPCMPEQD(most, w, w)
			a.VMULPS(at(x, i*a.bytes()), scale, v)
			a.VANDPS(w, v, v)
			a.VPSRLD(operand.U8(31), w, w)
		}
		a.VMOVUPS(v, at(y, i*a.bytes()))
	}
	if a.lanes == 8 {
		const inOrder = operand.U8(0xd8) // VPACKSSDW works within halves of a register: put the quarters in order again
		high := a.XMM()
		a.VPACKSSDW(words[1], words[0], words[0])
		a.VPERMQ(inOrder, words[0], words[0])
		a.VEXTRACTI128(operand.U8(1), words[0], high)
		a.VPACKUSWB(high, words[0].AsX(), high)
		a.VMOVDQU(high, at(mask, 0))
	}
	a.ADDQ(operand.U32(2*a.bytes()), x)
	a.ADDQ(operand.U32(2*a.bytes()), y)
	a.ADDQ(operand.U32(2*a.lanes), mask)
	a.countDown(blocks, "block")
	a.end()
}

// xor3 sets r = x ^ y ^ r.
func (a *asm) xor3(x, y, r reg.Register) {
	if a.lanes == 16 {
		const odd = operand.U8(0x96) // the truth table of VPTERNLOGD: 1 where an odd number of the three bits is 1
		a.VPTERNLOGD(odd, x, y, r)
		return
	}
	a.VPXOR(x, r, r)
	a.VPXOR(y, r, r)
}

// pair puts the low half of every 64-bit lane of high into the high half of the same lane of low.
func (a *asm) pair(low, high reg.VecVirtual) {
	a.VPSLLQ(operand.U8(32), high, high)
	if a.lanes == 8 {
		a.VPBLENDD(operand.U8(0xaa), high, low, low)
		return
	}
	r, k := a.GP32(), a.K()
	a.MOVL(operand.U32(0xaaaa), r)
	a.KMOVW(r, k)
	a.VMOVDQA32(high, k, low)
}

// applyMask computes y = mask ? scale·x : 0. Moves 9 |x| bytes.
func applyMask(a *asm) {
	a.begin("ApplyMask", "func(y, x *float32, mask *uint8, n int, scale float32)")
	y, x, mask, n, scale, left, zero := a.arg("y"), a.arg("x"), a.arg("mask"), a.arg("n"), a.number("scale"),
		a.GP64(), a.vec()
	a.zero(zero)
	a.MOVQ(n, left)
	a.channels(left, mask, []reg.GPVirtual{x, y}, func(masked bool) {
		m, v := a.vec(), a.vec()
		a.load(at(x, 0), v, masked)
		a.VMULPS(scale, v, v)
		a.loadBytes(mask, left, m, masked)
		if a.lanes == 16 {
			k := a.K()
			a.VPTESTMD(m, m, k)
			a.VMOVAPS_Z(v, k, v)
		} else {
			a.VPCMPEQD(zero, m, m)
			a.VANDNPS(v, m, v)
		}
		a.store(v, at(y, 0), masked)
	})
	a.end()
}
