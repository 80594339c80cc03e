package files

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Element is the type of an element of an .npy file.
type Element interface {
	float32 | float64 | int32 | int64 | uint8 | bool
}

const (
	npyMagic = "\x93NUMPY\x01\x00" // with version 1.0 of the format
	npyAlign = 64                  // the data start at a multiple of this
	npyChunk = 1 << 14             // elements encoded at a time
)

// WriteNPY writes an array as a NumPy .npy file, atomically: version 1.0, C order, little endian. The shape of a scalar
// is empty; a dimension may be 0.
func WriteNPY[T Element](path string, shape []int, data []T) error {
	return WriteFile(path, func(w io.Writer) error { return encodeNPY(w, shape, slices.Values([][]T{data})) })
}

// encodeNPY writes the header and the elements, which come in parts of any length
// (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
func encodeNPY[T Element](w io.Writer, shape []int, parts iter.Seq[[]T]) error {
	n := 1
	dims := make([]string, len(shape))
	for i, d := range shape {
		n *= d
		dims[i] = strconv.Itoa(d)
	}
	tuple := "(" + strings.Join(dims, ", ") + ")"
	if len(shape) == 1 {
		tuple = "(" + dims[0] + ",)"
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", NPYType[T](), tuple)
	// Magic, two bytes of length, dictionary, spaces and a line feed together fill a multiple of npyAlign.
	fixed := len(npyMagic) + 2
	length := (fixed+len(dict)+1+npyAlign-1)/npyAlign*npyAlign - fixed
	head := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(length))
	head = fmt.Appendf(head, "%-*s\n", length-1, dict)
	if _, err := w.Write(head); err != nil {
		return err
	}
	written := 0
	for data := range parts {
		written += len(data)
		for chunk := range slices.Chunk(data, npyChunk) {
			if err := binary.Write(w, binary.LittleEndian, chunk); err != nil {
				return err
			}
		}
	}
	if written != n {
		return fmt.Errorf("npy: %d elements, want %d for shape %v", written, n, shape)
	}
	return nil
}

// NPYType returns NumPy's name for an element type, such as <f4.
func NPYType[T Element]() string {
	var zero T
	switch any(zero).(type) {
	case float32:
		return "<f4"
	case float64:
		return "<f8"
	case int32:
		return "<i4"
	case int64:
		return "<i8"
	case bool:
		return "|b1"
	}
	return "|u1"
}
