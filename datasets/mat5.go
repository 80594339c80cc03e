package datasets

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// matType is the type of an element of a MAT-file of level 5: a type of numbers, or a matrix.
type matType uint32

// The types that this reader knows, with the names and numbers of the format.
const (
	miINT8       matType = 1
	miUINT8      matType = 2
	miINT16      matType = 3
	miUINT16     matType = 4
	miINT32      matType = 5
	miUINT32     matType = 6
	miSINGLE     matType = 7
	miDOUBLE     matType = 9
	miINT64      matType = 12
	miUINT64     matType = 13
	miMATRIX     matType = 14
	miCOMPRESSED matType = 15
	miUTF8       matType = 16
)

var matNumbers = map[matType]reflect.Type{
	miINT8: reflect.TypeFor[int8](), miUINT8: reflect.TypeFor[uint8](),
	miINT16: reflect.TypeFor[int16](), miUINT16: reflect.TypeFor[uint16](),
	miINT32: reflect.TypeFor[int32](), miUINT32: reflect.TypeFor[uint32](),
	miINT64: reflect.TypeFor[int64](), miUINT64: reflect.TypeFor[uint64](),
	miSINGLE: reflect.TypeFor[float32](), miDOUBLE: reflect.TypeFor[float64](),
}

// width returns the size of a number in bytes; 0 if this reader does not know the type.
func (t matType) width() int64 {
	if number, known := matNumbers[t]; known {
		return int64(number.Size())
	}
	return 0
}

// matClass is the class of an array in MATLAB, which may be stored as another type.
type matClass uint8

// The classes from mxDOUBLE to mxUINT64 have numbers.
const (
	mxDOUBLE matClass = 6
	mxUINT8  matClass = 9
	mxUINT64 matClass = 15
)

// Sizes in a MAT-file, and limits on memory for values that a damaged file may claim.
const (
	matHeader    = 128     // bytes
	matMaxDims   = 16      // dimensions of an array
	matMaxName   = 256     // bytes of a name
	matMaxCount  = 1 << 40 // numbers in an array
	matMaxArrays = 1 << 10 // arrays in a file; each costs time, as a stream of its own
	deflateRatio = 1032    // a byte of a deflate stream decompresses to at most this many bytes
)

// readMAT5 calls visit for every variable in a MAT-file of `size` bytes, in the order of the file. It reads the file
// once and keeps nothing in memory, so that a large array needs no second copy. Errors name the variable, or the number
// of the element, from 1, if they do not concern a variable. It is an error if the compressed elements decompress to
// more than `most` bytes.
//
// "MAT-File Format" (The MathWorks) describes the format. A file consists of elements: a type, a length and that many
// bytes, in the byte order of the machine that wrote them. A matrix is an element that consists of elements. It may be
// compressed as a whole.
func readMAT5(r io.Reader, size, most int64, visit func(*matVariable) error) error {
	if size < matHeader {
		return fmt.Errorf("%d bytes, want a MAT-file, whose header alone has %d", size, matHeader)
	}
	var header [matHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return cutShort(err)
	}
	// The header ends with two bytes that tell the byte order: the number 0x4d49 as the machine writes it.
	var order binary.ByteOrder
	switch mark := string(header[126:]); mark {
	case "IM":
		order = binary.LittleEndian
	case "MI":
		order = binary.BigEndian
	default:
		return fmt.Errorf("header: byte order %q, want \"IM\" (little-endian) or \"MI\" (big-endian)", mark)
	}
	if version := order.Uint16(header[124:]); version != 0x0100 {
		return fmt.Errorf("header: version %#04x, want 0x0100 (MAT-file level 5)", version)
	}
	m, inflated := newMatReader(r, size-matHeader, order), &atMost{most: most}
	for n := 1; m.N > 0; n++ {
		if n > matMaxArrays {
			return fmt.Errorf("element %d: want at most %d", n, matMaxArrays)
		}
		tag, err := m.tag()
		if err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		if tag.small != nil || (tag.kind != miMATRIX && tag.kind != miCOMPRESSED) {
			return fmt.Errorf("element %d: type %d, want a matrix (%d) or a compressed one (%d)",
				n, tag.kind, miMATRIX, miCOMPRESSED)
		}
		if tag.size > m.N {
			return fmt.Errorf("element %d: truncated: %d bytes, want %d", n, m.N, tag.size)
		}
		// A compressed element has its own matrix element inside.
		body := newMatReader(m, tag.size, order)
		if tag.kind == miCOMPRESSED {
			err = readMatCompressed(body, inflated, visit)
		} else {
			err = readMatrix(body, body.N, visit)
		}
		if err != nil {
			if named := (*matError)(nil); errors.As(err, &named) {
				return err
			}
			return fmt.Errorf("element %d: %w", n, err)
		}
		// Skip the rest of the element.
		if _, err := io.Copy(io.Discard, body); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
	}
	return nil
}

