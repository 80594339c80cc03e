package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of asm.Sparse; a test of package asm compares them with the compiler's.
const (
	sparseValues = 24 * iota
	sparsePlaces
	sparseStarts
	sparseStops
)

const (
	sparseItems = 96 + 8*iota
	sparseMStep
	sparseMRow
	sparseStep
	sparseRow
	sparseAdd
)

// sparseShape is the sums of a sparse product that are in registers at the same time: rows of vecs registers.
type sparseShape struct{ rows, vecs int }

// sparseShapes returns the shapes that a set has registers for, in the order of their numbers. asm.SparseShapes is the
// same list.
func sparseShapes(lanes int) (shapes []sparseShape) {
	for _, vecs := range []int{1, 2, 3, 4, 6, 8, 12} {
		for _, rows := range []int{1, 2, 3, 5} {
			if vecs*rows <= 3*lanes/2 {
				shapes = append(shapes, sparseShape{rows, vecs})
			}
		}
	}
	return shapes
}

// sparse emits the sparse product; asm.SparseAVX512 has the formula.
//
// An entry of a list costs a broadcast, the load of its place and a multiply-add for each sum, whose other factor comes
// from memory: 12 sums have 14 loads for 12 multiply-adds. Fewer sums than 8 wait for each other.
func sparse(a *asm) {
	a.begin("Sparse", "func(t *byte, m *float32, at int, to *float32, shape, tail, loaded int)")
	r := sparseRegs{
		t: a.arg("t"), m: a.arg("m"), to: a.arg("to"), values: a.GP64(), places: a.GP64(),
		starts: a.GP64(), stops: a.GP64(), mRow: a.GP64(), row: a.GP64(), e: a.GP64(), stop: a.GP64(), p: a.GP64(),
	}
	if a.lanes == 16 {
		a.lanesBelow(a.arg("tail"))
	}
	for _, field := range []struct {
		disp int
		to   reg.GPVirtual
	}{
		{sparseValues, r.values},
		{sparsePlaces, r.places},
		{sparseStarts, r.starts},
		{sparseStops, r.stops},
		{sparseMRow, r.mRow},
		{sparseRow, r.row},
	} {
		a.MOVQ(at(r.t, field.disp), field.to)
	}
	a.SHLQ(operand.U8(2), r.mRow)
	a.SHLQ(operand.U8(2), r.row)
	a.Load(a.Param("at"), r.p)
	a.LEAQ(indexed(r.m, r.p, 4), r.m)
	a.MOVQ(at(r.t, sparseItems), r.p)
	a.MOVQ(r.p, a.slot("at")) // the items left
	shapes := sparseShapes(a.lanes)
	a.Load(a.Param("shape"), r.p)
	dispatch(a, "shape", r.p, 0, len(shapes)-1)
	for i, s := range shapes {
		a.Label(fmt.Sprintf("shape%d", i))
		s.emit(a, r)
	}
}

// sparseRegs are the registers of a sparse product.
type sparseRegs struct {
	t, m, to                      reg.GPVirtual
	values, places, starts, stops reg.GPVirtual
	mRow, row                     reg.GPVirtual // strides in bytes
	e, stop, p                    reg.GPVirtual // entry, behind the last one, and where it is in m
}

// emit emits the loop over the items.
func (s sparseShape) emit(a *asm, r sparseRegs) {
	name := func(what string) string { return fmt.Sprintf("%s%dx%d", what, s.rows, s.vecs) }
	sums := make([][]reg.VecVirtual, s.rows)
	// each goes through the sums, with the memory of each from p on. It moves p.
	each := func(p, stride reg.GPVirtual, do func(m operand.Mem, v reg.VecVirtual, masked bool)) {
		for i, row := range sums {
			if i > 0 {
				a.ADDQ(stride, p)
			}
			for j, v := range row {
				do(at(p, j*a.bytes()), v, a.lanes == 16 && j == s.vecs-1)
			}
		}
	}
	a.Label(name("item"))
	a.MOVLQSX(at(r.starts, 0), r.e)
	a.MOVLQSX(at(r.stops, 0), r.stop)
	a.move(4, r.starts, r.stops)
	for i := range sums {
		sums[i] = a.vecs(s.vecs)
		for _, v := range sums[i] {
			a.zero(v)
		}
	}
	a.MOVQ(r.to, r.p)
	for i, row := range sums {
		a.CMPQ(a.slot("loaded"), operand.U8(i))
		a.JLE(jump(name("begun")))
		if i > 0 {
			a.ADDQ(r.row, r.p)
		}
		for j, v := range row {
			a.load(at(r.p, j*a.bytes()), v, a.lanes == 16 && j == s.vecs-1)
		}
	}
	a.Label(name("begun"))
	a.CMPQ(r.e, r.stop)
	a.JGE(jump(name("summed")))
	a.Label(name("entry"))
	value := a.vec()
	a.VBROADCASTSS(indexed(r.values, r.e, 4), value)
	a.MOVLQSX(indexed(r.places, r.e, 4), r.p)
	a.LEAQ(indexed(r.m, r.p, 4), r.p)
	each(r.p, r.mRow, func(m operand.Mem, v reg.VecVirtual, masked bool) {
		if masked {
			a.VFMADD231PS(m, value, a.mask, v)
		} else {
			a.VFMADD231PS(m, value, v)
		}
	})
	a.INCQ(r.e)
	a.CMPQ(r.e, r.stop)
	a.JLT(jump(name("entry")))
	a.Label(name("summed"))
	a.CMPB(at(r.t, sparseAdd), operand.U8(0))
	a.JEQ(jump(name("store")))
	a.MOVQ(r.to, r.p)
	each(r.p, r.row, func(m operand.Mem, v reg.VecVirtual, masked bool) {
		if masked {
			a.VADDPS(m, v, a.mask, v)
		} else {
			a.VADDPS(m, v, v)
		}
	})
	a.Label(name("store"))
	a.MOVQ(r.to, r.p)
	each(r.p, r.row, func(m operand.Mem, v reg.VecVirtual, masked bool) { a.store(v, m, masked) })
	// The next item.
	a.MOVQ(at(r.t, sparseMStep), r.p)
	a.LEAQ(indexed(r.m, r.p, 4), r.m)
	a.MOVQ(at(r.t, sparseStep), r.p)
	a.LEAQ(indexed(r.to, r.p, 4), r.to)
	a.countDown(a.slot("at"), name("item"))
	a.end()
}
