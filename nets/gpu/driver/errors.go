//go:build gpu && linux && cgo

package driver

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

var (
	// ErrOutOfMemory matches (errors.Is) an error that says that device memory or pinned memory ran out.
	ErrOutOfMemory = errors.New("gpu: out of memory")
	// ErrDeviceLost matches (errors.Is) an error after which every call on the device fails: a kernel or the hardware
	// has faulted. Only a new process gets the device back.
	ErrDeviceLost = errors.New("gpu: device lost")
	// ErrNoCard matches (errors.Is) an error of a machine that has neither a driver nor a card that needs one.
	ErrNoCard = errors.New("gpu: no NVIDIA GPU")
	// ErrClosed is the error of [Thread.Do] once the thread has ended.
	ErrClosed = errors.New("gpu: thread: closed")
)

// Error is a failure that the driver reported.
type Error struct {
	Code int    // the CUresult
	Name string // such as CUDA_ERROR_OUT_OF_MEMORY
	Text string // CUDA's own words, such as "out of memory"
}

// Error returns CUDA's text.
func (e *Error) Error() string { return e.Text }

// Is reports whether e belongs to the class of errors target: [ErrOutOfMemory] or [ErrDeviceLost].
func (e *Error) Is(target error) bool {
	switch target {
	case ErrOutOfMemory:
		return e.Code == C.CUDA_ERROR_OUT_OF_MEMORY
	case ErrDeviceLost:
		return slices.Contains(lost, e.Code)
	}
	return false
}

// lost lists the results after which a context is unusable.
var lost = []int{
	C.CUDA_ERROR_DEVICE_UNAVAILABLE, C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE,
	C.CUDA_ERROR_ILLEGAL_ADDRESS, C.CUDA_ERROR_LAUNCH_TIMEOUT, C.CUDA_ERROR_CONTEXT_IS_DESTROYED, C.CUDA_ERROR_ASSERT,
	C.CUDA_ERROR_HARDWARE_STACK_ERROR, C.CUDA_ERROR_ILLEGAL_INSTRUCTION, C.CUDA_ERROR_MISALIGNED_ADDRESS,
	C.CUDA_ERROR_INVALID_ADDRESS_SPACE, C.CUDA_ERROR_INVALID_PC, C.CUDA_ERROR_LAUNCH_FAILED,
	C.CUDA_ERROR_EXTERNAL_DEVICE, C.CUDA_ERROR_CONTAINED, C.CUDA_ERROR_TENSOR_MEMORY_LEAK, C.CUDA_ERROR_UNKNOWN,
}

// result returns nil for success, and otherwise an [*Error].
func result(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	e := &Error{Code: int(r), Name: unnamed(int(r)), Text: fmt.Sprintf("CUDA error %d", int(r))}
	var s *C.char
	if C.cuGetErrorName(r, &s) == C.CUDA_SUCCESS && s != nil {
		e.Name = C.GoString(s)
	}
	if C.cuGetErrorString(r, &s) == C.CUDA_SUCCESS && s != nil {
		e.Text = C.GoString(s)
	}
	return e
}

// unnamed stands for the name of a result that the driver does not tell.
func unnamed(code int) string { return fmt.Sprintf("CUresult %d", code) }

// cuError turns an error of package cu into an [*Error]. Reflection is needed, since cu does not export its error type.
func cuError(err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return result(C.CUresult(v.Int()))
	}
	return err
}
