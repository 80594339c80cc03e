//go:build gpu && linux && cgo

package driver

/*
#cgo LDFLAGS: -ldl
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Ptr is an address in device memory, in bytes. The zero value is no address.
type Ptr uint64

// Scalar is a type of the elements of device memory.
type Scalar interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Bytes returns the bytes of s, without a copy.
func Bytes[T Scalar](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// View returns b as a slice of scalars, without a copy. It leaves out bytes after the last whole scalar. b must be
// aligned for T; memory of AllocHost is.
func View[T Scalar](b []byte) []T {
	var one T
	n := len(b) / int(unsafe.Sizeof(one))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// Size writes an amount of memory for people: 1.5 GiB, 30 MiB, 48 KiB. Amounts below 1 MiB that are not whole KiB are
// written to the byte, since a kernel may miss a limit of shared memory by a few bytes.
func Size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
