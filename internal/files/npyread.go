package files

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

// NPYReader reads a NumPy .npy file of numbers: first its header, then its elements in the order of the file.
//
//	npy, err := files.NewNPYReader(f)
//	x := make([]float64, npy.Len())
//	err = npy.Read(x)
type NPYReader struct {
	Type    string // NumPy's name of the type of an element, such as <f4
	Fortran bool   // the elements are in Fortran order: the first index changes fastest
	Shape   []int

	in     *bufio.Reader
	offset int64 // bytes read
	size   int   // bytes of an element
	number func([]byte) float64
	buf    []byte
}

// mostNPYHeader bounds the header of an .npy file: NumPy itself refuses to read more than 10,000 bytes unasked.
const mostNPYHeader = 1 << 16

// NewNPYReader reads the header of an .npy file of version 1, 2 or 3. The elements may be bool, or integers and floats
// of up to 8 bytes, in both byte orders. Errors name the place by its byte.
func NewNPYReader(r io.Reader) (*NPYReader, error) {
	n := &NPYReader{in: bufio.NewReaderSize(r, 1<<16)}
	lead, err := n.bytes(8)
	if err != nil {
		return nil, err
	}
	if string(lead[:6]) != npyMagic[:6] {
		return nil, fmt.Errorf("byte 0: %q, want %q as .npy files begin", lead[:6], npyMagic[:6])
	}
	version, width := lead[6], 4
	switch version {
	case 1:
		width = 2
	case 2, 3:
	default:
		return nil, fmt.Errorf("byte 6: version %d, want 1 to 3", version)
	}
	field, err := n.bytes(width)
	if err != nil {
		return nil, err
	}
	length := uint32(binary.LittleEndian.Uint16(field))
	if width == 4 {
		length = binary.LittleEndian.Uint32(field)
	}
	if length > mostNPYHeader {
		return nil, fmt.Errorf("byte 8: header of %d bytes, want at most %d", length, mostNPYHeader)
	}
	at := n.offset
	text, err := n.bytes(int(length))
	if err != nil {
		return nil, err
	}
	if err := n.header(string(text)); err != nil {
		return nil, fmt.Errorf("byte %d: %w", at, err)
	}
	return n, nil
}

// Len returns the number of elements.
func (n *NPYReader) Len() int {
	count := 1
	for _, d := range n.Shape {
		count *= d
	}
	return count
}

// Read sets x to the next elements. Integers beyond 2^53 are rounded.
func (n *NPYReader) Read(x []float64) error {
	for len(x) > 0 {
		count := min(len(x), npyChunk)
		raw, err := n.bytes(count * n.size)
		if err != nil {
			return err
		}
		for i := range count {
			x[i] = n.number(raw[i*n.size:])
		}
		x = x[count:]
	}
	return nil
}

// ReadBytes sets p to the next elements of an array whose elements have one byte.
func (n *NPYReader) ReadBytes(p []byte) error {
	read, err := io.ReadFull(n.in, p)
	n.offset += int64(read)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("byte %d: the file ends, want %s more", n.offset, Count(len(p)-read, "byte"))
	}
	return err
}

// Size returns the bytes of an element.
func (n *NPYReader) Size() int { return n.size }

// End returns an error if anything follows the elements that were read.
func (n *NPYReader) End() error {
	switch _, err := n.in.ReadByte(); {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case err == nil:
		return fmt.Errorf("byte %d: more after the last of %s, want the end", n.offset, Count(n.Len(), "element"))
	}
	return nil
}

// bytes returns the next bytes of the file, until the next call.
func (n *NPYReader) bytes(count int) ([]byte, error) {
	if cap(n.buf) < count {
		n.buf = make([]byte, count)
	}
	return n.buf[:count], n.ReadBytes(n.buf[:count])
}

