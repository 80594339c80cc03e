package ptx

import "fmt"

// Module is a parsed PTX text.
type Module struct {
	Kernels []*Kernel // in the order of the text
}

// Kernel returns the kernel of a name, or nil if the module has none.
func (m *Module) Kernel(name string) *Kernel {
	for _, k := range m.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Kernel is an entry of a module. It is not changed by running it, so several launches of it may run at once.
type Kernel struct {
	Name     string
	Code     []Instruction // in the order of the text, over all labels
	Params   int           // bytes of arguments
	Shared   int           // bytes of shared memory besides the dynamic ones
	Threads  int           // the most in a block, of .maxntid; 0: the text does not say
	Resident int           // blocks that a multiprocessor should hold, of .minnctapersm; 1: the text does not say

	dynamic   int        // where dynamic shared memory starts
	registers []register // their numbers are those of lanes in a warp
	constants []lanes    // the immediate operands; constant i has the register number ^i
	steps     []step     // what Code does
}

// Instruction is one instruction of a kernel.
type Instruction struct {
	Line   int    // in the text of the module, from 1
	Text   string // as written, with its guard and without its semicolon
	Opcode string // with all modifiers, such as "ld.shared.v4.f32"

	guard    *operand // the predicate that lets it run, or with negate, that keeps it from running; nil: it always runs
	negate   bool
	operands []operand
}

// register is a virtual register.
type register struct {
	name string
	typ  typ
}

type typ struct {
	kind byte // 'p' predicate, 'b' bits, 'u' unsigned, 's' signed, 'f' floating point
	bits int  // 1 of a predicate
}

func (t typ) String() string {
	if t.kind == 'p' {
		return ".pred"
	}
	return fmt.Sprintf(".%c%d", t.kind, t.bits)
}

// mask has the bits of a value of the type.
func (t typ) mask() uint64 { return 1<<t.bits - 1 }

// types are the types that instructions and registers may have.
var types = map[string]typ{
	"pred": {'p', 1},
	"b8":   {'b', 8}, "b16": {'b', 16}, "b32": {'b', 32}, "b64": {'b', 64},
	"u8": {'u', 8}, "u16": {'u', 16}, "u32": {'u', 32}, "u64": {'u', 64},
	"s8": {'s', 8}, "s16": {'s', 16}, "s32": {'s', 32}, "s64": {'s', 64},
	"f32": {'f', 32}, "f64": {'f', 64},
}

// fits reports whether a register may be an operand of type t: the sizes must agree, and so must the kinds, unless one
// has the kind b or both are integers.
func (r register) fits(t typ) bool { return r.typ.bits == t.bits && r.holds(t) }

// holds is fits, but the register may be wider, as loads, stores and conversions allow.
func (r register) holds(t typ) bool {
	switch {
	case r.typ.kind == 'p' || t.kind == 'p':
		return r.typ.kind == t.kind
	case r.typ.kind == 'f' || t.kind == 'f':
		return r.typ.bits == t.bits && (r.typ.kind == t.kind || r.typ.kind == 'b' || t.kind == 'b')
	}
	return r.typ.bits >= t.bits
}
