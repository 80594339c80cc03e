package datasets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// matVariable is one array of a file before its numbers are read. The numbers may be stored in a smaller type than
// their class: MATLAB stores doubles that are small integers as bytes.
type matVariable struct {
	name  string
	class matClass  // 0 if the array has no real numbers
	dims  []int64   // the index of the first dimension runs fastest
	kind  matType   // the type in which the numbers are stored
	size  int64     // bytes of the numbers: the product of dims times the width of kind
	limit int64     // largest size in bytes that the file can contain, whatever size claims
	data  io.Reader // the numbers, in order
	order binary.ByteOrder
}

// readMatrix reads a matrix and calls visit for it. The file can contain at most `limit` bytes of the matrix.
func readMatrix(m *matReader, limit int64, visit func(*matVariable) error) error {
	flags, err := m.part(8, "array flags", miUINT32)
	if err != nil {
		return err
	}
	if len(flags) != 8 {
		return fmt.Errorf("array flags: %d bytes, want 8", len(flags))
	}
	dims, err := m.part(4*matMaxDims, "dimensions", miINT32)
	if err != nil {
		return err
	}
	name, err := m.part(matMaxName, "name", miINT8, miUTF8)
	if err != nil {
		return err
	}
	v := &matVariable{name: string(name), class: matClass(m.order.Uint32(flags)), limit: limit, order: m.order}
	if err := v.read(m, dims, m.order.Uint32(flags)&0x800 != 0, visit); err != nil {
		return &matError{v.name, err}
	}
	return nil
}

// read sets the fields of the variable that describe its numbers, and calls visit.
func (v *matVariable) read(m *matReader, dims []byte, isComplex bool, visit func(*matVariable) error) error {
	if len(dims) < 8 || len(dims)%4 != 0 {
		return fmt.Errorf("%d bytes of dimensions, want 4 each for two or more", len(dims))
	}
	count := int64(1)
	for ; len(dims) > 0; dims = dims[4:] {
		d := int64(int32(v.order.Uint32(dims)))
		v.dims = append(v.dims, d)
		// Divide rather than multiply, so that damaged dimensions cannot overflow.
		if d < 0 || (d > 0 && count > matMaxCount/d) {
			return fmt.Errorf("dimensions %v, want none negative and %d numbers at most", v.dims, int64(matMaxCount))
		}
		count *= d
	}
	if v.class < mxDOUBLE || v.class > mxUINT32 || isComplex { // text, cells and the like
		v.class = 0
		if err := visit(v); err != nil {
			return err
		}
		return m.skip()
	}
	tag, err := m.tag()
	if err != nil {
		return err
	}
	v.kind, v.size = tag.kind, tag.size
	width := v.kind.width()
	switch {
	case width == 0:
		return fmt.Errorf("stored as type %d, want a type of numbers", v.kind)
	case v.size != count*width:
		return fmt.Errorf("%d bytes of data, want %d (dimensions %v × %d)", v.size, count*width, v.dims, width)
	}
	v.data = bytes.NewReader(tag.small)
	if tag.small == nil {
		switch {
		case v.size > m.N:
			return fmt.Errorf("%d bytes of data in a matrix that has %d left", v.size, m.N)
		case v.size > v.limit:
			return fmt.Errorf("%d bytes of data, but the file can hold %d of them at most", v.size, v.limit)
		}
		v.data = io.LimitReader(m, v.size)
	}
	if err := visit(v); err != nil {
		return err
	}
	return m.skip() // including the numbers, if visit did not read them
}

// part reads a small element of a matrix, which must have one of the given types and at most `most` bytes, and its
// padding to a multiple of 8 bytes.
func (m *matReader) part(most int64, what string, types ...matType) ([]byte, error) {
	tag, err := m.tag()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	switch padded := (tag.size + 7) / 8 * 8; {
	case !slices.Contains(types, tag.kind):
		return nil, fmt.Errorf("%s: type %d, want %d", what, tag.kind, types[0])
	case tag.size > most:
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", what, tag.size, most)
	case tag.small != nil:
		return tag.small, nil
	case padded > m.N:
		return nil, fmt.Errorf("%s: %d bytes in a matrix that has %d left", what, padded, m.N)
	default:
		b := make([]byte, padded)
		if _, err := io.ReadFull(m, b); err != nil {
			return nil, fmt.Errorf("%s: %w", what, cutShort(err))
		}
		return b[:tag.size], nil
	}
}

// numbers calls f for every number in order, until f returns an error.
func (v *matVariable) numbers(f func(i int, x float64) error) error {
	number := reflect.New(matNumbers[v.kind])
	for i := range int(v.size / v.kind.width()) {
		if err := binary.Read(v.data, v.order, number.Interface()); err != nil {
			return cutShort(err)
		}
		x := number.Elem().Convert(reflect.TypeFor[float64]()).Float()
		if err := f(i, x); err != nil {
			return err
		}
	}
	return nil
}