// header reads the dictionary of the header: a literal of Python with the keys descr, fortran_order and shape.
func (n *NPYReader) header(text string) error {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	seen := map[string]bool{}
	for ok {
		rest = strings.TrimLeft(rest, " \t\n,")
		if strings.HasPrefix(rest, "}") {
			break
		}
		var key, value string
		if key, rest, ok = pythonString(rest); !ok || seen[key] {
			return fmt.Errorf("header %.80q, want descr, fortran_order and shape, each once", text)
		}
		seen[key] = true
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), ":"); !ok {
			break
		}
		rest = strings.TrimLeft(rest, " ")
		switch key {
		case "descr":
			if value, rest, ok = pythonString(rest); !ok {
				return fmt.Errorf("type %.80q, want one number an element", rest)
			}
			if err := n.setType(value); err != nil {
				return err
			}
		case "fortran_order":
			if rest, ok = strings.CutPrefix(rest, "False"); !ok {
				rest, n.Fortran = strings.CutPrefix(rest, "True")
				ok = n.Fortran
			}
		case "shape":
			if rest, ok = strings.CutPrefix(rest, "("); !ok {
				break
			}
			if value, rest, ok = strings.Cut(rest, ")"); ok {
				if err := n.setShape(value); err != nil {
					return err
				}
			}
		default:
			ok = false
		}
	}
	if !ok || len(seen) != 3 {
		return fmt.Errorf("header %.80q, want descr, fortran_order and shape, each once", text)
	}
	return nil
}

// pythonString cuts a string in quotes without escapes from a text.
func pythonString(text string) (value, rest string, ok bool) {
	if text == "" || text[0] != '\'' && text[0] != '"' {
		return "", text, false
	}
	if value, rest, ok = strings.Cut(text[1:], text[:1]); !ok {
		return "", text, false
	}
	return value, rest, true
}

// mostElements bounds the elements of an .npy file, so that their number in bytes is an int.
const mostElements = 1 << 40

func (n *NPYReader) setShape(tuple string) error {
	count := 1
	for dim := range strings.SplitSeq(tuple, ",") {
		dim = strings.TrimSuffix(strings.TrimSpace(dim), "L") // Python 2 wrote 3L
		if dim == "" {
			continue
		}
		d, err := strconv.Atoi(dim)
		if err != nil || d < 0 || d > mostElements || count > mostElements/max(d, 1) {
			return fmt.Errorf("shape (%.80s), want whole numbers, and at most 2^40 elements", tuple)
		}
		count *= d
		n.Shape = append(n.Shape, d)
	}
	return nil
}

// setType sets how an element is read.
func (n *NPYReader) setType(descr string) error {
	var order binary.ByteOrder = binary.LittleEndian
	kind := descr
	if descr != "" && strings.Contains("<>|=", descr[:1]) {
		kind = descr[1:]
		if descr[0] == '>' {
			order = binary.BigEndian
		}
	}
	n.Type = descr
	switch kind {
	case "?", "b1":
		n.size, n.number = 1, func(b []byte) float64 { return float64(min(b[0], 1)) }
	case "u1":
		n.size, n.number = 1, func(b []byte) float64 { return float64(b[0]) }
	case "i1":
		n.size, n.number = 1, func(b []byte) float64 { return float64(int8(b[0])) }
	case "u2":
		n.size, n.number = 2, func(b []byte) float64 { return float64(order.Uint16(b)) }
	case "i2":
		n.size, n.number = 2, func(b []byte) float64 { return float64(int16(order.Uint16(b))) }
	case "u4":
		n.size, n.number = 4, func(b []byte) float64 { return float64(order.Uint32(b)) }
	case "i4":
		n.size, n.number = 4, func(b []byte) float64 { return float64(int32(order.Uint32(b))) }
	case "u8":
		n.size, n.number = 8, func(b []byte) float64 { return float64(order.Uint64(b)) }
	case "i8":
		n.size, n.number = 8, func(b []byte) float64 { return float64(int64(order.Uint64(b))) }
	case "f2":
		n.size, n.number = 2, func(b []byte) float64 { return half(order.Uint16(b)) }
	case "f4":
		n.size, n.number = 4, func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }
	case "f8":
		n.size, n.number = 8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }
	default:
		return fmt.Errorf("type %.80q, want bool, u1 to u8, i1 to i8 or f2 to f8", descr)
	}
	return nil
}

// half returns the value of an IEEE 754 binary16.
func half(b uint16) float64 {
	exponent, fraction := int(b>>10&31), float64(b&1023)
	x := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		x = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		x = math.Inf(1)
	case exponent == 31:
		x = math.NaN()
	}
	if b>>15 != 0 {
		x = -x
	}
	return x
}
