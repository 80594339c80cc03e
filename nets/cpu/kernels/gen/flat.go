package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// flat emits the family flat: the kernels on plain vectors, which could take their elements in any order.
func flat(a *asm) {
	scale(a)
	axpy(a)
	for _, s := range []stepCode{
		{"Step", false, false},
		{"StepDrift", false, true},
		{"StepMomentum", true, false},
		{"StepBoth", true, true},
	} {
		s.emit(a)
	}
	dot(a)
}

// each emits body for n elements: four registers at a time, then one at a time, then the ragged rest. here returns the
// memory of the current register behind any pointer p; all pointers share one offset in bytes.
func (a *asm) each(n reg.GPVirtual, body func(here func(p reg.Register) operand.Mem, masked bool)) {
	off := a.GP64()
	a.XORQ(off, off)
	for _, vecs := range []int{4, 1} {
		a.whole(vecs*a.lanes, n, a.label("loop"), a.label("loopDone"), func() {
			for i := range vecs {
				body(a.behind(off, i), false)
			}
			a.move(vecs*a.bytes(), off)
		})
	}
	a.ragged(n, a.label("done"), func() { body(a.behind(off, 0), true) })
}

// behind returns a function of p: the memory of the i-th register from p + off on.
func (a *asm) behind(off reg.GPVirtual, i int) func(p reg.Register) operand.Mem {
	return func(p reg.Register) operand.Mem {
		return operand.Mem{Base: p, Index: off, Scale: 1, Disp: i * a.bytes()}
	}
}

// number returns a new register with a float32 parameter in every lane.
func (a *asm) number(name string) reg.VecVirtual {
	v := a.vec()
	a.VBROADCASTSS(a.slot(name), v)
	return v
}

// scale computes dst = c·src. Moves 8 |src| bytes.
func scale(a *asm) {
	a.begin("Scale", "func(dst *float32, c float32, src *float32, n int)")
	dst, src, n, c := a.arg("dst"), a.arg("src"), a.arg("n"), a.number("c")
	a.each(n, func(here func(reg.Register) operand.Mem, masked bool) {
		x := a.vec()
		if masked {
			a.load(here(src), x, true)
			a.VMULPS(c, x, x)
		} else {
			a.VMULPS(here(src), c, x)
		}
		a.store(x, here(dst), masked)
	})
	a.end()
}

// axpy computes dst += c·src with fused multiply-adds. Moves 12 |src| bytes.
func axpy(a *asm) {
	a.begin("Axpy", "func(dst *float32, c float32, src *float32, n int)")
	dst, src, n, c := a.arg("dst"), a.arg("src"), a.arg("n"), a.number("c")
	a.each(n, func(here func(reg.Register) operand.Mem, masked bool) {
		x, y := a.vec(), a.vec()
		a.load(here(src), x, masked)
		a.load(here(dst), y, masked)
		a.VFMADD231PS(c, x, y)
		a.store(y, here(dst), masked)
	})
	a.end()
}

// stepCode is one of the four kinds of SGD step: without or with momentum, without or with drift.
type stepCode struct {
	name            string
	momentum, drift bool
}

// emit emits the kernel: g' = Scale·g + Decay·w + drift; v = Momentum·v + g', g' = v; w = w − LR·g'. All additions are
// fused except for the drift's. Moves 12 P bytes, 8 P more with momentum, 4 P more with drift.
func (s stepCode) emit(a *asm) {
	a.begin(s.name, "func(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)")
	w, g, n := a.arg("w"), a.arg("grad"), a.arg("n")
	lr, scale, decay := a.number("lr"), a.number("scale"), a.number("decay")
	var v, drift reg.GPVirtual
	var momentum reg.VecVirtual
	if s.momentum {
		v, momentum = a.arg("v"), a.number("momentum")
	}
	if s.drift {
		drift = a.arg("drift")
	}
	a.each(n, func(here func(reg.Register) operand.Mem, masked bool) {
		x, d := a.vec(), a.vec()
		a.load(here(w), x, masked)
		a.load(here(g), d, masked)
		a.VMULPS(scale, d, d)
		a.VFMADD231PS(decay, x, d)
		if s.drift {
			y := a.vec()
			a.load(here(drift), y, masked)
			a.VADDPS(y, d, d)
		}
		if s.momentum {
			y := a.vec()
			a.load(here(v), y, masked)
			a.VFMADD231PS(momentum, y, d)
			a.store(d, here(v), masked)
		}
		a.VFNMADD231PS(lr, d, x)
		a.store(x, here(w), masked)
	})
	a.end()
}

// dot computes sums[i mod 32] += x[i]·y[i] in float64, in blocks of 32 elements. The 32 sums, not the width of a
// register, fix the order of additions, so that both sets return the same. Moves 4(|x|+|y|) bytes.
func dot(a *asm) {
	a.begin("Dot", "func(sums *float64, x, y *float32, blocks int)")
	sums, x, y, blocks := a.arg("sums"), a.arg("x"), a.arg("y"), a.arg("blocks")
	// 32 sums in float64: four registers with AVX-512, eight with AVX2.
	acc := a.vecs(64 / a.lanes)
	for i, s := range acc {
		a.VMOVUPD(at(sums, i*a.bytes()), s)
	}
	a.TESTQ(blocks, blocks)
	a.JEQ(jump("done"))
	a.Label("loop")
	for i, s := range acc {
		u, v := a.vec(), a.vec()
		a.VCVTPS2PD(at(x, i*a.bytes()/2), u)
		a.VCVTPS2PD(at(y, i*a.bytes()/2), v)
		a.VFMADD231PD(u, v, s)
	}
	a.ADDQ(operand.U8(128), x)
	a.ADDQ(operand.U8(128), y)
	a.countDown(blocks, "loop")
	a.Label("done")
	for i, s := range acc {
		a.VMOVUPD(s, at(sums, i*a.bytes()))
	}
	a.end()
}
