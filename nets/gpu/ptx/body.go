package ptx

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// variable is an array in shared memory.
type variable struct {
	align, bytes int
	dynamic      bool
}

// family is a run of registers that one directive declares: .reg .f32 %f<100>.
type family struct {
	first int32
	count int
}

// body is a kernel while it is read.
type body struct {
	kernel   *Kernel
	param    string // the name of the parameter
	shared   map[string]variable
	scopes   []map[string]int32 // the registers that a directive declares alone, innermost last
	families map[string]family  // by what stands before the number
	labels   map[string]int     // the instruction behind each
	pool     map[uint64]int32   // the constants so far
	closed   bool               // it has been read to its end
}

func newBody(k *Kernel, param string) *body {
	b := &body{
		kernel: k, param: param, shared: map[string]variable{}, families: map[string]family{},
		labels: map[string]int{}, pool: map[uint64]int32{},
	}
	for _, name := range specials {
		k.registers = append(k.registers, register{name, types["u32"]})
	}
	return b
}

// specials are the special registers that a kernel may read. Their numbers are their places here.
var specials = []string{"%tid.x", "%ntid.x", "%ctaid.x", "%ctaid.y", "%nctaid.x", "%nctaid.y"}

var (
	many = regexp.MustCompile(`^\.reg \.(\w+) (%\w+)<(\d{1,6})>$`)
	one  = regexp.MustCompile(`^\.reg \.(\w+) (%?\w+)$`)

	guarded = regexp.MustCompile(`^@(!?)(\S+) (.+)$`)
)

// declare reads a .reg directive.
func (b *body) declare(text string) error {
	m, count := many.FindStringSubmatch(text), 1
	if m != nil {
		count = number(m[3])
	} else if m = one.FindStringSubmatch(text); m == nil {
		return errors.New("unknown directive")
	}
	t, ok := types[m[1]]
	if !ok {
		return fmt.Errorf("unknown type .%s", m[1])
	}
	first := int32(len(b.kernel.registers))
	for i := range count {
		name := m[2]
		if len(m) == 4 {
			name = fmt.Sprint(m[2], i)
		}
		b.kernel.registers = append(b.kernel.registers, register{name, t})
	}
	if len(m) == 4 {
		b.families[m[2]] = family{first, count}
	} else {
		b.scopes[len(b.scopes)-1][m[2]] = first
	}
	return nil
}

// register returns the number of a register.
func (b *body) register(name string) (int32, bool) {
	for _, scope := range slices.Backward(b.scopes) {
		if n, ok := scope[name]; ok {
			return n, true
		}
	}
	kind := strings.TrimRight(name, "0123456789")
	if f, ok := b.families[kind]; ok && len(name) > len(kind) {
		i, err := strconv.Atoi(name[len(kind):])
		return f.first + int32(i), err == nil && i < f.count
	}
	n := slices.Index(specials, name)
	return int32(n), n >= 0
}

// label notes where a label stands.
func (b *body) label(name string) error {
	if _, twice := b.labels[name]; twice {
		return errors.New("declared twice")
	}
	b.labels[name] = len(b.kernel.Code)
	return nil
}

// instruction reads an instruction; what it means is decoded in finish, when all labels are known.
func (b *body) instruction(s statement) error {
	in := Instruction{Line: s.line, Text: s.text}
	rest := s.text
	if m := guarded.FindStringSubmatch(rest); m != nil {
		guard, err := b.operand(m[2])
		if err != nil {
			return err
		}
		in.guard, in.negate, rest = &guard, m[1] != "", m[3]
	}
	in.Opcode, rest, _ = strings.Cut(rest, " ")
	for _, text := range split(rest) {
		o, err := b.operand(text)
		if err != nil {
			return err
		}
		in.operands = append(in.operands, o)
	}
	b.kernel.Code = append(b.kernel.Code, in)
	return nil
}

