package filestest

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"rollcall/results/files"
)

// npyHeader matches the beginning of a file as [files.WriteNPY] and NumPy write it.
var npyHeader = regexp.MustCompile(
	`^\x93NUMPY\x01\x00(?s:..)\{'descr': '[<|](f4|i4|u1)', 'fortran_order': False, 'shape': \(([0-9, ]*)\), *\} *\n`)

// ReadNPY reads what [files.WriteNPY] wrote; other elements than T are an error.
func ReadNPY[T files.Element](path string) (shape []int, data []T, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	text := latin1(raw)
	m := npyHeader.FindStringSubmatch(text)
	var zero T
	if want := map[string]string{"float32": "f4", "int32": "i4", "uint8": "u1"}[fmt.Sprintf("%T", zero)]; m == nil ||
		m[1] != want {
		return nil, nil, fmt.Errorf("%s: %.140q, want an NPY file of %s", path, raw, want)
	}
	n := 1
	for _, d := range strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
		size, err := strconv.Atoi(d)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: shape: %w", path, err)
		}
		shape, n = append(shape, size), n*size
	}
	body := raw[len([]rune(m[0])):]
	if len(body) != n*binary.Size(zero) {
		return nil, nil, fmt.Errorf("%s: %d bytes of data, want those of shape %v", path, len(body), shape)
	}
	data = make([]T, n)
	_, err = binary.Decode(body, binary.LittleEndian, data)
	return shape, data, err
}

// latin1 has a character for each byte, for regular expressions.
func latin1(raw []byte) string {
	runes := make([]rune, len(raw))
	for i, b := range raw {
		runes[i] = rune(b)
	}
	return string(runes)
}
