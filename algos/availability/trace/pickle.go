package trace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The opcodes of Python's pickles (docs.python.org/3/library/pickletools.html) that build dictionaries, lists, numbers
// and texts. All others, with which a pickle calls functions, are refused.
const (
	opProto  = 0x80
	opFrame  = 0x95
	opStop   = '.'
	opMark   = '('
	opNone   = 'N'
	opTrue   = 0x88
	opFalse  = 0x89
	opInt    = 'I'
	opLong   = 'L'
	opInt4   = 'J'
	opInt1   = 'K'
	opInt2   = 'M'
	opLong1  = 0x8a
	opLong4  = 0x8b
	opFloat  = 'F'
	opFloat8 = 'G'

	opString   = 'S'
	opString4  = 'T'
	opString1  = 'U'
	opUnicode  = 'V'
	opUnicode4 = 'X'
	opUnicode1 = 0x8c
	opUnicode8 = 0x8d

	opDict      = 'd'
	opEmptyDict = '}'
	opSetItem   = 's'
	opSetItems  = 'u'
	opList      = 'l'
	opEmptyList = ']'
	opAppend    = 'a'
	opAppends   = 'e'

	opPut     = 'p'
	opPut1    = 'q'
	opPut4    = 'r'
	opMemoize = 0x94
	opGet     = 'g'
	opGet1    = 'h'
	opGet4    = 'j'
)

// refused names opcodes that people meet in pickles of other things.
var refused = map[byte]string{
	'c': "GLOBAL", 0x93: "STACK_GLOBAL", 'R': "REDUCE", 'b': "BUILD", 'i': "INST", 'o': "OBJ", 0x81: "NEWOBJ",
	0x92: "NEWOBJ_EX", 'P': "PERSID", 'Q': "BINPERSID", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 't': "TUPLE",
	0x85: "TUPLE1", 0x86: "TUPLE2", 0x87: "TUPLE3", ')': "EMPTY_TUPLE", 'B': "BINBYTES", 'C': "SHORT_BINBYTES",
	0x8e: "BINBYTES8", 0x8f: "EMPTY_SET", 0x90: "ADDITEMS", 0x91: "FROZENSET", 0x96: "BYTEARRAY8", '0': "POP",
	'1': "POP_MARK", '2': "DUP", 0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
}

// Bounds of a pickle. Each byte of a file makes at most one value; a container, or an entry of the
// memo, counts as four more, and a text as two.
const (
	mostValues = 1 << 24 // FedScale's trace of 107,749 devices counts some 10 million
	mostItems  = 1 << 22 // values in a list, or keys and values in a dictionary
	mostText   = 1 << 16 // bytes of a text, or of a line of protocol 0
	mostStack  = 1 << 18 // values on the stack: Python fills containers by 1000
	mostMarks  = 1 << 10 // containers in containers
)

// kind is the type of a value of a pickle.
type kind uint8

const (
	kindNone kind = iota
	kindBool
	kindInt
	kindFloat
	kindText
	kindList
	kindDict
)

func (k kind) String() string {
	return [...]string{"None", "a bool", "an int", "a float", "a text", "a list", "a dict"}[k]
}

// value is a value of a pickle: an integer, the bits of a float, or where a text, a list or a dictionary is.
type value struct {
	kind kind
	n    int64
}

// number returns a value that is an int or a float.
func (v value) number() (float64, bool) {
	switch v.kind {
	case kindInt:
		return float64(v.n), true
	case kindFloat:
		return math.Float64frombits(uint64(v.n)), true
	}
	return 0, false
}

// pickle is what a pickle builds. Dictionaries and lists refer to values by number, so that one that holds itself is
// no endless structure here.
type pickle struct {
	texts []string
	lists [][]value
	dicts [][]value // keys and values in turn; a key may be there twice, and the last one counts

	in     *bufio.Reader
	offset int64 // bytes read
	stack  []value
	marks  []int // where on the stack the marks are
	memo   map[uint32]value
	values int
	buf    []byte
}

