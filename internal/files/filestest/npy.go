package filestest

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// ReadNPY reads what [files.WriteNPY] wrote. It is an error if the file has elements of another type than T.
func ReadNPY[T files.Element](path string) (shape []int, data []T, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	const begin = 10 // magic, version, length of the header
	end := begin + int(binary.LittleEndian.Uint16(raw[begin-2:]))
	var zero T
	element := map[string]string{"float32": "<f4", "int32": "<i4", "uint8": "|u1"}[fmt.Sprintf("%T", zero)]
	dict, found := strings.CutPrefix(string(raw[begin:end]),
		"{'descr': '"+element+"', 'fortran_order': False, 'shape': (")
	dims, _, closed := strings.Cut(dict, ")")
	if !found || !closed {
		return nil, nil, fmt.Errorf("%s: %q, want elements %s", path, raw[begin:end], element)
	}
	n := 1
	for _, d := range strings.FieldsFunc(dims, func(r rune) bool { return r == ',' || r == ' ' }) {
		size, err := strconv.Atoi(d)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: shape: %w", path, err)
		}
		shape, n = append(shape, size), n*size
	}
	if len(raw)-end != n*binary.Size(zero) {
		return nil, nil, fmt.Errorf("%s: %d bytes of data, want those of shape %v", path, len(raw)-end, shape)
	}
	data = make([]T, n)
	_, err = binary.Decode(raw[end:], binary.LittleEndian, data)
	return shape, data, err
}
