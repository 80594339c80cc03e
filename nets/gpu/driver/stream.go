//go:build gpu && linux && cgo

package driver

import (
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/cu"
)

// Stream is a queue of work that the device does in order.
type Stream struct {
	dev *Device
	s   cu.Stream
}

// NewStream makes a stream; it does not wait for the default stream, nor the other way round.
func (d *Device) NewStream() (*Stream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return nil, fmt.Errorf("gpu: stream: %w", cuError(err))
	}
	made := &Stream{d, s}
	d.streams = append(d.streams, made)
	return made, nil
}

// Synchronize waits for the stream's work.
func (s *Stream) Synchronize() error {
	if err := s.s.Synchronize(); err != nil {
		return s.dev.waiting("synchronize", cuError(err))
	}
	return nil
}

// Destroy gives the stream back once its work is done.
func (s *Stream) Destroy() error {
	s.dev.streams = slices.DeleteFunc(s.dev.streams, func(other *Stream) bool { return other == s })
	if err := s.s.Destroy(); err != nil {
		return s.dev.waiting("destroy stream", cuError(err))
	}
	return nil
}

// CopyToDevice copies src, memory of AllocHost that stays as it is until the copy is done, to dst.
func (s *Stream) CopyToDevice(dst Ptr, src []byte) error {
	return s.copy("copy to device", src, toDevice(dst))
}

// CopyFromDevice copies len(dst) bytes at src to dst, memory of AllocHost that is not read until the copy is done.
func (s *Stream) CopyFromDevice(dst []byte, src Ptr) error {
	return s.copy("copy from device", dst, fromDevice(src))
}

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

// Memset32 writes value count times; dst is aligned to 4 bytes.
func (s *Stream) Memset32(dst Ptr, value uint32, count int64) error {
	if count == 0 {
		return nil
	}
	return s.queued("memset", 4*count, cu.MemsetD32Async(cu.DevicePtr(dst), uint(value), count, s.s))
}

func (s *Stream) queued(what string, bytes int64, err error) error {
	if err == nil {
		return nil
	}
	return s.dev.waiting(what+" of "+Size(bytes), cuError(err))
}

// Event is a point in a stream's work.
type Event struct {
	dev *Device
	e   cu.Event
}

// NewEvent makes an event.
func (d *Device) NewEvent() (*Event, error) {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	if err != nil {
		return nil, fmt.Errorf("gpu: event: %w", cuError(err))
	}
	return &Event{d, e}, nil
}

// Record puts the event behind what is on s now.
func (e *Event) Record(s *Stream) error {
	if err := e.e.Record(s.s); err != nil {
		return s.dev.waiting("record event", cuError(err))
	}
	return nil
}

// Since is the time from start to e, both recorded and passed, in milliseconds.
func (e *Event) Since(start *Event) (ms float64, err error) {
	if ms, err = start.e.Elapsed(e.e); err != nil {
		return 0, e.dev.waiting("time between events", cuError(err))
	}
	return ms, nil
}

// Destroy gives the event back.
func (e *Event) Destroy() error {
	if err := cu.DestroyEvent(&e.e); err != nil {
		return e.dev.waiting("destroy event", cuError(err))
	}
	return nil
}
