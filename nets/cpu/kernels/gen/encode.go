package main

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Go's assembler has neither the instructions of AMX nor those of AVX512_BF16. The methods below add them to a function
// like any other instruction, and once avo has assigned the registers, encode turns them into BYTEs. The line of BYTEs
// ends in a comment with the instruction, which a test of package asm compares with what a disassembler reads.

// tile is a tile register, 0 to 7.
type tile byte

// operand returns the tile's name, in the guise of a label: avo knows no registers but its own.
func (t tile) operand() operand.Op { return operand.LabelRef(fmt.Sprintf("TMM%d", t)) }

// loadConfig gives the tiles the shapes that the 64 bytes at m say, and clears them.
func (a *asm) loadConfig(m operand.Mem) { a.encoded("LDTILECFG", nil, m) }

// tileRelease gives all tiles up.
func (a *asm) tileRelease() { a.encoded("TILERELEASE", nil) }

// tileZero clears a tile.
func (a *asm) tileZero(t tile) { a.encoded("TILEZERO", nil, t.operand()) }

// tileLoad loads a tile from rows that begin at the base of m, its index bytes apart.
func (a *asm) tileLoad(m operand.Mem, t tile) { a.encoded("TILELOADD", nil, m, t.operand()) }

// tileStore is the opposite of tileLoad.
func (a *asm) tileStore(t tile, m operand.Mem) { a.encoded("TILESTORED", nil, t.operand(), m) }

// tileMultiply adds the product of the tiles x and y to sum.
func (a *asm) tileMultiply(y, x, sum tile) {
	a.encoded("TDPBF16PS", nil, y.operand(), x.operand(), sum.operand())
}

// narrow rounds two registers of float32 to bfloat16: low to the lower half of r, high to the upper one.
func (a *asm) narrow(low, high, r reg.Register) { a.encoded("VCVTNE2PS2BF16", r, low, high, r) }

// dot adds to every sum the product of the upper halves of x and y, then that of the lower ones.
func (a *asm) dot(x, y, sum reg.Register) { a.encoded("VDPBF16PS", sum, x, y, sum) }

// dotBroadcast is dot with the 32 bits at x in every lane.
func (a *asm) dotBroadcast(x operand.Mem, y, sum reg.Register) {
	a.encoded("VDPBF16PS.BCST", sum, x, y, sum)
}

// encoded adds an instruction that encode knows. output is the register that it writes, its
// last operand, if that is no tile.
func (a *asm) encoded(opcode string, output reg.Register, ops ...operand.Op) {
	i := &ir.Instruction{Opcode: opcode, Operands: ops, Inputs: ops}
	if output != nil {
		i.Outputs = []operand.Op{output}
		if !opcodes[opcode].adds {
			i.Inputs = ops[:len(ops)-1]
		}
	}
	a.Instruction(i)
}

// The prefixes that are part of an opcode, as VEX and EVEX number them.
const (
	prefixNone = iota
	prefix66
	prefixF3
	prefixF2
)

// opcodes holds the prefix and the byte of the instructions that encode knows, and whether they read the register that
// they write.
var opcodes = map[string]struct {
	prefix, code byte
	adds         bool
}{
	"LDTILECFG":      {prefix: prefixNone, code: 0x49},
	"TILERELEASE":    {prefix: prefixNone, code: 0x49},
	"TILEZERO":       {prefix: prefixF2, code: 0x49},
	"TILELOADD":      {prefix: prefixF2, code: 0x4b},
	"TILESTORED":     {prefix: prefixF3, code: 0x4b},
	"TDPBF16PS":      {prefix: prefixF3, code: 0x5c},
	"VCVTNE2PS2BF16": {prefix: prefixF2, code: 0x72},
	"VDPBF16PS":      {prefix: prefixF3, code: 0x52, adds: true},
	"VDPBF16PS.BCST": {prefix: prefixF3, code: 0x52, adds: true},
}

