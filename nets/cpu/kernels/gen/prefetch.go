package main

import "github.com/mmcloughlin/avo/operand"

// prefetch emits Prefetch: it asks for lines lines of 64 bytes from p on. PREFETCHT0 never faults, so the addresses
// need not be valid.
func prefetch(a *asm) {
	a.begin("Prefetch", "func(p *byte, lines int)")
	p, n := a.arg("p"), a.arg("lines")
	a.Label("loop")
	a.PREFETCHT0(at(p, 0))
	a.ADDQ(operand.U8(64), p)
	a.countDown(n, "loop")
	a.RET()
}
