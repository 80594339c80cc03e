//go:build gpu && linux && cgo

package gpu

import "rollcall/nets/gpu/driver"

// ring is a pair of memories of the same size, pinned on the host and on the device, that small things travel through.
// Room given out stays untouched until the ring is full and the device has caught up.
type ring struct {
	host   []byte
	device driver.Ptr
	used   int
}

// room is a piece of both.
type room struct {
	host   []byte
	device driver.Ptr
}

const ringBytes = 1 << 18

// scratch returns n bytes of room.
func (e *Engine) scratch(n int) (room, error) {
	r := &e.ring
	take := alignUp(n, bufferAlign)
	if r.used+take > len(r.host) {
		if err := e.stream.Synchronize(); err != nil {
			return room{}, err
		}
		r.used = 0
	}
	if take > len(r.host) {
		if err := r.free(e.device); err != nil {
			return room{}, err
		}
		if err := r.alloc(e.device, 2*take); err != nil {
			return room{}, err
		}
	}
	at := r.used
	r.used += take
	return room{r.host[at : at+n], r.device + driver.Ptr(at)}, nil
}

func (r *ring) alloc(d *driver.Device, n int) error {
	var err error
	if r.host, err = d.AllocHost(int64(n)); err != nil {
		return err
	}
	r.device, err = d.Alloc(int64(n))
	return err
}

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
