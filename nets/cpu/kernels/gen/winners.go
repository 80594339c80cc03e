package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of asm.PixelLists; a test of package asm compares them with the compiler's.
const (
	pixelValues = 16 * iota
	pixelPlaces
)

// Offsets of the fields of asm.ChannelLists.
const (
	channelValues = 8 * iota
	channelPlaces
	channelRoom
	channelIn      = 24
	channelColumns = 56
	channelGroup   = 88
)

// winners emits the family winners: lists of what is not 0, of the gradients in front of 2 × 2 max pooling and of a
// matrix. The kernels take 8 elements at a time and move those that belong to a list to the front of a register, by a
// table of 256 orders. They store whole registers, of which the next store overwrites what does not count. They are a
// small part of a step, and there is no version for AVX-512.
func winners(a *asm) {
	pixelWinners(a)
	channelWinners(a)
	nonZeros(a)
}

// front moves the lanes of v and places that the bits of m name to the front, stores them as entries n, n+1 … of a
// list, and adds their number to n.
func (a *asm) front(m reg.GPVirtual, v, places reg.Register, table, toValues, toPlaces, n reg.GPVirtual) {
	order, count := a.vec(), a.GP64()
	a.VPMOVZXBD(indexed(table, m, 8), order)
	a.POPCNTL(m.As32(), count.As32())
	value, place := a.vec(), a.vec()
	a.VPERMPS(v, order, value)
	a.VPERMD(places, order, place)
	a.VMOVUPS(value, indexed(toValues, n, 4))
	a.VMOVDQU(place, indexed(toPlaces, n, 4))
	a.ADDQ(count, n)
}

// lanesWhere returns a bit for each lane of k, for the lanes below left.
func (a *asm) lanesWhere(k reg.Register, left reg.GPVirtual) reg.GPVirtual {
	m := a.GP64()
	a.VMOVMSKPS(k, m.As32())
	a.BZHIL(left.As32(), m.As32(), m.As32())
	return m
}

// pixelWinners emits PixelWinners. A pixel of the pooled row has two columns of the map, and each column a list in the
// upper row and one in the lower. Reads 5 bytes per gy twice and writes 8 per winner.
func pixelWinners(a *asm) {
	a.begin("PixelWinners", "func(l *byte, upper, lower *int32, gy *float32, arg *uint8, table *uint64, "+
		"pixels, cols, depth int)")
	l, gy, arg, table := a.arg("l"), a.arg("gy"), a.arg("arg"), a.arg("table")
	var values, places, n [2]reg.GPVirtual
	for i := range n {
		values[i], places[i], n[i] = a.GP64(), a.GP64(), a.GP64()
		a.MOVQ(at(l, pixelValues+8*i), values[i])
		a.MOVQ(at(l, pixelPlaces+8*i), places[i])
		a.XORQ(n[i], n[i])
	}
	which := []reg.VecVirtual{a.vec(), a.integers(1), a.integers(2), a.integers(3)}
	a.zero(which[0])
	// The places of channels are depth apart: first is the place of a column's first channel, place that of 8 channels.
	channels, first, place := a.vec(), a.GP64(), a.GP64()
	a.multiples(a.arg("depth"), channels)
	a.XORQ(first, first)
	a.Label("pixel")
	for column := range 2 {
		c, left, loop := a.GP64(), a.GP64(), a.label("channels")
		a.XORQ(c, c)
		a.Load(a.Param("cols"), left)
		a.MOVQ(first, place)
		a.Label(loop)
		g, index, at8 := a.vec(), a.vec(), a.vec()
		a.VMOVUPS(indexed(gy, c, 4), g)
		a.VPMOVZXBD(indexed(arg, c, 1), index)
		x := a.XMM()
		a.VMOVD(place.As32(), x)
		a.VPBROADCASTD(x, at8)
		a.VPADDD(channels, at8, at8)
		for row := range 2 {
			k := a.vec()
			a.VPCMPEQD(which[2*row+column], index, k)
			a.front(a.lanesWhere(k, left), g, at8, table, values[row], places[row], n[row])
		}
		a.ADDQ(operand.U8(8), c)
		step := a.GP64()
		a.Load(a.Param("depth"), step)
		a.LEAQ(indexed(place, step, 8), place)
		a.SUBQ(operand.U8(8), left)
		a.JG(jump(loop))
		// Where the lists end, and the place of the next column.
		for row, ends := range []string{"upper", "lower"} {
			end := a.arg(ends)
			a.MOVL(n[row].As32(), at(end, 0))
			a.ADDQ(operand.U8(4), a.slot(ends))
		}
		all := a.GP64()
		a.Load(a.Param("depth"), all)
		a.IMULQ(a.slot("cols"), all)
		a.ADDQ(all, first)
	}
	cols := a.GP64()
	a.Load(a.Param("cols"), cols)
	a.LEAQ(indexed(gy, cols, 4), gy)
	a.ADDQ(cols, arg)
	a.countDown(a.slot("pixels"), "pixel")
	a.end()
}