var (
	errStack = errors.New("the stack lacks what it takes: damaged, or no pickle")
	errLong  = fmt.Errorf("a text of more than %d bytes", mostText)
)

// readPickle reads a pickle, and returns what it is of.
func readPickle(r io.Reader) (*pickle, value, error) {
	p := &pickle{in: bufio.NewReaderSize(r, 1<<16), memo: map[uint32]value{}}
	for {
		at := p.offset
		op, err := p.byte()
		if err == nil && op == opStop {
			if len(p.stack) != 1 || len(p.marks) != 0 {
				return nil, value{}, fmt.Errorf("byte %d: STOP with %d values, want 1", at, len(p.stack))
			}
			return p, p.stack[0], nil
		}
		if err == nil {
			err = p.do(op)
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, value{}, fmt.Errorf("byte %d: the file ends, want more: cut off?", p.offset)
		case err != nil:
			return nil, value{}, fmt.Errorf("byte %d: opcode %s: %w", at, opName(op), err)
		}
	}
}

func opName(op byte) string {
	if name := refused[op]; name != "" {
		return fmt.Sprintf("0x%02x (%s)", op, name)
	}
	return fmt.Sprintf("0x%02x", op)
}

// do executes an opcode.
func (p *pickle) do(op byte) error {
	switch op {
	case opProto:
		version, err := p.byte()
		if err == nil && version > 5 {
			err = fmt.Errorf("protocol %d, want 0 to 5", version)
		}
		return err
	case opFrame:
		_, err := p.bytes(8)
		return err
	case opMark:
		if len(p.marks) >= mostMarks {
			return fmt.Errorf("more than %d containers in each other, want fewer", mostMarks)
		}
		p.marks = append(p.marks, len(p.stack))
		return nil
	case opNone:
		return p.push(value{kind: kindNone})
	case opTrue:
		return p.push(value{kindBool, 1})
	case opFalse:
		return p.push(value{kindBool, 0})
	case opInt, opLong, opInt1, opInt2, opInt4, opLong1, opLong4, opFloat, opFloat8:
		v, err := p.number(op)
		if err != nil {
			return err
		}
		return p.push(v)
	case opString, opUnicode, opString1, opUnicode1, opString4, opUnicode4, opUnicode8:
		text, err := p.text(op)
		if err != nil {
			return err
		}
		p.texts = append(p.texts, text)
		if err := p.count(2); err != nil {
			return err
		}
		return p.push(value{kindText, int64(len(p.texts) - 1)})
	case opEmptyList, opEmptyDict, opList, opDict:
		return p.container(op)
	case opAppend, opAppends, opSetItem, opSetItems:
		return p.fill(op)
	case opPut, opPut1, opPut4, opMemoize:
		return p.put(op)
	case opGet, opGet1, opGet4:
		index, err := p.index(op)
		if err != nil {
			return err
		}
		v, known := p.memo[index]
		if !known {
			return fmt.Errorf("memo has no entry %d", index)
		}
		return p.push(v)
	}
	return errors.New("want dicts, lists, numbers and texts alone (nothing of a pickle is executed)")
}

var errMany = fmt.Errorf("more than %d values, want fewer", mostValues)

func (p *pickle) count(values int) error {
	if p.values += values; p.values > mostValues {
		return errMany
	}
	return nil
}

func (p *pickle) push(v value) error {
	if len(p.stack) >= mostStack {
		return fmt.Errorf("more than %d values on the stack, want fewer", mostStack)
	}
	p.stack = append(p.stack, v)
	return p.count(1)
}

// top is where the values above the last mark begin.
func (p *pickle) top() int {
	if len(p.marks) == 0 {
		return 0
	}
	return p.marks[len(p.marks)-1]
}

// popMark returns the values above the last mark, which stay valid until the next push.
func (p *pickle) popMark() ([]value, error) {
	if len(p.marks) == 0 {
		return nil, errStack
	}
	at := p.top()
	p.marks = p.marks[:len(p.marks)-1]
	values := p.stack[at:]
	p.stack = p.stack[:at]
	return values, nil
}

