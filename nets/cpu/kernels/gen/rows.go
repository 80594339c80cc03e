package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows emits the family rows: kernels that go down strips of columns, of 4 registers, then of one, then a ragged one.
// Each strip goes from the first row to the last, so that sums over rows are in order and stay in registers.
func rows(a *asm) {
	biasReLU(a)
	reluGrad(a)
}

// strips emits strip once per width, inside a loop over as many strips of that width as fit in left columns, and once
// more for the ragged rest. Widths are in registers, the last one is 1. The pointers in columns move with the strips.
// strip must make new labels every time.
func (a *asm) strips(widths []int, left reg.GPVirtual, columns []reg.GPVirtual, strip func(vecs int, masked bool)) {
	for _, vecs := range widths {
		a.whole(vecs*a.lanes, left, a.label("strip"), a.label("stripsDone"), func() {
			strip(vecs, false)
			a.move(vecs*a.bytes(), columns...)
		})
	}
	a.ragged(left, a.label("done"), func() { strip(1, true) })
}

// ifReLU emits code twice, for a parameter relu that is true and for one that is false, and the test that chooses. done
// labels the code behind.
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

// biasReLU computes y[i·ld + j] = max(0, y[i·ld + j] + bias[j]); the maximum only if relu. Moves 8 |y| bytes.
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

// gradient returns a new register with the gradient gy. If relu, it has 0 in the lanes where y ≤ 0.
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

// reluGrad computes d[i,j] = y[i,j] > 0 ? gy[i,j] : 0, or d = gy if !relu, and db[j] += Σ_i d[i,j]. All matrices are
// [rows, cols]. Moves 12 |y| bytes.
func reluGrad(a *asm) {
	a.begin("ReLUGrad", "func(d, db, gy, y *float32, rows, cols int, relu bool)")
	// All four matrices have the same layout, so that one offset, off, goes down their rows.
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
