package files

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Element is the type of an element of an .npy file.
type Element interface{ float32 | int32 | uint8 }

const (
	npyMagic = "\x93NUMPY\x01\x00" // with version 1.0 of the format
	npyAlign = 64                  // the data start at a multiple of this
	npyChunk = 1 << 14             // elements encoded at a time
)

// WriteNPY writes an array as a NumPy .npy file, atomically: version 1.0, C order, little endian. The shape of a scalar
// is empty; a dimension may be 0.
func WriteNPY[T Element](path string, shape []int, data []T) error {
	return WriteFile(path, func(w io.Writer) error { return encodeNPY(w, shape, data) })
}

// encodeNPY writes the header and the elements (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
func encodeNPY[T Element](w io.Writer, shape []int, data []T) error {
	n := 1
	dims := make([]string, len(shape))
	for i, d := range shape {
		n *= d
		dims[i] = strconv.Itoa(d)
	}
	if n != len(data) {
		return fmt.Errorf("npy: %d elements, want %d for shape %v", len(data), n, shape)
	}
	tuple := "(" + strings.Join(dims, ", ") + ")"
	if len(shape) == 1 {
		tuple = "(" + dims[0] + ",)"
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr[T](), tuple)
	// Magic, two bytes of length, dictionary, spaces and a line feed together fill a multiple of npyAlign.
	fixed := len(npyMagic) + 2
	length := (fixed+len(dict)+1+npyAlign-1)/npyAlign*npyAlign - fixed
	head := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(length))
	head = fmt.Appendf(head, "%-*s\n", length-1, dict)
	if _, err := w.Write(head); err != nil {
		return err
	}
	for chunk := range slices.Chunk(data, npyChunk) {
		if err := binary.Write(w, binary.LittleEndian, chunk); err != nil {
			return err
		}
	}
	return nil
}

// descr returns NumPy's name for an element type.
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