func (p *pickle) container(op byte) (err error) {
	var values []value
	if op == opList || op == opDict {
		if values, err = p.popMark(); err != nil {
			return err
		}
		values = append([]value(nil), values...)
	}
	if err := p.count(4); err != nil {
		return err
	}
	if op == opList || op == opEmptyList {
		p.lists = append(p.lists, values)
		return p.push(value{kindList, int64(len(p.lists) - 1)})
	}
	if len(values)%2 != 0 {
		return errStack
	}
	p.dicts = append(p.dicts, values)
	return p.push(value{kindDict, int64(len(p.dicts) - 1)})
}

// fill moves the values above a mark, the last one or the last two, into the container below them.
func (p *pickle) fill(op byte) (err error) {
	var values []value
	switch op {
	case opAppends, opSetItems:
		if values, err = p.popMark(); err != nil {
			return err
		}
	default:
		count := 1
		if op == opSetItem {
			count = 2
		}
		at := len(p.stack) - count
		if at < p.top() {
			return errStack
		}
		values, p.stack = p.stack[at:], p.stack[:at]
	}
	if len(p.stack) <= p.top() {
		return errStack
	}
	into := p.stack[len(p.stack)-1]
	if into.kind == kindList && len(p.lists[into.n]) > mostItems ||
		into.kind == kindDict && len(p.dicts[into.n]) > mostItems {
		return fmt.Errorf("%s of more than %d values, want fewer", into.kind, mostItems)
	}
	switch {
	case (op == opAppend || op == opAppends) && into.kind == kindList:
		p.lists[into.n] = append(p.lists[into.n], values...)
	case (op == opSetItem || op == opSetItems) && into.kind == kindDict && len(values)%2 == 0:
		p.dicts[into.n] = append(p.dicts[into.n], values...)
	default:
		return errStack
	}
	return nil
}

func (p *pickle) put(op byte) error {
	index := uint32(len(p.memo))
	if op != opMemoize {
		var err error
		if index, err = p.index(op); err != nil {
			return err
		}
	}
	if len(p.stack) <= p.top() {
		return errStack
	}
	p.memo[index] = p.stack[len(p.stack)-1]
	return p.count(4)
}

// index reads the number of an entry of the memo.
func (p *pickle) index(op byte) (uint32, error) {
	switch op {
	case opPut, opGet:
		line, err := p.line()
		if err != nil {
			return 0, err
		}
		index, err := strconv.ParseUint(line, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("memo entry %.80q, want a number", line)
		}
		return uint32(index), nil
	case opPut1, opGet1:
		index, err := p.byte()
		return uint32(index), err
	}
	raw, err := p.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(raw), nil
}

// number reads the argument of an opcode of a number.
func (p *pickle) number(op byte) (value, error) {
	switch op {
	case opInt, opLong, opFloat:
		line, err := p.line()
		if err != nil {
			return value{}, err
		}
		if op == opInt && (line == "00" || line == "01") {
			return value{kindBool, int64(line[1] - '0')}, nil
		}
		if op == opFloat {
			x, err := strconv.ParseFloat(line, 64)
			if err != nil {
				return value{}, fmt.Errorf("%.80q, want a float", line)
			}
			return value{kindFloat, int64(math.Float64bits(x))}, nil
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(line, "L"), 10, 64)
		if err != nil {
			return value{}, fmt.Errorf("%.80q, want an integer of 64 bits", line)
		}
		return value{kindInt, n}, nil
	case opInt1:
		b, err := p.byte()
		return value{kindInt, int64(b)}, err
	case opInt2:
		raw, err := p.bytes(2)
		return value{kindInt, int64(binary.LittleEndian.Uint16(raw))}, err
	case opInt4:
		raw, err := p.bytes(4)
		return value{kindInt, int64(int32(binary.LittleEndian.Uint32(raw)))}, err
	case opFloat8:
		raw, err := p.bytes(8)
		return value{kindFloat, int64(binary.BigEndian.Uint64(raw))}, err
	}
	size, err := p.length(op)
	if err != nil {
		return value{}, err
	}
	if size > 8 {
		return value{}, fmt.Errorf("an integer of %d bytes, want at most 8", size)
	}
	raw, err := p.bytes(int(size))
	if err != nil || size == 0 {
		return value{kind: kindInt}, err
	}
	n := int64(int8(raw[size-1])) // with the sign
	for k := int(size) - 2; k >= 0; k-- {
		n = n<<8 | int64(raw[k])
	}
	return value{kindInt, n}, nil
}

