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

// rodata holds the attributes of a table of constants.
const rodata = attr.RODATA | attr.NOPTR

// isa is an instruction set. The kernels are written once for both; lanes decides where they differ.
type isa struct {
	name  string
	lanes int // float32 in a register
}

var (
	avx2   = isa{"avx2", 8}
	avx512 = isa{"avx512", 16}
	dots   = isa{"avx512bf16", 16} // AVX-512 with AVX512_BF16
	amx    = isa{"amx", 16}        // and with the tiles of AMX
)

// asm is a file being written. Kernels call the instructions that both sets have through build.Context, and the methods
// below for operations that take other instructions in each set.
//
// Masks are the main difference. A row of n floats ends in a ragged register, of which only the first lanes are loaded
// and stored. AVX-512 does that with a mask register K, AVX2 with a vector whose lanes are −1 or 0.
type asm struct {
	*build.Context
	isa
	mask   reg.Register           // the lanes in use, set by lanesBelow: a K register or, with AVX2, a vector register
	table  *operand.Mem           // 8 × −1 and 8 × 0, from which lanesBelow loads the masks of AVX2
	tables map[string]operand.Mem // tables of words, by name
	labels int                    // labels made so far, which number their names
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

// masks reports whether masks are in registers of their own, as with AVX-512.
func (a *asm) masks() bool { return a.name != avx2.name }

// bytes returns the size of a vector register in bytes.
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

// slot returns the address of a parameter on the stack. The function may use it as a variable, to save a register.
func (a *asm) slot(name string) operand.Mem { return address(a.Param(name)) }

// address returns the address of a parameter or a result on the stack.
func address(c gotypes.Component) operand.Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err) // a mistake in this generator
	}
	return b.Addr
}

// label returns a new name for a jump target. Names are unique in a file, so that code can be emitted several times.
func (a *asm) label(name string) string {
	a.labels++
	return fmt.Sprintf("%s%d", name, a.labels)
}

// jump returns a label as the operand of a jump.
func jump(label string) operand.LabelRef { return operand.LabelRef(label) }

// countDown ends a loop: it subtracts 1 from n, and jumps back to label unless n is 0. So n must be at least 1 before
// the loop.
func (a *asm) countDown(n operand.Op, label string) {
	a.DECQ(n)
	a.JNE(jump(label))
}

// whole emits a loop that runs body once per whole group of n elements in left. Afterwards left holds the rest, less
// than n, and the processor's flags say whether it is 0. loop labels the body, behind the code after the loop.
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

// ragged emits body for the rest that [asm.whole] leaves, with the mask set to its lanes. It must follow whole
// directly, since it reads the flags.
func (a *asm) ragged(left reg.GPVirtual, done string, body func()) {
	a.JEQ(jump(done))
	a.lanesBelow(left)
	body()
	a.Label(done)
}

// move adds a number of bytes to pointers.
func (a *asm) move(bytes int, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		a.ADDQ(operand.I32(bytes), p)
	}
}

// at returns the memory operand base + disp.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// indexed returns the memory operand base + index·scale.
func indexed(base, index reg.Register, scale uint8) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale}
}

// zero clears a vector register.
func (a *asm) zero(r reg.Register) { a.VXORPS(r, r, r) }

// lanesBelow sets the mask to the lanes l < n, for n in 0 … lanes. With AVX2 it loads the mask from a table of −1 and
// 0, from n elements before the first 0.
func (a *asm) lanesBelow(n reg.GPVirtual) {
	if a.masks() {
		all, k := a.GP32(), a.K()
		a.MOVL(operand.U32(0xffff), all)
		a.BZHIL(n.As32(), all, all)
		a.KMOVW(all, k)
		a.mask = k
		return
	}
	// The table is emitted once per file, by the first kernel that needs it.
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

// load loads a register from memory. If masked, it reads only the lanes in use, and sets the others to 0.
func (a *asm) load(m operand.Mem, r reg.Register, masked bool) {
	switch {
	case !masked:
		a.VMOVUPS(m, r)
	case a.masks():
		a.VMOVUPS_Z(m, a.mask, r)
	default:
		a.VMASKMOVPS(m, a.mask, r)
	}
}

// store stores a register to memory. If masked, it writes only the lanes in use.
func (a *asm) store(r reg.Register, m operand.Mem, masked bool) {
	switch {
	case !masked:
		a.VMOVUPS(r, m)
	case a.masks():
		a.VMOVUPS(r, a.mask, m)
	default:
		a.VMASKMOVPS(r, a.mask, m)
	}
}

// integers returns a new register with the 32 bits n in every lane.
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

// Predicates of VCMPPS, by the numbers of Intel's manual. Ordered predicates are false if an operand is NaN.
const (
	isLE    = operand.U8(18) // less or equal, ordered, quiet
	isGT    = operand.U8(30) // greater, ordered, quiet
	isUnord = operand.U8(3)  // an operand is NaN
)

// selection returns a new register for the result of a comparison, one truth value per lane: a K register or, with
// AVX2, a vector register.
func (a *asm) selection() reg.Register {
	if a.lanes == 16 {
		return a.K()
	}
	return a.YMM()
}

// zeroUnlessPositive sets r = 0 in the lanes where test ≤ 0, and returns these lanes. NaN counts as positive, so that
// it passes through a ReLU and is noticed.
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
