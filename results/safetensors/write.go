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

// headerAlign divides the position of the first tensor in the file.
const headerAlign = 8

// Tensor is a tensor to write. Its name may be any text but "" and "__metadata__". The shape of a scalar is empty.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Write func(w io.Writer) error // writes all elements, little endian and in C order
}

// Float32s returns a tensor of the values x. [Write] returns an error if the shape has another number of elements.
func Float32s(name string, shape []int, x []float32) Tensor { return values(name, F32, shape, x) }

// Float64s returns a tensor like [Float32s], of type F64.
func Float64s(name string, shape []int, x []float64) Tensor { return values(name, F64, shape, x) }

// Int64s returns a tensor like [Float32s], of type I64.
func Int64s(name string, shape []int, x []int64) Tensor { return values(name, I64, shape, x) }

// Bytes returns a tensor of type U8 and shape [len(x)].
func Bytes(name string, x []byte) Tensor { return values(name, U8, []int{len(x)}, x) }

// values returns a tensor that encodes x piece by piece, to avoid a second copy of x in memory.
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

// Write writes tensors in the given order, and metadata, which may be nil. It checks names, types and shapes before it
// writes anything. PyTorch's reader wants every tensor at a multiple of its element size; so give Write the tensors of
// I64 and F64 first and the tensors of U8 last.
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
			err = fmt.Errorf("%d bytes written, want %d for %s %s",
				sizes[i]-out.left, sizes[i], t.DType, shapeText(t.Shape))
		}
		if err != nil {
			return fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// makeHeader returns all bytes of the file before the first tensor, and the size of each tensor in bytes.
func makeHeader(metadata map[string]string, tensors []Tensor) (header []byte, sizes []int64, err error) {
	var entries [][]byte
	if len(metadata) > 0 {
		texts := make([][]byte, 0, len(metadata))
		// The keys are sorted, so that the same tensors and metadata give the same bytes.
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
		return nil, nil, fmt.Errorf("header of %d bytes for %d tensors, want at most %d",
			length, len(tensors), MaxHeader)
	}
	header = binary.LittleEndian.AppendUint64(nil, uint64(length))
	return fmt.Appendf(header, "%s%*s", text, length-len(text), ""), sizes, nil
}

// entry returns "key":value in JSON.
func entry(key string, value []byte) []byte { return slices.Concat(quote(key), []byte(":"), value) }

// braces returns a JSON object with the given entries, in their order.
func braces(entries [][]byte) []byte {
	return slices.Concat([]byte("{"), bytes.Join(entries, []byte(",")), []byte("}"))
}

func quote(text string) []byte {
	quoted, _ := json.Marshal(text) // never fails for a string
	return quoted
}

// limitedWriter writes to w, and returns an error instead of writing more than the size of a tensor.
type limitedWriter struct {
	w          io.Writer
	size, left int64 // bytes of the tensor, and how many of them are still to come
}

// Write writes p, if that many bytes are still to come.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, fmt.Errorf("%d bytes written or more, want %d", l.size-l.left+int64(len(p)), l.size)
	}
	n, err := l.w.Write(p)
	l.left -= int64(n)
	return n, err
}
