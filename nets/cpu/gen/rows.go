package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows holds the kernels that go down columns: a strip of 4 registers, then of one, then a ragged one, each from the
// first row to the last, so that sums over rows are in order and stay in registers.
func rows(a *asm) {
	biasReLU(a)
	reluGrad(a)
}

// strips writes strip for every width of strip; cols is the number of columns, and move shall add so many bytes to
// every pointer. strip's labels must be its own.
func (a *asm) strips(cols reg.GPVirtual, move func(bytes int), strip func(vecs int, masked bool)) {
	a.stripsOf([]int{4, 1}, cols, move, strip)
}

// stripsOf is strips with other widths, in registers, the last of them 1.
func (a *asm) stripsOf(widths []int, cols reg.GPVirtual, move func(bytes int), strip func(vecs int, masked bool)) {
	for _, vecs := range widths {
		loop, done := a.label("strip"), a.label("stripsDone")
		a.SUBQ(operand.U8(vecs*a.lanes), cols)
		a.JLT(jump(done))
		a.Label(loop)
		strip(vecs, false)
		move(vecs * a.bytes())
		a.SUBQ(operand.U8(vecs*a.lanes), cols)
		a.JGE(jump(loop))
		a.Label(done)
		a.ADDQ(operand.U8(vecs*a.lanes), cols)
	}
	done := a.label("done")
	a.JEQ(jump(done))
	a.lanesBelow(cols)
	strip(1, true)
	a.Label(done)
}

// ifReLU writes code twice: for when the parameter relu is true, and for when it is not. done labels what comes behind.
func (a *asm) ifReLU(done string, code func(relu bool)) {
	linear := a.label("linear")
	a.CMPB(a.slot("relu"), operand.U8(0))
	a.JEQ(jump(linear))
	code(true)
	a.JMP(jump(done))
	a.Label(linear)
	code(false)
	a.Label(done)
}

// biasReLU: y[i·ld + j] = max(0, y[i·ld + j] + bias[j]), max only if relu. Moves 8 |y| bytes.
//
// func(y *float32, rows, ld int, bias *float32, cols int, relu bool)
func biasReLU(a *asm) {
	a.begin("biasReLU", "func(y *float32, rows, ld int, bias *float32, cols int, relu bool)")
	y, ld, bias, cols := a.arg("y"), a.arg("ld"), a.arg("bias"), a.arg("cols")
	a.SHLQ(operand.U8(2), ld)
	zero := a.vec()
	a.zero(zero)
	move := func(n int) {
		a.ADDQ(operand.I32(n), y)
		a.ADDQ(operand.I32(n), bias)
	}
	a.strips(cols, move, func(vecs int, masked bool) {
		b := a.loads(bias, vecs, masked)
		p, n, done := a.GP64(), a.GP64(), a.label("rowsDone")
		a.MOVQ(y, p)
		a.Load(a.Param("rows"), n)
		loop := func(relu bool) {
			row := a.label("row")
			a.Label(row)
			for i, v := range b {
				x := a.vec()
				if masked {
					a.load(at(p, 0), x, true)
					a.VADDPS(v, x, x)
				} else {
					a.VADDPS(at(p, i*a.bytes()), v, x)
				}
				if relu {
					a.zeroUnlessPositive(x, x, zero)
				}
				a.store(x, at(p, i*a.bytes()), masked)
			}
			a.ADDQ(ld, p)
			a.DECQ(n)
			a.JNE(jump(row))
		}
		a.ifReLU(done, loop)
	})
	a.end()
}

// reluGrad: d[i,j] = y[i,j] > 0 ? gy[i,j] : 0, gy everywhere if !relu; db[j] += Σ_i d[i,j]. Moves 12 |y| bytes.
//
// func(d, db, gy, y *float32, rows, cols int, relu bool), all matrices [rows, cols].
func reluGrad(a *asm) {
	a.begin("reluGrad", "func(d, db, gy, y *float32, rows, cols int, relu bool)")
	d, db, gy, y, cols, ld := a.arg("d"), a.arg("db"), a.arg("gy"), a.arg("y"), a.arg("cols"), a.GP64()
	a.MOVQ(cols, ld)
	a.SHLQ(operand.U8(2), ld)
	zero := a.vec()
	a.zero(zero)
	move := func(n int) {
		for _, p := range []reg.GPVirtual{d, db, gy, y} {
			a.ADDQ(operand.I32(n), p)
		}
	}
	a.strips(cols, move, func(vecs int, masked bool) {
		sum := a.loads(db, vecs, masked)
		off, n, done := a.GP64(), a.GP64(), a.label("rowsDone")
		a.XORQ(off, off)
		a.Load(a.Param("rows"), n)
		here := func(p reg.Register, i int) operand.Mem {
			return operand.Mem{Base: p, Index: off, Scale: 1, Disp: i * a.bytes()}
		}
		loop := func(relu bool) {
			row := a.label("row")
			a.Label(row)
			for i, v := range sum {
				g := a.vec()
				a.load(here(gy, i), g, masked)
				if relu {
					out := a.vec()
					a.load(here(y, i), out, masked)
					a.zeroUnlessPositive(g, out, zero)
				}
				a.VADDPS(g, v, v)
				a.store(g, here(d, i), masked)
			}
			a.ADDQ(ld, off)
			a.DECQ(n)
			a.JNE(jump(row))
		}
		a.ifReLU(done, loop)
		a.stores(sum, db, masked)
	})
	a.end()
}
