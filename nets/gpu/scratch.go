//go:build gpu && linux && cgo

package gpu

import "rollcall/nets/gpu/driver"

// ring carries small arrays between host and device, such as the coefficients of Combine: a piece of pinned host memory
// and a piece of device memory of the same size, which are handed out in parts, front to back. When the end is reached
// the ring waits for the device and starts over, so that no part is written while the device may still read it.
type ring struct {
	host   []byte
	device driver.Ptr
	used   int // bytes handed out
}

// scratch is a part of a ring: an array on the host and an array of the same size on the device. The caller copies.
type scratch struct {
	host   []byte
	device driver.Ptr
}

// ringBytes is the size of a new ring. A larger request makes the ring grow.
const ringBytes = 1 << 18

// scratch returns n bytes on the host and on the device, valid until the ring starts over: the caller queues all that
// uses them before the next call.
func (e *Engine) scratch(n int) (scratch, error) {
	r := &e.ring
	take := alignUp(n, bufferAlign)
	if r.used+take > len(r.host) {
		if err := e.stream.Synchronize(); err != nil {
			return scratch{}, err
		}
		r.used = 0
	}
	if take > len(r.host) {
		if err := r.free(e.device); err != nil {
			return scratch{}, err
		}
		if err := r.alloc(e.device, 2*take); err != nil {
			return scratch{}, err
		}
	}
	at := r.used
	r.used += take
	return scratch{r.host[at : at+n], r.device + driver.Ptr(at)}, nil
}

// alloc gives the ring n bytes of host memory and n bytes of device memory.
func (r *ring) alloc(d *driver.Device, n int) error {
	var err error
	if r.host, err = d.AllocHost(int64(n)); err != nil {
		return err
	}
	r.device, err = d.Alloc(int64(n))
	return err
}

// free gives the memory back. It waits for the work under way, as [driver.Device.Free] does.
func (r *ring) free(d *driver.Device) error {
	if r.host == nil {
		return nil
	}
	host, device := r.host, r.device
	*r = ring{}
	if err := d.Free(device); err != nil {
		return err
	}
	return d.FreeHost(host)
}
