// Package safetensors reads and writes the safetensors format, in which PyTorch and others store tensors by name.
// Models and checkpoints are in this format, so that Python reads them without our code.
//
// A file consists of the length of the header (8 bytes, little endian), the header, and the bytes of the tensors. The
// header is JSON: {name: {dtype, shape, data_offsets}}, with texts by name under __metadata__.
// https://github.com/huggingface/safetensors
package safetensors

import (
	"fmt"
	"math"
	"math/bits"
)

// DType is the type of a tensor's elements, as the header of a file names it.
type DType string

// The types whose values this package reads and writes. A file may contain tensors of all other types of the format.
const (
	F32 DType = "F32" // float32
	F64 DType = "F64" // float64
	I64 DType = "I64" // int64
	U8  DType = "U8"  // byte
)

// MaxHeader is the largest size of a header in bytes, with the spaces at its end: enough for some ten thousand tensors.
const MaxHeader = 1 << 20

// metadataKey is the only name in a header that is not the name of a tensor.
const metadataKey = "__metadata__"

// elementBits has the size in bits of an element, for every type of the format.
var elementBits = map[DType]uint64{
	"BOOL": 8, U8: 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16,
	"I32": 32, "U32": 32, F32: 32,
	I64: 64, "U64": 64, F64: 64, "C64": 64,
}

// sizeOf returns the size of a tensor in bytes: the product of its shape times the size of an element.
func sizeOf(d DType, shape []int) (int64, error) {
	n, known := elementBits[d]
	if !known {
		return 0, fmt.Errorf("dtype %q, want one of the format: F32, F64, I64, U8 …", string(d))
	}
	for _, dim := range shape {
		if dim < 0 {
			return 0, fmt.Errorf("shape %s, want dimensions ≥ 0", shapeText(shape))
		}
		high, low := bits.Mul64(n, uint64(dim))
		if high > 0 || low > math.MaxInt64 {
			return 0, fmt.Errorf("shape %s of %s, want fewer than 2^63 bits", shapeText(shape), d)
		}
		n = low
	}
	if n%8 > 0 {
		return 0, fmt.Errorf("shape %s of %s is %d bits, want whole bytes", shapeText(shape), d, n)
	}
	return int64(n / 8), nil
}

// shapeText returns a shape for an error, shortened if it has more dimensions than the tensors of any net.
func shapeText(shape []int) string {
	const most = 8
	if len(shape) > most {
		return fmt.Sprintf("%v… (%d dimensions)", shape[:most], len(shape))
	}
	return fmt.Sprint(shape)
}
