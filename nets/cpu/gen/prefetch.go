package main

import "github.com/mmcloughlin/avo/operand"

// prefetch: asks for lines lines of 64 bytes from p on; they may be anywhere, in nobody's memory too.
func prefetch(a *asm) {
	a.begin("Prefetch", "func(p *byte, lines int)")
	p, n := a.arg("p"), a.arg("lines")
	a.Label("loop")
	a.PREFETCHT0(at(p, 0))
	a.ADDQ(operand.U8(64), p)
	a.countDown(n, "loop")
	a.RET()
}