// nonZeros emits NonZeros. Reads 4 bytes per element of x and writes 8 per element that is not 0.
func nonZeros(a *asm) {
	a.begin("NonZeros",
		"func(values *float32, places, stops *int32, x *float32, table *uint64, rows, ld, n, room, step int)")
	values, places, x, table, step := a.arg("values"), a.arg("places"), a.arg("x"), a.arg("table"), a.arg("step")
	lanes, zero, group := a.vec(), a.vec(), a.vec()
	a.multiples(step, lanes)
	a.zero(zero)
	a.SHLQ(operand.U8(3), step)
	b := a.XMM()
	a.VMOVD(step.As32(), b)
	a.VPBROADCASTD(b, group)
	first := a.GP64() // of the row
	a.XORQ(first, first)
	a.Label("row")
	n, off, left, where := a.GP64(), a.GP64(), a.GP64(), a.vec()
	a.MOVQ(first, n)
	a.XORQ(off, off)
	a.Load(a.Param("n"), left)
	a.VMOVDQA(lanes, where)
	a.Label("group")
	v, k := a.vec(), a.vec()
	a.VMOVUPS(indexed(x, off, 1), v)
	const notEqual = operand.U8(4) // or NaN
	a.VCMPPS(notEqual, zero, v, k)
	a.front(a.lanesWhere(k, left), v, where, table, values, places, n)
	a.VPADDD(group, where, where)
	a.move(a.bytes(), off)
	a.SUBQ(operand.U8(8), left)
	a.JG(jump("group"))
	stops, ld := a.GP64(), a.GP64()
	a.Load(a.Param("stops"), stops)
	a.MOVL(n.As32(), at(stops, 0))
	a.ADDQ(operand.U8(4), a.slot("stops"))
	a.Load(a.Param("ld"), ld)
	a.LEAQ(indexed(x, ld, 4), x)
	a.ADDQ(a.slot("room"), first)
	a.countDown(a.slot("rows"), "row")
	a.end()
}

// multiples sets the lanes of v to 0, n, 2n … 7n.
func (a *asm) multiples(n reg.GPVirtual, v reg.VecVirtual) {
	m, known := a.tables["lane"]
	if !known {
		m = a.StaticGlobal("lane")
		a.DataAttributes(rodata)
		for i := range 8 {
			a.AddDatum(4*i, operand.U32(i))
		}
		a.tables = map[string]operand.Mem{"lane": m}
	}
	x := a.XMM()
	a.VMOVD(n.As32(), x)
	a.VPBROADCASTD(x, v)
	a.VPMULLD(m, v, v)
}

