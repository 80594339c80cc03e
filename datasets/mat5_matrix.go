package datasets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// matVariable is one array of real numbers, whose numbers are still to be read. They may be stored in a smaller type
// than that of their class: MATLAB keeps doubles that are small integers as bytes.
type matVariable struct {
	name  string
	class matClass
	dims  []int64 // the first runs fastest
	kind  matType
	size  int64     // bytes of the numbers: the product of dims times the width of kind
	limit int64     // bytes that the file can hold of them at most, whatever size claims
	data  io.Reader // the numbers, in order
	order binary.ByteOrder
}

// readMatrix reads a matrix of `left` bytes, of which the file can hold `limit` at most.
func readMatrix(r io.Reader, left, limit int64, order binary.ByteOrder, visit func(*matVariable) error) error {
	flags, left, err := readMatPart(r, left, 8, order, "array flags", miUINT32)
	if err != nil {
		return err
	}
	if len(flags) != 8 {
		return fmt.Errorf("array flags: %d bytes, want 8", len(flags))
	}
	dims, left, err := readMatPart(r, left, 4*matMaxDims, order, "dimensions", miINT32)
	if err != nil {
		return err
	}
	name, left, err := readMatPart(r, left, matMaxName, order, "name", miINT8, miUTF8)
	if err != nil {
		return err
	}
	v := &matVariable{name: string(name), class: matClass(order.Uint32(flags)), limit: limit, order: order}
	if err := v.read(r, left, dims, order.Uint32(flags)&0x800 != 0, visit); err != nil {
		return &matError{v.name, err}
	}
	return nil
}

// read finds out how the numbers are stored, and has them visited.
func (v *matVariable) read(r io.Reader, left int64, dims []byte, isComplex bool, visit func(*matVariable) error) error {
	if len(dims) < 8 || len(dims)%4 != 0 {
		return fmt.Errorf("%d bytes of dimensions, want 4 each for two or more", len(dims))
	}
	count := int64(1)
	for ; len(dims) > 0; dims = dims[4:] {
		d := int64(int32(v.order.Uint32(dims)))
		v.dims = append(v.dims, d)
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
		return skip(r, left)
	}
	tag, err := readMatTag(r, left, v.order)
	if err != nil {
		return err
	}
	left -= 8
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
		case v.size > left:
			return fmt.Errorf("%d bytes of data in a matrix that has %d left", v.size, left)
		case v.size > v.limit:
			return fmt.Errorf("%d bytes of data, but the file can hold %d of them at most", v.size, v.limit)
		}
		left -= v.size
		v.data = io.LimitReader(r, v.size)
	}
	if err := visit(v); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, v.data); err != nil {
		return cutShort(err)
	}
	return skip(r, left)
}

// readMatPart reads a small part of a matrix, of at most `most` bytes and one of the types given, and its padding to
// a multiple of 8. It returns how many bytes of the matrix are left behind it.
func readMatPart(
	r io.Reader, left, most int64, order binary.ByteOrder, what string, types ...matType,
) ([]byte, int64, error) {
	tag, err := readMatTag(r, left, order)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	left -= 8
	switch padded := (tag.size + 7) / 8 * 8; {
	case !slices.Contains(types, tag.kind):
		return nil, 0, fmt.Errorf("%s: type %d, want %d", what, tag.kind, types[0])
	case tag.size > most:
		return nil, 0, fmt.Errorf("%s: %d bytes, want at most %d", what, tag.size, most)
	case tag.small != nil:
		return tag.small, left, nil
	case padded > left:
		return nil, 0, fmt.Errorf("%s: %d bytes in a matrix that has %d left", what, padded, left)
	default:
		b := make([]byte, padded)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", what, cutShort(err))
		}
		return b[:tag.size], left - padded, nil
	}
}

// numbers calls f for every number, in order, up to its first error.
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
