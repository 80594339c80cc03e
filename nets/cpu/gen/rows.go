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

// strips writes strip for every width of strip, in registers, the last of widths 1. left is the number of columns; the
// pointers of columns move on with the strips. strip's labels must be its own.
func (a *asm) strips(widths []int, left reg.GPVirtual, columns []reg.GPVirtual, strip func(vecs int, masked bool)) {
	for _, vecs := range widths {
		a.whole(vecs*a.lanes, left, a.label("strip"), a.label("stripsDone"), func() {
			strip(vecs, false)
			a.move(vecs*a.bytes(), columns...)
		})
	}
	a.ragged(left, a.label("done"), func() { strip(1, true) })
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
func biasReLU(a *asm) {
	a.begin("BiasReLU", "func(y *float32, rows, ld int, bias *float32, cols int, relu bool)")
	y, ld, bias, cols := a.arg("y"), a.arg("ld"), a.arg("bias"), a.arg("cols")
	a.SHLQ(operand.U8(2), ld)
	zero := a.vec()
	a.zero(zero)
	a.strips([]int{4, 1}, cols, []reg.GPVirtual{y, bias}, func(vecs int, masked bool) {
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
			a.countDown(n, row)
		}
		a.ifReLU(done, loop)
	})
	a.end()
}

// gradient loads a gradient gy, with 0 in place of it where y ≤ 0 if relu.
func (a *asm) gradient(gy, y operand.Mem, zero reg.Register, relu, masked bool) reg.VecVirtual {
	g := a.vec()
	a.load(gy, g, masked)
	if relu {
		out := a.vec()
		a.load(y, out, masked)
		a.zeroUnlessPositive(g, out, zero)
	}
	return g
}

// reluGrad: d[i,j] = y[i,j] > 0 ? gy[i,j] : 0, gy everywhere if !relu; db[j] += Σ_i d[i,j]. Moves 12 |y| bytes.
// All matrices are [rows, cols].
func reluGrad(a *asm) {
	a.begin("ReLUGrad", "func(d, db, gy, y *float32, rows, cols int, relu bool)")
	d, db, gy, y, cols, ld := a.arg("d"), a.arg("db"), a.arg("gy"), a.arg("y"), a.arg("cols"), a.GP64()
	a.MOVQ(cols, ld)
	a.SHLQ(operand.U8(2), ld)
	zero := a.vec()
	a.zero(zero)
	a.strips([]int{4, 1}, cols, []reg.GPVirtual{d, db, gy, y}, func(vecs int, masked bool) {
		sum := a.loads(db, vecs, masked)
		off, n, done := a.GP64(), a.GP64(), a.label("rowsDone")
		a.XORQ(off, off)
		a.Load(a.Param("rows"), n)
		loop := func(relu bool) {
			row := a.label("row")
			a.Label(row)
			for i, v := range sum {
				here := a.behind(off, i)
				g := a.gradient(here(gy), here(y), zero, relu, masked)
				a.VADDPS(g, v, v)
				a.store(g, here(d), masked)
			}
			a.ADDQ(ld, off)
			a.countDown(n, row)
		}
		a.ifReLU(done, loop)
		a.stores(sum, db, masked)
	})
	a.end()
}