// channelWinners emits ChannelWinners. Reads 5 bytes per gy and writes 8 per winner, and moves the 5 bytes to and from
// memory that the first cache holds.
//
// 8 channels of 8 pixels are turned at a time, for all pixels of the row; then the channels go through the turned row
// twice, for the upper row of the windows and for the lower.
func channelWinners(a *asm) {
	a.begin("ChannelWinners",
		"func(l *byte, stops *int32, gy *float32, arg *uint8, table *uint64, pixels, cols, left int)")
	l := a.arg("l")
	in, columns, group := a.vec(), a.vec(), a.vec()
	a.VMOVDQU(at(l, channelIn), in)
	a.VMOVDQU(at(l, channelColumns), columns)
	a.VMOVDQU(at(l, channelGroup), group)
	one, two := a.integers(1), a.integers(2)

	a.Label("block")
	turned, pixels := a.GP64(), a.GP64()
	a.MOVQ(at(l, channelRoom), turned)
	a.Load(a.Param("pixels"), pixels)
	gy, arg, cols := a.arg("gy"), a.arg("arg"), a.arg("cols")
	a.Label("turn")
	g, bytes := a.vecs(8), make([]reg.VecVirtual, 8)
	for i := range g {
		a.VMOVUPS(at(gy, 0), g[i])
		a.LEAQ(indexed(gy, cols, 4), gy)
	}
	for i, v := range a.turn(g) {
		a.VMOVUPS(v, at(turned, i*a.bytes()))
	}
	for i := range bytes {
		bytes[i] = a.XMM()
		a.VMOVQ(at(arg, 0), bytes[i])
		a.ADDQ(cols, arg)
	}
	for i, v := range a.turnBytes(bytes) {
		a.VMOVDQU(v, at(turned, 8*a.bytes()+16*i))
	}
	a.move(turnedBytes, turned)
	a.SUBQ(operand.U8(8), pixels)
	a.JG(jump("turn"))

	// The channels of the block, at most 8.
	table, values, places, stops := a.arg("table"), a.GP64(), a.GP64(), a.arg("stops")
	a.MOVQ(at(l, channelValues), values)
	a.MOVQ(at(l, channelPlaces), places)
	channel, indices, channels, most := a.GP64(), a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(at(l, channelRoom), channel)
	a.LEAQ(at(channel, 8*a.bytes()), indices)
	a.MOVQ(operand.U32(8), most)
	a.Load(a.Param("left"), channels)
	a.CMPQ(channels, most)
	a.CMOVQGT(most, channels)
	a.Label("channel")
	n := a.GP64()
	a.MOVLQSX(at(stops, 0), n)
	for row := range 2 {
		loop := a.label("group")
		off, left, place := a.GP64(), a.GP64(), a.vec()
		a.XORQ(off, off)
		a.Load(a.Param("pixels"), left)
		a.VMOVDQA(columns, place)
		a.Label(loop)
		index, v, where, selected := a.vec(), a.vec(), a.vec(), a.vec()
		a.VPMOVZXBD(indexed(indices, off, 1), index)
		a.VPERMD(in, index, where)
		a.VPADDD(place, where, where)
		if row == 0 {
			a.VPCMPGTD(index, two, selected)
		} else {
			a.VPSRLD(operand.U8(1), index, selected)
			a.VPCMPEQD(one, selected, selected)
		}
		a.VMOVUPS(indexed(channel, off, 1), v)
		a.front(a.lanesWhere(selected, left), v, where, table, values, places, n)
		a.VPADDD(group, place, place)
		a.move(turnedBytes, off)
		a.SUBQ(operand.U8(8), left)
		a.JG(jump(loop))
	}
	a.MOVL(n.As32(), at(stops, 0))
	a.move(4, stops)
	a.move(a.bytes(), channel)
	a.move(8, indices)
	a.countDown(channels, "channel")
	a.MOVQ(stops, a.slot("stops"))
	a.ADDQ(operand.U8(a.bytes()), a.slot("gy"))
	a.ADDQ(operand.U8(8), a.slot("arg"))
	a.SUBQ(operand.U8(8), a.slot("left"))
	a.JG(jump("block"))
	a.end()
}

// turnedBytes is the size of 8 turned channels of 8 pixels: their gradients, and the bytes of arg.
const turnedBytes = 8*32 + 8*8

// turnBytes returns the columns of 8 rows of 8 bytes, two in a register. It overwrites r.
func (a *asm) turnBytes(r []reg.VecVirtual) []reg.VecVirtual {
	words := make([]reg.VecVirtual, 4) // pairs of rows
	for i := range words {
		words[i] = a.XMM()
		a.VPUNPCKLBW(r[2*i+1], r[2*i], words[i])
	}
	var longs [2][2]reg.VecVirtual // four rows: columns 0 … 3, columns 4 … 7
	for i := range longs {
		longs[i][0], longs[i][1] = a.XMM(), a.XMM()
		a.VPUNPCKLWD(words[2*i+1], words[2*i], longs[i][0])
		a.VPUNPCKHWD(words[2*i+1], words[2*i], longs[i][1])
	}
	out := make([]reg.VecVirtual, 4)
	for i := range 2 {
		out[2*i], out[2*i+1] = a.XMM(), a.XMM()
		a.VPUNPCKLDQ(longs[1][i], longs[0][i], out[2*i])
		a.VPUNPCKHDQ(longs[1][i], longs[0][i], out[2*i+1])
	}
	return out
}
