//go:build gpu && linux && cgo

package driver

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"gorgonia.org/cu"
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

// pinned is the address range of a block of AllocHost.
type pinned struct{ start, end uintptr }

// Alloc allocates device memory, aligned to at least 256 bytes, with undefined contents. It returns [ErrOutOfMemory] if
// memory is short.
func (d *Device) Alloc(bytes int64) (Ptr, error) {
	if bytes < 1 {
		return 0, fmt.Errorf("gpu: alloc: %d bytes, want 1 or more", bytes)
	}
	p, err := cu.MemAlloc(bytes)
	if err != nil {
		available := ""
		if free, total, e := d.FreeMemory(); e == nil {
			available = fmt.Sprintf(" (%s of %s are free)", Size(free), Size(total))
		}
		return 0, fmt.Errorf("gpu: alloc %s%s: %w", Size(bytes), available, cuError(err))
	}
	return Ptr(p), nil
}

// AllocLeaving allocates like Alloc, but only if at least so many bytes of device memory stay free afterwards.
func (d *Device) AllocLeaving(bytes, free int64) (Ptr, error) {
	now, total, err := d.FreeMemory()
	if err != nil {
		return 0, err
	}
	if now-bytes < free {
		return 0, fmt.Errorf("gpu: alloc %s (%s of %s are free, %s are to stay so): %w",
			Size(bytes), Size(now), Size(total), Size(free), result(C.CUDA_ERROR_OUT_OF_MEMORY))
	}
	return d.Alloc(bytes)
}

// FreeMemory returns the bytes of device memory that nobody has taken, and the bytes of all device memory. Other
// processes may take and free memory at any time.
func (d *Device) FreeMemory() (free, total int64, err error) {
	if free, total, err = cu.MemInfo(); err != nil {
		return 0, 0, d.waiting("free memory", cuError(err))
	}
	return free, total, nil
}

// Free waits for the streams of d and frees device memory. Free(0) does nothing.
func (d *Device) Free(p Ptr) error {
	if p == 0 {
		return nil
	}
	if err := d.Synchronize(); err != nil { // cuMemFree is not bound to wait
		return err
	}
	if err := cu.MemFree(cu.DevicePtr(p)); err != nil {
		return d.waiting("free", cuError(err))
	}
	return nil
}

// AllocHost allocates pinned host memory with undefined contents. Copies in a stream need pinned memory.
func (d *Device) AllocHost(bytes int64) ([]byte, error) {
	if bytes < 1 {
		return nil, fmt.Errorf("gpu: alloc pinned: %d bytes, want 1 or more", bytes)
	}
	var p unsafe.Pointer
	if err := result(C.cuMemHostAlloc(&p, C.size_t(bytes), 0)); err != nil {
		return nil, fmt.Errorf("gpu: alloc %s of pinned memory: %w", Size(bytes), err)
	}
	d.pinned = append(d.pinned, pinned{uintptr(p), uintptr(p) + uintptr(bytes)})
	return unsafe.Slice((*byte)(p), bytes), nil
}

// FreeHost frees a whole block of AllocHost. No copy from or to the block may be under way.
func (d *Device) FreeHost(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	start := uintptr(unsafe.Pointer(&b[0]))
	i := slices.IndexFunc(d.pinned, func(p pinned) bool { return p.start == start })
	if i < 0 {
		return fmt.Errorf("gpu: free pinned: not memory of AllocHost")
	}
	d.pinned = slices.Delete(d.pinned, i, i+1)
	if err := result(C.cuMemFreeHost(unsafe.Pointer(&b[0]))); err != nil {
		return fmt.Errorf("gpu: free pinned: %w", err)
	}
	return nil
}

// isPinned reports whether b lies inside a block of AllocHost.
func (d *Device) isPinned(b []byte) bool {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	end := start + uintptr(len(b))
	return slices.ContainsFunc(d.pinned, func(p pinned) bool { return p.start <= start && end <= p.end })
}

// The copies below first wait for all streams of d, and are complete when they return. They use a stream of their own:
// the driver's synchronous copies use the default stream, which everyone who has the device open shares, and in which a
// small copy may end after its call.

// CopyToDevice copies src to dst.
func (d *Device) CopyToDevice(dst Ptr, src []byte) error {
	return d.copy("copy to device", src, toDevice(dst))
}

// CopyFromDevice copies len(dst) bytes at src to dst.
func (d *Device) CopyFromDevice(dst []byte, src Ptr) error {
	return d.copy("copy from device", dst, fromDevice(src))
}

// transfer queues a copy between host memory and device memory.
type transfer func(host unsafe.Pointer, bytes int64, s cu.Stream) error

func toDevice(dst Ptr) transfer {
	return func(src unsafe.Pointer, bytes int64, s cu.Stream) error {
		return cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, bytes, s)
	}
}

func fromDevice(src Ptr) transfer {
	return func(dst unsafe.Pointer, bytes int64, s cu.Stream) error {
		return cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), bytes, s)
	}
}

// copy waits for all streams of d, queues a transfer and waits for it. host is pinned for Go's garbage collector
// meanwhile.
func (d *Device) copy(what string, host []byte, queue transfer) error {
	if len(host) == 0 {
		return nil
	}
	failed := func(err error) error { return d.waiting(what+" of "+Size(int64(len(host))), cuError(err)) }
	for _, s := range d.streams {
		if err := s.s.Synchronize(); err != nil {
			return failed(err)
		}
	}
	var stay runtime.Pinner
	defer stay.Unpin()
	stay.Pin(&host[0])
	if err := queue(unsafe.Pointer(&host[0]), int64(len(host)), d.copies.s); err != nil {
		return failed(err)
	}
	if err := d.copies.s.Synchronize(); err != nil {
		return failed(err)
	}
	return nil
}
