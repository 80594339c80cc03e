package bf16

import (
	"fmt"
	"unsafe"
)

// distance returns the bytes from the first element of x to the first element of y.
func distance[E any](x, y []E) int {
	return int(uintptr(unsafe.Pointer(&y[0])) - uintptr(unsafe.Pointer(&x[0])))
}

// checkTranspose panics if the sizes of a transposition are impossible, or if a slice is too short.
func checkTranspose(dst Operand[float32], ldDst int, src []float32, ldSrc, rows, cols int) {
	if rows < 1 || cols < 1 || rows > 1 && ldSrc < cols || cols > 1 && ldDst < rows {
		panic(fmt.Sprintf("bf16: transpose: %d × %d from rows %d apart to rows %d apart: want at least 1, and rows "+
			"that do not overlap", rows, cols, ldSrc, ldDst))
	}
	_ = src[(rows-1)*ldSrc+cols-1]
	_ = dst.From((cols-1)*ldDst + rows)
}

// asFloats returns the memory of x as float32.
func asFloats(x []uint32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
