//go:build gpu && linux && cgo

package driver

import (
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/cu"
)

// Stream is a queue of work, which the device does in order.
type Stream struct {
	dev *Device
	s   cu.Stream
}

// NewStream makes a stream. It does not wait for the default stream, and the default stream does not wait for it.
func (d *Device) NewStream() (*Stream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return nil, fmt.Errorf("gpu: stream: %w", cuError(err))
	}
	made := &Stream{d, s}
	d.streams = append(d.streams, made)
	return made, nil
}

// Synchronize waits until the stream's work is done. It returns the error of work that failed.
func (s *Stream) Synchronize() error {
	if err := s.s.Synchronize(); err != nil {
		return s.dev.waiting("synchronize", cuError(err))
	}
	return nil
}

// Destroy frees the stream. The driver first finishes its work.
func (s *Stream) Destroy() error {
	s.dev.streams = slices.DeleteFunc(s.dev.streams, func(other *Stream) bool { return other == s })
	if err := s.s.Destroy(); err != nil {
		return s.dev.waiting("destroy stream", cuError(err))
	}
	return nil
}

// CopyToDevice queues a copy of src to dst. src is memory of AllocHost, which the caller leaves alone until the copy is
// done.
func (s *Stream) CopyToDevice(dst Ptr, src []byte) error {
	return s.copy("copy to device", src, toDevice(dst))
}

// CopyFromDevice queues a copy of len(dst) bytes at src to dst. dst is memory of AllocHost, which the caller leaves
// alone until the copy is done.
func (s *Stream) CopyFromDevice(dst []byte, src Ptr) error {
	return s.copy("copy from device", dst, fromDevice(src))
}

// copy queues a transfer, after a check that the host memory is pinned: the driver would make other copies wait.
func (s *Stream) copy(what string, host []byte, queue transfer) error {
	if len(host) == 0 {
		return nil
	}
	bytes := int64(len(host))
	if !s.dev.isPinned(host) {
		return fmt.Errorf("gpu: %s of %s: in a stream, want memory of AllocHost", what, Size(bytes))
	}
	return s.queued(what, bytes, queue(unsafe.Pointer(&host[0]), bytes, s.s))
}

// Memset32 queues the write of count 32-bit values at dst, which is aligned to 4 bytes.
func (s *Stream) Memset32(dst Ptr, value uint32, count int64) error {
	if count == 0 {
		return nil
	}
	return s.queued("memset", 4*count, cu.MemsetD32Async(cu.DevicePtr(dst), uint(value), count, s.s))
}

// queued adds the work and its size to an error of the driver.
func (s *Stream) queued(what string, bytes int64, err error) error {
	if err == nil {
		return nil
	}
	return s.dev.waiting(what+" of "+Size(bytes), cuError(err))
}

// Event marks a point in a stream's work, for measuring time.
type Event struct {
	dev *Device
	e   cu.Event
}

// NewEvent makes an event, not yet recorded.
func (d *Device) NewEvent() (*Event, error) {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	if err != nil {
		return nil, fmt.Errorf("gpu: event: %w", cuError(err))
	}
	return &Event{d, e}, nil
}

// Record puts the event behind the work that is queued on s now.
func (e *Event) Record(s *Stream) error {
	if err := e.e.Record(s.s); err != nil {
		return s.dev.waiting("record event", cuError(err))
	}
	return nil
}

// Since returns the milliseconds from start to e. Both are recorded, and the device has passed them.
func (e *Event) Since(start *Event) (ms float64, err error) {
	if ms, err = start.e.Elapsed(e.e); err != nil {
		return 0, e.dev.waiting("time between events", cuError(err))
	}
	return ms, nil
}

// Destroy frees the event.
func (e *Event) Destroy() error {
	if err := cu.DestroyEvent(&e.e); err != nil {
		return e.dev.waiting("destroy event", cuError(err))
	}
	return nil
}
