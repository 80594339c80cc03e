//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"
)

// Device is an open device: its primary context, current on the OS thread that called Open. All its methods, and those of what
// it makes, are for that thread.
type Device struct {
	info   DeviceInfo
	dev    cu.Device
	pinned []pinned
	last   launch // what was launched last: asynchronous errors come out later, and name it
}

// launch is what an error message says of a launch; formatted only when there is an error.
type launch struct {
	name        string
	grid, block [3]int
	shared      int  // bytes, static and dynamic
	graph       bool // name is a graph's: no sizes
}

// Open opens device index, one of Devices.
func Open(index int) (*Device, error) {
	n, err := devices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= n {
		return nil, fmt.Errorf("gpu: device %d, want 0 to %d", index, n-1)
	}
	d := &Device{info: describe(index)}
	if d.info.Unusable != "" {
		return nil, fmt.Errorf("gpu: device %d (%s): %s", index, d.info.Name, d.info.Unusable)
	}
	if d.dev, err = cu.GetDevice(index); err != nil {
		return nil, fmt.Errorf("gpu: device %d: %w", index, cuError(err))
	}
	ctx, err := d.dev.RetainPrimaryCtx()
	if err != nil {
		return nil, fmt.Errorf("gpu: device %d (%s): context: %w", index, d.info.Name, cuError(err))
	}
	if err := cu.SetCurrentContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("gpu: device %d: make the context current: %w", index, cuError(err)), cuError(d.dev.ReleasePrimaryCtx()))
	}
	return d, nil
}

// Info describes the device.
func (d *Device) Info() DeviceInfo { return d.info }

// MemInfo is how many bytes of the device's memory are free, and how many it has; other processes count.
func (d *Device) MemInfo() (free, total int64, err error) {
	free, total, err = cu.MemInfo()
	if err != nil {
		return 0, 0, fmt.Errorf("gpu: memory info: %w", cuError(err))
	}
	return free, total, nil
}

// Synchronize waits for all work of the device, in whatever stream.
func (d *Device) Synchronize() error {
	if err := cu.Synchronize(); err != nil {
		return d.waiting("synchronize", cuError(err))
	}
	return nil
}

// Close waits for the work under way and releases the context: memory, pinned memory included, streams, events, graphs and modules
// die with it. The error is that of the work under way, or of the release.
func (d *Device) Close() error {
	err := d.Synchronize()
	if e := cu.SetCurrentContext(cu.CUContext{}); e != nil && err == nil {
		err = fmt.Errorf("gpu: close: %w", cuError(e))
	}
	if e := d.dev.ReleasePrimaryCtx(); e != nil && err == nil {
		err = fmt.Errorf("gpu: close: %w", cuError(e))
	}
	d.pinned = nil
	return err
}

// waiting words an error that came out while waiting: the work that failed was launched before, and may be the last launch.
func (d *Device) waiting(what string, err error) error {
	if d.last.name == "" {
		return fmt.Errorf("gpu: %s: %w", what, err)
	}
	return fmt.Errorf("gpu: %s after %s: %w", what, d.last, err)
}

// String is the name and the sizes of a launch: conv_forward_tf32 (grid 256×37, block 128, shared 41 KB).
func (l launch) String() string {
	if l.graph {
		return "graph " + l.name
	}
	s := fmt.Sprintf("%s (grid %s, block %s", l.name, extent(l.grid), extent(l.block))
	if l.shared > 0 {
		s += ", shared " + size(int64(l.shared))
	}
	return s + ")"
}

// extent writes sizes in up to three dimensions, without trailing ones.
func extent(d [3]int) string {
	switch {
	case d[2] != 1:
		return fmt.Sprintf("%d×%d×%d", d[0], d[1], d[2])
	case d[1] != 1:
		return fmt.Sprintf("%d×%d", d[0], d[1])
	}
	return fmt.Sprint(d[0])
}