// matError is an error about a variable whose name is known.
type matError struct {
	name string
	err  error
}

// Error names the variable as it is if the name is harmless, and quotes it otherwise.
func (e *matError) Error() string {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	if e.name != "" && strings.IndexFunc(e.name, odd) < 0 {
		return e.name + ": " + e.err.Error()
	}
	return fmt.Sprintf("%.64q: %v", e.name, e.err)
}

func (e *matError) Unwrap() error { return e.err }

// matTag is the beginning of an element. The tag itself may contain up to four bytes of data, in small; otherwise small
// is nil and the data follow.
type matTag struct {
	kind  matType
	size  int64
	small []byte
}

// matReader reads the rest of a file or of an element, in the byte order of the machine that wrote it.
type matReader struct {
	io.LimitedReader
	order binary.ByteOrder
}

func newMatReader(r io.Reader, size int64, order binary.ByteOrder) *matReader {
	return &matReader{io.LimitedReader{R: r, N: size}, order}
}

func (m *matReader) tag() (matTag, error) {
	var b [8]byte
	if m.N < int64(len(b)) {
		return matTag{}, fmt.Errorf("truncated: %d bytes, want a tag of %d", m.N, len(b))
	}
	if _, err := io.ReadFull(m, b[:]); err != nil {
		return matTag{}, cutShort(err)
	}
	// A small element has its length in the upper half of the first word, which is 0 in other elements.
	first := m.order.Uint32(b[:])
	if n := first >> 16; n > 0 {
		if n > 4 {
			return matTag{}, fmt.Errorf("tag %x: a small element of %d bytes, want at most 4", b, n)
		}
		return matTag{matType(first & 0xffff), int64(n), b[4 : 4+n]}, nil
	}
	return matTag{matType(first), int64(m.order.Uint32(b[4:])), nil}, nil
}

// readMatCompressed reads a matrix from the rest of m, which is a zlib stream. The streams of a file share inflated,
// which limits their sizes.
func readMatCompressed(m *matReader, inflated *atMost, visit func(*matVariable) error) error {
	limit := m.N * deflateRatio
	z, err := zlib.NewReader(m)
	if err != nil {
		return cutShort(err)
	}
	defer z.Close()
	inflated.r = z
	tag, err := newMatReader(inflated, math.MaxInt64, m.order).tag()
	if err != nil {
		return err
	}
	if tag.small != nil || tag.kind != miMATRIX {
		return fmt.Errorf("type %d compressed, want a matrix (%d)", tag.kind, miMATRIX)
	}
	if err := readMatrix(newMatReader(inflated, tag.size, m.order), limit, visit); err != nil {
		return err
	}
	switch n, err := io.Copy(io.Discard, inflated); { // to the end of the stream, where zlib checks its checksum
	case err != nil:
		return cutShort(err)
	case n > 0:
		return fmt.Errorf("%d bytes behind the matrix, want none", n)
	}
	return nil
}

// skip reads and ignores the rest, which must be complete.
func (m *matReader) skip() error {
	_, err := io.CopyN(io.Discard, m, m.N)
	return cutShort(err)
}

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
	if v.class < mxDOUBLE || v.class > mxUINT64 || isComplex { // text, cells and the like
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

// cutShort replaces an unexpected end of a file by an error that says that the file is truncated.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)
	}
	return err
}