// finish places the shared arrays that the kernel names and decodes its instructions.
func (b *body) finish() error {
	symbols := b.place()
	k := b.kernel
	for i := range k.Code {
		d := decoder{body: b, symbols: symbols, Instruction: &k.Code[i]}
		s, err := d.step()
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", d.Line, d.Text, err)
		}
		k.steps = append(k.steps, s)
	}
	return k.link()
}

// place gives an address to every symbol that the kernel names: arrays of a known size first, in the order in which
// the code names them, then dynamic shared memory.
func (b *body) place() map[string]uint64 {
	symbols := map[string]uint64{b.param: paramWindow}
	var dynamic []string
	for _, name := range b.named() {
		v, ok := b.shared[name]
		switch {
		case !ok:
		case v.dynamic:
			dynamic = append(dynamic, name)
		default:
			at := roundUp(b.kernel.Shared, v.align)
			symbols[name], b.kernel.Shared = uint64(at), at+v.bytes
		}
	}
	b.kernel.dynamic = roundUp(b.kernel.Shared, 128)
	for _, name := range dynamic {
		symbols[name] = uint64(b.kernel.dynamic)
	}
	return symbols
}

func (b *body) named() (names []string) {
	for _, in := range b.kernel.Code {
		for _, o := range in.operands {
			if o.symbol != "" && !slices.Contains(names, o.symbol) {
				names = append(names, o.symbol)
			}
		}
	}
	return names
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// operand is an operand as it is written, its registers looked up.
type operand struct {
	text     string
	register int32     // −1 where it is none
	symbol   string    // a variable, a parameter or a label
	memory   bool      // [register or symbol + offset]
	offset   int64     // of memory
	elements []operand // of {a, b}
}

var (
	literal = regexp.MustCompile(`^(-?\d+|0x[0-9a-fA-F]+|0f[0-9A-F]{8}|0d[0-9A-F]{16})$`)
	symbol  = regexp.MustCompile(`^[$A-Za-z_][$\w]*$`)
	address = regexp.MustCompile(`^\[([%$\w]+)(?:\+(-?\d+))?\]$`)
)

func (b *body) operand(text string) (o operand, err error) {
	o = operand{text: text, register: -1}
	if n, ok := b.register(text); ok {
		o.register = n
		return o, nil
	}
	if m := address.FindStringSubmatch(text); m != nil {
		if o, err = b.operand(m[1]); err == nil && m[2] != "" {
			o.offset, err = strconv.ParseInt(m[2], 10, 64)
		}
		o.text, o.memory = text, true
		return o, err
	}
	if strings.HasPrefix(text, "{") {
		for _, e := range split(strings.Trim(text, "{}")) {
			element, err := b.operand(e)
			if err != nil {
				return o, err
			}
			o.elements = append(o.elements, element)
		}
		return o, nil
	}
	switch {
	case literal.MatchString(text):
	case symbol.MatchString(text):
		o.symbol = text
	default:
		return o, fmt.Errorf("unknown operand %s", text)
	}
	return o, nil
}

// split cuts a list at its commas, those inside of braces apart.
func split(list string) (all []string) {
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			all = append(all, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	if rest := strings.TrimSpace(list[start:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

// immediate returns the bits of a literal as a value of type t.
func immediate(text string, t typ) (uint64, error) {
	switch {
	case strings.HasPrefix(text, "0f"), strings.HasPrefix(text, "0d"):
		v, err := strconv.ParseUint(text[2:], 16, 64)
		if t.kind != 'f' || len(text) != 2+t.bits/4 {
			err = fmt.Errorf("%s is no %v", text, t)
		}
		return v, err
	case t.kind == 'f':
		return 0, fmt.Errorf("%s is no %v", text, t)
	case t.kind == 'p':
		v, err := strconv.ParseInt(text, 0, 64)
		return truth(v != 0), err
	case text[0] == '-':
		v, err := strconv.ParseInt(text, 0, 64)
		if err == nil && v < -1<<(t.bits-1) {
			err = fmt.Errorf("%s is no %v", text, t)
		}
		return uint64(v) & t.mask(), err
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if err == nil && v > t.mask() {
		err = fmt.Errorf("%s is no %v", text, t)
	}
	return v, err
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
