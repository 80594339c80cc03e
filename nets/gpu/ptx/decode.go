package ptx

import (
	"errors"
	"fmt"
	"strings"
)

// errUnknown is for an instruction, or a form of one, that the package does not know.
var errUnknown = errors.New("unknown instruction")

// decoder turns one instruction into a step.
type decoder struct {
	*body
	*Instruction
	symbols map[string]uint64 // addresses of shared arrays and of the parameter
}

// action is what an instruction does for the lanes of a warp that are in the mask. It notes a fault in the warp.
type action func(w *warp, mask uint32)

type step struct {
	kind   kind
	guard  int32 // the register; −1: none
	negate bool  // it runs where the guard is false
	run    action
	target int // of a branch
	join   int // of a branch: where the lanes that part here meet again
}

type kind uint8

const (
	plain   kind = iota // what run does
	branch              // goes to target
	exit                // ends the lanes
	barrier             // waits for all warps of the block
)

// forms are the instructions that are not one function of their operands, by the beginning of their opcode.
var forms = []struct {
	prefix string
	decode func(d *decoder) (action, error)
}{
	{"ld.", (*decoder).load},
	{"st.", (*decoder).store},
	{"cp.async.commit_group", (*decoder).commit},
	{"cp.async.wait_group", (*decoder).wait},
	{"cp.async.", (*decoder).copyAsync},
	{"ldmatrix.", (*decoder).loadMatrix},
	{"mma.", (*decoder).multiply},
	{"shfl.", (*decoder).shuffle},
}

func (d *decoder) step() (s step, err error) {
	s.guard, s.negate = -1, d.negate
	if d.guard != nil {
		if s.guard, err = d.destination(*d.guard, types["pred"], false); err != nil {
			return s, err
		}
	}
	switch d.Opcode {
	case "bra", "bra.uni":
		s.kind = branch
		s.target, err = d.label()
		return s, err
	case "ret":
		s.kind = exit
		return s, d.count(0)
	case "bar.sync":
		s.kind = barrier
		if len(d.operands) != 1 || d.operands[0].text != "0" {
			return s, errUnknown
		}
		return s, nil
	}
	s.run, err = d.action()
	return s, err
}

// action decodes an instruction that goes on with the next one.
func (d *decoder) action() (action, error) {
	if op, ok := operations[d.Opcode]; ok {
		if len(d.operands) == 2 && (len(d.operands[0].elements) > 0 || len(d.operands[1].elements) > 0) {
			return d.pack()
		}
		return d.operation(op)
	}
	for _, f := range forms {
		if strings.HasPrefix(d.Opcode, f.prefix) {
			return f.decode(d)
		}
	}
	return nil, errUnknown
}

// operation decodes a function of the operands.
func (d *decoder) operation(op operation) (action, error) {
	if err := d.count(len(op.types)); err != nil {
		return nil, err
	}
	wider := strings.HasPrefix(d.Opcode, "cvt.")
	var at [4]int32
	for i, t := range op.types {
		var err error
		if i == 0 {
			at[0], err = d.destination(d.operands[0], t, false)
		} else {
			at[i], err = d.value(d.operands[i], t, wider)
		}
		if err != nil {
			return nil, err
		}
	}
	for i := len(op.types); i < len(at); i++ {
		at[i] = at[1] // an operand that f does not read
	}
	return apply(op, at, d.Opcode), nil
}

func (d *decoder) label() (int, error) {
	if err := d.count(1); err != nil {
		return 0, err
	}
	at, ok := d.labels[d.operands[0].symbol]
	if !ok {
		return 0, errors.New("no such label")
	}
	return at, nil
}

// count demands a number of operands.
func (d *decoder) count(n int) error {
	if len(d.operands) != n {
		return fmt.Errorf("%d operands, want %d", len(d.operands), n)
	}
	return nil
}

// destination returns the register that an operand names, which must be of type t, or may be wider. It is none of the
// special registers.
func (d *decoder) destination(o operand, t typ, wider bool) (int32, error) {
	if o.register < 0 || o.memory || int(o.register) < len(specials) {
		return 0, fmt.Errorf("%s is no register that the kernel declares", o.text)
	}
	return o.register, d.check(o, t, wider)
}

func (d *decoder) check(o operand, t typ, wider bool) error {
	r := d.kernel.registers[o.register]
	if r.fits(t) || wider && r.holds(t) {
		return nil
	}
	return fmt.Errorf("%s is %v, want %v", o.text, r.typ, t)
}

// value returns the register, or the constant, that an operand of type t names.
func (d *decoder) value(o operand, t typ, wider bool) (int32, error) {
	switch {
	case o.memory || len(o.elements) > 0:
		return 0, fmt.Errorf("%s is no value", o.text)
	case o.register >= 0:
		return o.register, d.check(o, t, wider)
	case o.symbol != "":
		at, ok := d.symbols[o.symbol]
		if !ok || t.bits < 32 || at > t.mask() || t.kind == 'f' {
			return 0, fmt.Errorf("%s is no symbol whose address is %v", o.symbol, t)
		}
		return d.constant(at), nil
	}
	v, err := immediate(o.text, t)
	return d.constant(v), err
}

func (d *decoder) constant(v uint64) int32 {
	n, ok := d.pool[v]
	if !ok {
		n = ^int32(len(d.kernel.constants))
		d.pool[v] = n
		var all lanes
		for i := range all {
			all[i] = v
		}
		d.kernel.constants = append(d.kernel.constants, all)
	}
	return n
}

// vector returns the operands of {a, b}, or the operand itself where n is 1.
func (d *decoder) vector(o operand, n int) ([]operand, error) {
	all := o.elements
	if n == 1 && all == nil {
		all = []operand{o}
	}
	if len(all) != n {
		return nil, fmt.Errorf("%s has %d elements, want %d", o.text, len(all), n)
	}
	return all, nil
}
