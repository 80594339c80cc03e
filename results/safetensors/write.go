package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// headerAlign is what the first tensor's place in the file is a multiple of.
const headerAlign = 8

// Tensor is a tensor to be written. Its name is any text but "" and "__metadata__"; a scalar's shape is empty.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Write func(w io.Writer) error // writes the elements, little endian and in C order: exactly the bytes of the shape
}

// Float32s is the tensor of values that are in memory; [Write] fails where their number is not that of the shape.
func Float32s(name string, shape []int, x []float32) Tensor { return values(name, F32, shape, x) }

// Float64s is [Float32s] for F64.
func Float64s(name string, shape []int, x []float64) Tensor { return values(name, F64, shape, x) }

// Int64s is [Float32s] for I64.
func Int64s(name string, shape []int, x []int64) Tensor { return values(name, I64, shape, x) }

// Bytes is a tensor of bytes of shape [len(x)].
func Bytes(name string, x []byte) Tensor { return values(name, U8, []int{len(x)}, x) }

// values is a tensor that encodes x in pieces, so that it takes no second copy of x.
func values[T float32 | float64 | int64 | byte](name string, d DType, shape []int, x []T) Tensor {
	return Tensor{name, d, shape, func(w io.Writer) error {
		for piece := range slices.Chunk(x, pieceElements) {
			if err := binary.Write(w, binary.LittleEndian, piece); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Write writes a file of tensors, in the order given, with metadata, which may be nil. Nothing is written unless names,
// types and shapes can stand in a header. Every tensor lies at a multiple of the size of its elements, as PyTorch's
// reader wants it, if those of I64 and F64 come first and those of U8 last.
func Write(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	header, sizes, err := makeHeader(metadata, tensors)
	if err == nil {
		_, err = w.Write(header)
	}
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	for i, t := range tensors {
		out := limitedWriter{w, sizes[i], sizes[i]}
		err := t.Write(&out)
		if err == nil && out.left > 0 {
			err = fmt.Errorf("%d bytes written, want %d for %s %s", sizes[i]-out.left, sizes[i], t.DType,
				shapeText(t.Shape))
		}
		if err != nil {
			return fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// makeHeader returns everything in front of the tensors' bytes, and how many bytes each of them takes.
func makeHeader(metadata map[string]string, tensors []Tensor) (header []byte, sizes []int64, err error) {
	var entries [][]byte
	if len(metadata) > 0 {
		texts := make([][]byte, 0, len(metadata))
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			if !utf8.ValidString(key) || !utf8.ValidString(metadata[key]) {
				return nil, nil, fmt.Errorf("metadata %q: %q, want UTF-8", key, metadata[key])
			}
			texts = append(texts, entry(key, quote(metadata[key])))
		}
		entries = append(entries, entry(metadataKey, braces(texts)))
	}
	var from int64 // where the next tensor begins, counted from the end of the header
	seen := map[string]bool{}
	for _, t := range tensors {
		size, err := sizeOf(t.DType, t.Shape)
		switch {
		case t.Name == "" || t.Name == metadataKey || !utf8.ValidString(t.Name):
			err = fmt.Errorf("want another name: a text that is neither empty nor %s", metadataKey)
		case seen[t.Name]:
			err = fmt.Errorf("twice, want every name once")
		case err == nil && size > math.MaxInt64-from:
			err = fmt.Errorf("%d bytes behind %d, want fewer than 2^63 in all", size, from)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		seen[t.Name] = true
		sizes = append(sizes, size)
		shape, _ := json.Marshal(append([]int{}, t.Shape...)) // whole numbers, and [] for nil
		entries = append(entries, entry(t.Name,
			fmt.Appendf(nil, `{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, t.DType, shape, from, from+size)))
		from += size
	}
	text := braces(entries)
	length := (len(text) + headerAlign - 1) / headerAlign * headerAlign
	if length > MaxHeader {
		return nil, nil, fmt.Errorf("header of %d bytes for %d tensors, want at most %d", length, len(tensors),
			MaxHeader)
	}
	header = binary.LittleEndian.AppendUint64(nil, uint64(length))
	return fmt.Appendf(header, "%s%*s", text, length-len(text), ""), sizes, nil
}

func entry(key string, value []byte) []byte { return slices.Concat(quote(key), []byte(":"), value) }

func braces(entries [][]byte) []byte {
	return slices.Concat([]byte("{"), bytes.Join(entries, []byte(",")), []byte("}"))
}

// quote is a text in JSON.
func quote(text string) []byte {
	quoted, _ := json.Marshal(text) // a string is always marshalled
	return quoted
}

// limitedWriter passes bytes on, and fails instead of passing more than left of the size a tensor has.
type limitedWriter struct {
	w          io.Writer
	size, left int64
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, fmt.Errorf("%d bytes written or more, want %d", l.size-l.left+int64(len(p)), l.size)
	}
	n, err := l.w.Write(p)
	l.left -= int64(n)
	return n, err
}
