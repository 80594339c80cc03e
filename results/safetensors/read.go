package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// pieceElements is how many elements are encoded or decoded at a time.
const pieceElements = 1 << 13

// File is a file whose header was read and checked. Its methods read the values, so that large tensors need not be in
// memory at the same time.
type File struct {
	Metadata map[string]string
	Tensors  []Info // in the order of their bytes in the file

	r      io.ReaderAt
	byName map[string]int // index into Tensors
	data   int64          // position of the tensors' bytes in the file
}

// Info describes one tensor of a file.
type Info struct {
	Name     string
	DType    DType // any type of the format
	Shape    []int // empty for a scalar
	Bytes    int64
	from, to int64 // the range of its bytes, counted from the end of the header
}

// New reads and checks the header of a file of the given size in bytes. The ranges of the tensors must agree with their
// types and shapes, and must fill the rest of the file without holes or overlaps.
func New(r io.ReaderAt, size int64) (*File, error) {
	f, err := readHeader(r, size)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

// readHeader does the work of [New]. Its errors do not name the package.
func readHeader(r io.ReaderAt, size int64) (*File, error) {
	// The length of the header, and its brace.
	var head [9]byte
	if err := readAll(r, head[:min(size, int64(len(head)))], 0); err != nil {
		return nil, fmt.Errorf("length of the header: %w", err)
	}
	length := binary.LittleEndian.Uint64(head[:])
	if head[8] != '{' || length > math.MaxUint32 {
		if kind := otherKind(r, size); kind != "" {
			return nil, fmt.Errorf("%s, %w", kind, ErrOther)
		}
	}
	if size < 8 {
		return nil, fmt.Errorf("%d bytes, want 8 or more", size)
	}
	// The length comes from the file, so it is checked before memory is allocated for it.
	if length > MaxHeader || length > uint64(size)-8 {
		return nil, fmt.Errorf("header of %d bytes in a file of %d, want at most %d",
			length, size, min(MaxHeader, size-8))
	}
	text := make([]byte, length)
	if err := readAll(r, text, 8); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	metadata, tensors, err := parseHeader(text)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	f := &File{metadata, tensors, r, make(map[string]int, len(tensors)), 8 + int64(length)}
	return f, f.place(size - f.data)
}

// place sorts the tensors by the ranges of their bytes, and checks that these fill size bytes.
func (f *File) place(size int64) error {
	slices.SortStableFunc(f.Tensors, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	var end int64
	for i := range f.Tensors {
		t := &f.Tensors[i]
		var err error
		t.Bytes, err = sizeOf(t.DType, t.Shape)
		switch {
		case err != nil:
		// Only a tensor that begins where the one before it ends leaves neither a hole nor an overlap.
		case t.from != end:
			err = fmt.Errorf("starts at byte %d, want %d, where the tensor before it ends", t.from, end)
		case t.to-t.from != t.Bytes: // no overflow: both are ≥ 0
			err = fmt.Errorf("bytes %d to %d, want %d bytes for %s %s",
				t.from, t.to, t.Bytes, t.DType, shapeText(t.Shape))
		case t.to > size:
			err = fmt.Errorf("ends at byte %d, want at most %d, where the file ends", t.to, size)
		}
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		f.byName[t.Name] = i
		end = t.to
	}
	if end != size {
		return fmt.Errorf("the tensors end at byte %d, want %d, where the file ends", end, size)
	}
	return nil
}

// Lookup returns the description of a tensor, and whether the file has it.
func (f *File) Lookup(name string) (Info, bool) {
	i, found := f.byName[name]
	if !found {
		return Info{}, false
	}
	return f.Tensors[i], true
}

// Float32s reads the elements from … from+len(into)−1 of a tensor of type F32, counted in C order.
func (f *File) Float32s(name string, from int, into []float32) error {
	t, err := f.find(name, F32)
	if err != nil {
		return err
	}
	n := t.Bytes / 4
	if from < 0 || int64(from) > n || int64(len(into)) > n-int64(from) {
		return fmt.Errorf("safetensors: tensor %q: %d elements from %d on, want some of its %d",
			name, len(into), from, n)
	}
	return decode(f, t, int64(from)*4, 4, into, func(b []byte) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	})
}

// Widened reads the whole tensor name, in C order, into as many elements. It converts F16, BF16 and F64 to float32, and
// returns an error for the first element that no float32 equals. Infinities and NaNs stay what they are.
func (f *File) Widened(name string, into []float32) error {
	t, err := f.lookup(name)
	if err != nil {
		return err
	}
	size := int64(elementBits[t.DType] / 8)
	var value func(b []byte) float32
	var inexact error
	switch at := 0; t.DType {
	case F32:
		return f.Float32s(name, 0, into)
	case F16:
		value = func(b []byte) float32 { return float16(binary.LittleEndian.Uint16(b)) }
	case BF16:
		value = func(b []byte) float32 {
			return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
		}
	case F64:
		value = func(b []byte) float32 {
			x := math.Float64frombits(binary.LittleEndian.Uint64(b))
			if float64(float32(x)) != x && !math.IsNaN(x) && inexact == nil {
				inexact = fmt.Errorf(
					"safetensors: tensor %q: element %d is %g, want a value that float32 holds exactly", name, at, x)
			}
			at++
			return float32(x)
		}
	default:
		return fmt.Errorf("safetensors: tensor %q: dtype %s, want F32, F16, BF16 or F64", name, t.DType)
	}
	if n := t.Bytes / size; int64(len(into)) != n {
		return fmt.Errorf("safetensors: tensor %q: %d elements, want all %d", name, len(into), n)
	}
	return cmp.Or(decode(f, t, 0, size, into, value), inexact)
}

// float16 returns the value of a number of IEEE 754's binary16: sign, 5 bits of exponent, 10 of significand.
func float16(b uint16) float32 {
	sign, exponent, significand := uint32(b>>15)<<31, int(b>>10&31), uint32(b&1023)
	switch exponent {
	case 0: // subnormal
		return math.Float32frombits(sign | math.Float32bits(float32(significand)*0x1p-24))
	case 31: // infinity, or NaN
		return math.Float32frombits(sign | 255<<23 | significand<<13)
	}
	return math.Float32frombits(sign | uint32(exponent-15+127)<<23 | significand<<13)
}

// Float64s reads a whole tensor of type F64, in C order.
func (f *File) Float64s(name string) ([]float64, error) {
	t, err := f.find(name, F64)
	if err != nil {
		return nil, err
	}
	x := make([]float64, t.Bytes/8)
	return x, decode(f, t, 0, 8, x, func(b []byte) float64 {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	})
}

// Int64s reads a whole tensor of type I64, in C order.
func (f *File) Int64s(name string) ([]int64, error) {
	t, err := f.find(name, I64)
	if err != nil {
		return nil, err
	}
	x := make([]int64, t.Bytes/8)
	return x, decode(f, t, 0, 8, x, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
}

// Bytes reads a whole tensor of type U8, in C order.
func (f *File) Bytes(name string) ([]byte, error) {
	t, err := f.find(name, U8)
	if err != nil {
		return nil, err
	}
	x := make([]byte, t.Bytes)
	return x, f.read(t, x, 0)
}

// find returns the description of a tensor. It is an error if the tensor is missing or of another type.
func (f *File) find(name string, want DType) (Info, error) {
	t, err := f.lookup(name)
	if err == nil && t.DType != want {
		err = fmt.Errorf("safetensors: tensor %q: dtype %s, want %s", name, t.DType, want)
	}
	return t, err
}

// lookup is [File.Lookup] with an error for a tensor that is missing.
func (f *File) lookup(name string) (t Info, err error) {
	t, found := f.Lookup(name)
	if !found {
		err = fmt.Errorf("safetensors: no tensor %q among %d", name, len(f.Tensors))
	}
	return t, err
}

// decode reads elements of size bytes each, from the byte from of a tensor on, and converts them with value.
func decode[T any](f *File, t Info, from, size int64, into []T, value func([]byte) T) error {
	buffer := make([]byte, size*int64(min(len(into), pieceElements)))
	for piece := range slices.Chunk(into, pieceElements) {
		raw := buffer[:size*int64(len(piece))]
		if err := f.read(t, raw, from); err != nil {
			return err
		}
		for i := range piece {
			piece[i] = value(raw[int64(i)*size:])
		}
		from += int64(len(raw))
	}
	return nil
}

// read fills into with the bytes of a tensor from its byte from on.
func (f *File) read(t Info, into []byte, from int64) error {
	if err := readAll(f.r, into, f.data+t.from+from); err != nil {
		return fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
	}
	return nil
}

// readAll fills into with the bytes of r from position at on. It is an error if r ends before that.
func readAll(r io.ReaderAt, into []byte, at int64) error {
	n, err := r.ReadAt(into, at)
	if n == len(into) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%d bytes at byte %d, want %d: %w", n, at, len(into), err)
}
