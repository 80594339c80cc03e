package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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

// operand reads one operand.
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

// truth returns the value of a predicate.
func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
