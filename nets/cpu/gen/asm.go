package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rodata are the attributes of a table of constants.
const rodata = attr.RODATA | attr.NOPTR

// isa is an instruction set as the kernels see it.
type isa struct {
	name  string
	lanes int // float32 in a register
}

var (
	avx2   = isa{"avx2", 8}
	avx512 = isa{"avx512", 16}
)

// asm is a file being written. Vector operations that exist in both sets under one name are used as they are; those
// that masks make different are methods here.
type asm struct {
	*build.Context
	isa
	mask   reg.Register // of the lanes in use, set by lanesBelow: a K or a YMM register
	table  *operand.Mem // 8 × −1, 8 × 0, the masks of AVX2
	labels int
}

// vec returns a new register of float32 or int32.
func (a *asm) vec() reg.VecVirtual {
	if a.lanes == 16 {
		return a.ZMM()
	}
	return a.YMM()
}

// vecs returns n new registers.
func (a *asm) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = a.vec()
	}
	return v
}

// bytes is the size of a register.
func (a *asm) bytes() int { return 4 * a.lanes }

// begin starts a function. Its Go declaration, with the true pointer types, is in package asm.
func (a *asm) begin(name, signature string) {
	a.Function(name + strings.ToUpper(a.name))
	a.SignatureExpr(signature)
	a.Attributes(attr.NOSPLIT)
}

// end leaves the function.
func (a *asm) end() {
	a.VZEROUPPER()
	a.RET()
}

// arg loads a parameter of 8 bytes.
func (a *asm) arg(name string) reg.GPVirtual {
	r := a.GP64()
	a.Load(a.Param(name), r)
	return r
}

// slot is a parameter's place in memory, which the function may use as a variable.
func (a *asm) slot(name string) operand.Mem { return address(a.Param(name)) }

// address is the place in memory of a parameter or result.
func address(c gotypes.Component) operand.Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err) // a mistake in this generator
	}
	return b.Addr
}

// label returns a new name for a jump target.
func (a *asm) label(name string) string {
	a.labels++
	return fmt.Sprintf("%s%d", name, a.labels)
}

// jump is a label as an operand.
func jump(label string) operand.LabelRef { return operand.LabelRef(label) }

// countDown jumps back to label until n has reached 0.
func (a *asm) countDown(n operand.Op, label string) {
	a.DECQ(n)
	a.JNE(jump(label))
}

// whole writes body for as many groups of n as there are in left. What is left then is less, and the flags say whether
// it is 0.
func (a *asm) whole(n int, left reg.GPVirtual, loop, behind string, body func()) {
	a.SUBQ(operand.U8(n), left)
	a.JLT(jump(behind))
	a.Label(loop)
	body()
	a.SUBQ(operand.U8(n), left)
	a.JGE(jump(loop))
	a.Label(behind)
	a.ADDQ(operand.U8(n), left)
}

// ragged writes body for the rest that [asm.whole] leaves, with the mask of its lanes.
func (a *asm) ragged(left reg.GPVirtual, done string, body func()) {
	a.JEQ(jump(done))
	a.lanesBelow(left)
	body()
	a.Label(done)
}

// move adds bytes to pointers.
func (a *asm) move(bytes int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		a.ADDQ(operand.I32(bytes), p)
	}
}

// at is the memory at base + disp.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// indexed is the memory at base + index·scale.
func indexed(base, index reg.Register, scale uint8) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale}
}

// zero clears a register.
func (a *asm) zero(r reg.Register) { a.VXORPS(r, r, r) }

// lanesBelow makes the mask of the lanes l < n, for n in 0 … lanes.
func (a *asm) lanesBelow(n reg.GPVirtual) {
	if a.lanes == 16 {
		all, k := a.GP32(), a.K()
		a.MOVL(operand.U32(0xffff), all)
		a.BZHIL(n.As32(), all, all)
		a.KMOVW(all, k)
		a.mask = k
		return
	}
	if a.table == nil {
		m := a.StaticGlobal("lanes")
		a.DataAttributes(rodata)
		for i := range 16 {
			a.AddDatum(4*i, operand.I32(i/8-1))
		}
		a.table = &m
	}
	table, back, m := a.GP64(), a.GP64(), a.YMM()
	a.LEAQ(*a.table, table)
	a.MOVQ(n, back)
	a.NEGQ(back)
	a.VMOVDQU(operand.Mem{Base: table, Index: back, Scale: 4, Disp: 32}, m)
	a.mask = m
}

// load reads lanes from memory, those in use if masked; the others become 0.
func (a *asm) load(m operand.Mem, r reg.Register, masked bool) {
	switch {
	case !masked:
		a.VMOVUPS(m, r)
	case a.lanes == 16:
		a.VMOVUPS_Z(m, a.mask, r)
	default:
		a.VMASKMOVPS(m, a.mask, r)
	}
}

// store writes lanes to memory, those in use if masked.
func (a *asm) store(r reg.Register, m operand.Mem, masked bool) {
	switch {
	case !masked:
		a.VMOVUPS(r, m)
	case a.lanes == 16:
		a.VMOVUPS(r, a.mask, m)
	default:
		a.VMASKMOVPS(r, a.mask, m)
	}
}

// integers returns a register whose lanes all hold the bits n.
func (a *asm) integers(n uint32) reg.VecVirtual {
	r, v := a.GP32(), a.vec()
	a.MOVL(operand.I32(n), r)
	if a.lanes == 16 {
		a.VPBROADCASTD(r, v)
		return v
	}
	x := a.XMM()
	a.VMOVD(r, x)
	a.VPBROADCASTD(x, v)
	return v
}

// Predicates of VCMPPS.
const (
	isLE    = operand.U8(18) // ordered, quiet
	isGT    = operand.U8(30) // ordered, quiet
	isUnord = operand.U8(3)
)

// selection returns a new register that a comparison sets lane by lane.
func (a *asm) selection() reg.Register {
	if a.lanes == 16 {
		return a.K()
	}
	return a.YMM()
}

// zeroUnlessPositive sets r = 0 where test ≤ 0, and returns where; NaN counts as positive.
func (a *asm) zeroUnlessPositive(r, test, zero reg.Register) (where reg.Register) {
	where = a.selection()
	a.VCMPPS(isLE, zero, test, where)
	if a.lanes == 16 {
		a.VMOVAPS(zero, where, r)
	} else {
		a.VANDNPS(r, where, r)
	}
	return where
}
