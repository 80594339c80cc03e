package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Element is what an .npy file holds.
type Element interface{ float32 | int32 | uint8 }

const (
	npyMagic = "\x93NUMPY\x01\x00" // and version 1.0
	npyAlign = 64                  // the data starts at a multiple of it
	npyChunk = 1 << 14             // elements encoded at a time
)

// WriteNPY writes an array as a NumPy .npy file, version 1.0, C order, little endian, atomically. shape has no
// dimension for a scalar; a dimension may be 0.
func WriteNPY[T Element](path string, shape []int, data []T) error {
	return WriteFile(path, func(w io.Writer) error { return encodeNPY(w, shape, data) })
}

func encodeNPY[T Element](w io.Writer, shape []int, data []T) error {
	n, err := elements(shape)
	if err != nil {
		return err
	}
	if n != len(data) {
		return fmt.Errorf("npy: %d elements, want %d for shape %v", len(data), n, shape)
	}
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	tuple := "(" + strings.Join(dims, ", ") + ")"
	if len(shape) == 1 {
		tuple = "(" + dims[0] + ",)"
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr[T](), tuple)
	// Magic, two bytes of length, dictionary, blanks and a line feed together fill a multiple of npyAlign.
	fixed := len(npyMagic) + 2
	length := (fixed+len(dict)+1+npyAlign-1)/npyAlign*npyAlign - fixed
	if length > math.MaxUint16 {
		return fmt.Errorf("npy: header of %d bytes, want at most %d: too many dimensions (%d)", length, math.MaxUint16, len(shape))
	}
	head := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(length))
	head = fmt.Appendf(head, "%-*s\n", length-1, dict)
	if _, err := w.Write(head); err != nil {
		return err
	}
	for start := 0; start < n; start += npyChunk {
		if err := binary.Write(w, binary.LittleEndian, data[start:min(start+npyChunk, n)]); err != nil {
			return err
		}
	}
	return nil
}

// ReadNPY reads what [WriteNPY] wrote, or NumPy itself in the same version, order and type.
func ReadNPY[T Element](path string) (shape []int, data []T, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("results: %w", err)
	}
	shape, data, err = decodeNPY[T](raw)
	if err != nil {
		return nil, nil, fmt.Errorf("results: %s: %w", path, err)
	}
	return shape, data, nil
}

// npyDict matches the dictionary as NumPy prints it, keys sorted.
var npyDict = regexp.MustCompile(`^\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), *\} *\n$`)

func decodeNPY[T Element](raw []byte) (shape []int, data []T, err error) {
	rest, found := strings.CutPrefix(string(raw[:min(len(raw), len(npyMagic)+2)]), npyMagic)
	if !found {
		return nil, nil, errors.New("npy: first bytes are not NumPy's, want version 1.0 of its format")
	}
	body := raw[len(npyMagic):]
	if len(rest) < 2 || len(body)-2 < int(binary.LittleEndian.Uint16(body)) {
		return nil, nil, fmt.Errorf("npy: %d bytes, want the whole header", len(raw))
	}
	length := int(binary.LittleEndian.Uint16(body))
	dict, body := string(body[2:2+length]), body[2+length:]
	m := npyDict.FindStringSubmatch(dict)
	if m == nil {
		return nil, nil, fmt.Errorf("npy: header %q, want descr, fortran_order and shape", dict)
	}
	if want := descr[T](); m[1] != want {
		return nil, nil, fmt.Errorf("npy: descr %q, want %q", m[1], want)
	}
	if m[2] != "False" {
		return nil, nil, errors.New("npy: Fortran order, want C order")
	}
	for _, d := range strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(d)
		if err != nil {
			return nil, nil, fmt.Errorf("npy: shape (%s): %w", m[3], err)
		}
		shape = append(shape, n)
	}
	n, err := elements(shape)
	if err != nil {
		return nil, nil, err
	}
	var zero T
	size := binary.Size(zero)
	if len(body)%size != 0 || len(body)/size != n {
		return nil, nil, fmt.Errorf("npy: %d bytes of data, want %d elements of %d for shape %v", len(body), n, size, shape)
	}
	data = make([]T, n)
	_, err = binary.Decode(body, binary.LittleEndian, data)
	return shape, data, err
}

// descr returns NumPy's name of an element type.
func descr[T Element]() string {
	var zero T
	switch any(zero).(type) {
	case float32:
		return "<f4"
	case int32:
		return "<i4"
	}
	return "|u1"
}

// elements returns the product of the dimensions.
func elements(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("npy: shape %v, want no negative dimension", shape)
		}
		if d > 0 && n > math.MaxInt/d {
			return 0, fmt.Errorf("npy: shape %v, want at most %d elements", shape, math.MaxInt)
		}
		n *= d
	}
	return n, nil
}