// length reads the length of what follows.
func (p *pickle) length(op byte) (uint64, error) {
	switch op {
	case opLong1, opString1, opUnicode1:
		b, err := p.byte()
		return uint64(b), err
	case opUnicode8:
		raw, err := p.bytes(8)
		return binary.LittleEndian.Uint64(raw), err
	}
	raw, err := p.bytes(4)
	return uint64(binary.LittleEndian.Uint32(raw)), err
}

// text reads the argument of an opcode of a text.
func (p *pickle) text(op byte) (string, error) {
	switch op {
	case opUnicode:
		line, err := p.line()
		if err != nil {
			return "", err
		}
		return latin(line), nil
	case opString:
		line, err := p.line()
		if err != nil {
			return "", err
		}
		if len(line) < 2 || line[0] != line[len(line)-1] || line[0] != '\'' && line[0] != '"' {
			return "", fmt.Errorf("%.80q, want a text in quotes", line)
		}
		return unescaped(line[1 : len(line)-1]), nil
	}
	size, err := p.length(op)
	if err != nil {
		return "", err
	}
	if size > mostText {
		return "", fmt.Errorf("a text of %d bytes, want at most %d", size, mostText)
	}
	raw, err := p.bytes(int(size))
	return string(raw), err
}

// latin returns a text of Python's codec raw-unicode-escape: a byte is a character of Latin-1, and others are written
// as \u and \U.
func latin(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		if strings.HasPrefix(rest, `\u`) || strings.HasPrefix(rest, `\U`) {
			if r, _, tail, err := strconv.UnquoteChar(rest, 0); err == nil {
				b.WriteRune(r)
				rest = tail
				continue
			}
		}
		b.WriteRune(rune(rest[0]))
		rest = rest[1:]
	}
	return b.String()
}

// unescaped undoes the escapes of a text in quotes of Python 2, as far as they are those of Go too.
func unescaped(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		if quote := rest[min(1, len(rest)-1)]; rest[0] == '\\' && (quote == '\'' || quote == '"') {
			rest = rest[1:]
		} else if r, _, tail, err := strconv.UnquoteChar(rest, 0); err == nil && rest[0] == '\\' {
			b.WriteRune(r)
			rest = tail
			continue
		}
		b.WriteByte(rest[0])
		rest = rest[1:]
	}
	return b.String()
}

func (p *pickle) byte() (byte, error) {
	b, err := p.in.ReadByte()
	if err == nil {
		p.offset++
	}
	return b, err
}

// bytes returns the next bytes, at most [mostText], until the next call. They are there even with an error.
func (p *pickle) bytes(count int) ([]byte, error) {
	if cap(p.buf) < count {
		p.buf = make([]byte, max(count, 64))
	}
	read, err := io.ReadFull(p.in, p.buf[:count])
	p.offset += int64(read)
	return p.buf[:count], err
}

// line returns the text up to the next line break.
func (p *pickle) line() (string, error) {
	p.buf = p.buf[:0]
	for {
		b, err := p.byte()
		switch {
		case err != nil:
			return "", err
		case b == '\n':
			return strings.TrimSuffix(string(p.buf), "\r"), nil
		case len(p.buf) >= mostText:
			return "", errLong
		}
		p.buf = append(p.buf, b)
	}
}