// encode replaces the instructions that Go's assembler lacks by BYTEs. It must run behind the assignment of registers.
func encode(f *ir.File) error {
	for _, fn := range f.Functions() {
		for _, i := range fn.Instructions() {
			op, ok := opcodes[i.Opcode]
			if !ok {
				continue
			}
			c := code{prefix: op.prefix, opcode: op.code}
			switch o := i.Operands; i.Opcode {
			case "LDTILECFG":
				c.memory(o[0].(operand.Mem))
			case "TILERELEASE":
			case "TILEZERO":
				c.reg = number(o[0])
			case "TILELOADD":
				c.reg = number(o[1])
				c.memory(o[0].(operand.Mem))
			case "TILESTORED":
				c.reg = number(o[0])
				c.memory(o[1].(operand.Mem))
			case "VDPBF16PS.BCST":
				c.memory(o[0].(operand.Mem))
				c.second, c.reg, c.size, c.broadcast = number(o[1]), number(o[2]), size(o[2]), true
			default:
				c.second, c.rm, c.reg = number(o[0]), number(o[1]), number(o[2])
				if c.size = size(o[2]); c.size > 0 { // the other way round
					c.second, c.rm = c.rm, c.second
				}
			}
			line := make([]string, 0, 8)
			for _, b := range c.bytes() {
				line = append(line, fmt.Sprintf("BYTE $0x%02x", b))
			}
			var ops []string
			for _, o := range i.Operands {
				ops = append(ops, o.Asm())
			}
			i.Opcode = strings.TrimSpace(strings.Join(line, "; ") + " // " + i.Opcode + " " + strings.Join(ops, ", "))
			i.Operands = nil
		}
	}
	return nil
}

// number returns the number of a register in the encoding.
func number(op operand.Op) byte {
	if name, ok := op.(operand.LabelRef); ok { // a tile
		return name[len(name)-1] - '0'
	}
	return byte(op.(reg.Physical).PhysicalIndex())
}

// size returns the bytes of a vector register, 0 for a tile.
func size(op operand.Op) byte {
	if v, ok := op.(reg.Physical); ok {
		return byte(v.Size())
	}
	return 0
}

// code is one instruction with a VEX prefix or, if size is 32 or 64, with an EVEX prefix for registers of so many
// bytes. All belong to the opcode map 0F38, and have W = 0.
type code struct {
	prefix, opcode  byte
	size            byte
	reg, rm, second byte         // ModRM.reg, ModRM.rm and vvvv
	mem             *operand.Mem // in place of rm
	broadcast       bool         // whether mem is 32 bits for every lane
}

// memory makes m the operand in place of the register rm.
func (c *code) memory(m operand.Mem) { c.mem = &m }

// bytes returns the machine code.
func (c code) bytes() []byte {
	const map0F38 = 2
	inverted := func(set byte, to int) byte { return (^set & 1) << to }
	modRM := []byte{3<<6 | c.reg&7<<3 | c.rm&7}
	x, b := c.rm>>4, c.rm>>3 // the high bits of rm, or of index and base
	if c.mem != nil {
		modRM, x, b = c.address()
	}
	r, broadcast := c.reg>>3, byte(0)
	if c.broadcast {
		broadcast = 1 << 4
	}
	if c.size > 0 {
		return append([]byte{
			0x62,
			inverted(r, 7) | inverted(x, 6) | inverted(b, 5) | inverted(c.reg>>4, 4) | map0F38,
			^c.second&15<<3 | 1<<2 | c.prefix,
			c.size/32<<5 | broadcast | inverted(c.second>>4, 3),
			c.opcode,
		}, modRM...)
	}
	return append([]byte{
		0xc4,
		inverted(r, 7) | inverted(x, 6) | inverted(b, 5) | map0F38,
		^c.second&15<<3 | c.prefix,
		c.opcode,
	}, modRM...)
}

// address returns ModRM and what follows it for an operand in memory, and the high bits of index and base.
func (c code) address() (modRM []byte, x, b byte) {
	base, disp := number(c.mem.Base), c.mem.Disp
	if c.broadcast { // EVEX counts in numbers
		disp /= 4
	}
	mod, behind := byte(0), []byte(nil)
	switch {
	case disp == 0 && base&7 != 5:
	case int(int8(disp)) == disp:
		mod, behind = 1, []byte{byte(disp)}
	default:
		panic(fmt.Sprintf("displacement %d, want a byte", disp)) // a mistake in this generator
	}
	const withSIB = 4
	if c.mem.Index == nil && base&7 != withSIB {
		return append([]byte{mod<<6 | c.reg&7<<3 | base&7}, behind...), 0, base >> 3
	}
	index, scale := byte(4), byte(0) // none
	if c.mem.Index != nil {
		index, scale = number(c.mem.Index), byte(bits.TrailingZeros8(c.mem.Scale))
	}
	sib := scale<<6 | index&7<<3 | base&7
	return append([]byte{mod<<6 | c.reg&7<<3 | withSIB, sib}, behind...), index >> 3, base >> 3
}
