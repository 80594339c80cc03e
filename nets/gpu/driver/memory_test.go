//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"rollcall/internal/must"
)

// TestOutOfMemory lets device memory run out, then pinned memory.
func TestOutOfMemory(t *testing.T) {
	if !withFake(t, "cuMemHostAlloc=2") {
		return
	}
	onThread(t, func(d *Device) {
		_, err := d.Alloc(3 << 20)
		want := "gpu: alloc 3 MiB (1048574 bytes of 1 MiB are free): out of memory"
		if !errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrDeviceLost) || err.Error() != want {
			t.Errorf("Alloc(3 MiB): %v, want ErrOutOfMemory: %s", err, want)
		}
		_, err = d.AllocHost(1 << 30)
		want = "gpu: alloc 1.0 GiB of pinned memory: out of memory"
		if !errors.Is(err, ErrOutOfMemory) || err.Error() != want {
			t.Errorf("AllocHost(1 GiB): %v, want ErrOutOfMemory: %s", err, want)
		}
		if _, err := d.Alloc(0); err == nil || err.Error() != "gpu: alloc: 0 bytes, want 1 or more" {
			t.Errorf("Alloc(0): %v", err)
		}
	})
}

// TestFree checks that Free first waits for the work that may use the memory, and gives back what Alloc took.
func TestFree(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		f, s := fillOn(t, d)
		host := must.Get(d.AllocHost(4))(t)
		before, total := must.Get2(d.FreeMemory())(t)
		p := must.Get(d.Alloc(64))(t)
		if free, _, err := d.FreeMemory(); err != nil || free != before-64 || total != 1<<20 {
			t.Errorf("%d of %d bytes are free, %v, want 64 less than the %d before", free, total, err, before)
		}
		must.OK(t, fill(f, s, fillArgs{p, 5, 1}))
		must.OK(t, s.CopyFromDevice(host, p))
		must.OK(t, d.Free(p))
		if got := View[uint32](host)[0]; got != 5 {
			t.Errorf("after Free the copy has brought %d, want 5", got)
		}
		_, err := d.AllocLeaving(512<<10, 768<<10)
		if want := "of 1 MiB are free, 768 KiB are to stay so): out of memory"; !errors.Is(err, ErrOutOfMemory) ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("AllocLeaving: %v, want it to end in %q", err, want)
		}
		if free, _, err := d.FreeMemory(); err != nil || free != before {
			t.Errorf("%d bytes are free, %v, want %d as before", free, err, before)
		}
	})
}

// TestPinned checks that copies of a stream accept memory of AllocHost alone, all of it or a part.
func TestPinned(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		s := must.Get(d.NewStream())(t)
		p := must.Get(d.Alloc(64))(t)
		host := must.Get(d.AllocHost(64))(t)
		must.OK(t, s.CopyToDevice(p, host[8:16]))
		must.OK(t, s.CopyFromDevice(host[56:], p))
		beyond := unsafe.Slice(&host[1], 64)
		for _, err := range []error{
			s.CopyToDevice(p, make([]byte, 64)), s.CopyFromDevice(make([]byte, 64), p),
			s.CopyToDevice(p, beyond), s.CopyFromDevice(beyond, p),
		} {
			if err == nil ||
				!strings.HasSuffix(err.Error(), " device of 64 bytes: in a stream, want memory of AllocHost") {
				t.Errorf("copy of memory that is not pinned, or not all of it, in a stream: %v", err)
			}
		}
		must.OK(t, d.FreeHost(host))
		if err := d.FreeHost(host); err == nil || err.Error() != "gpu: free pinned: not memory of AllocHost" {
			t.Errorf("FreeHost twice: %v", err)
		}
		must.OK(t, errors.Join(s.CopyToDevice(p, nil), s.CopyFromDevice(nil, p), s.Memset32(p, 1, 0),
			d.Free(0), d.FreeHost(nil)))
	})
}

// TestAllocations checks that the calls which the engine makes hundreds of times a round allocate no Go memory.
func TestAllocations(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		f, s := fillOn(t, d)
		p := must.Get(d.Alloc(4000))(t)
		x := must.Get(d.NewGraph("round", func(g *Graph) error { return fillIn(f, g, fillArgs{p, 1, 1000}) }))(t)
		for name, f := range map[string]func() error{
			"Launch":       func() error { return fill(f, s, fillArgs{p, 1, 1000}) },
			"graph Launch": func() error { return x.Launch(s) },
			"Synchronize":  s.Synchronize,
		} {
			if n := testing.AllocsPerRun(100, func() { must.OK(t, f()) }); n != 0 {
				t.Errorf("%s: %g allocations, want 0", name, n)
			}
		}
	})
}
