//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"
)

// Device is an open device: its primary context, current on the OS thread that called Open. All its methods, and those
// of what it makes, are for that thread. A process may open a device several times, each time on another thread: they
// share the context and its memory, and none waits for another's streams or breaks another's captures.
type Device struct {
	info    DeviceInfo
	dev     cu.Device
	pinned  []pinned
	copies  *Stream   // of the copies that are complete when they return
	streams []*Stream // all there are, copies among them
	last    launch    // what was launched last: asynchronous errors come out later, and name it
}

// launch is what an error message says of a launch; formatted only when there is an error.
type launch struct {
	name    string
	grid    [2]int
	threads int  // of a block
	shared  int  // bytes, static and dynamic
	graph   bool // name is a graph's: no sizes
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
		return nil, errors.Join(fmt.Errorf("gpu: device %d: make the context current: %w", index, cuError(err)),
			cuError(d.dev.ReleasePrimaryCtx()))
	}
	if d.copies, err = d.NewStream(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Info describes the device.
func (d *Device) Info() DeviceInfo { return d.info }

// Synchronize waits for all streams of d. Those of others that have the device open go on: cuCtxSynchronize, which
// waits for all, is an error as long as any of them captures, and ends the capture whatever its mode.
func (d *Device) Synchronize() error {
	for _, s := range d.streams {
		if err := s.Synchronize(); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the work under way and releases the context: with the last that is open, memory, pinned memory
// included, streams, events, graphs and modules die. The error is that of the work under way, or of the release.
func (d *Device) Close() error {
	err := d.Synchronize()
	keep := func(e error) {
		if e != nil && err == nil {
			err = fmt.Errorf("gpu: close: %w", e)
		}
	}
	if d.copies != nil {
		keep(cuError(d.copies.s.Destroy()))
	}
	keep(cuError(cu.SetCurrentContext(cu.CUContext{})))
	keep(cuError(d.dev.ReleasePrimaryCtx()))
	d.pinned, d.streams, d.copies = nil, nil, nil
	return err
}

// waiting words an error that came out while waiting: the work that failed was launched before, and may be the last
// launch.
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
	s := fmt.Sprintf("%s (grid %d", l.name, l.grid[0])
	if l.grid[1] != 1 {
		s += fmt.Sprintf("×%d", l.grid[1])
	}
	s += fmt.Sprintf(", block %d", l.threads)
	if l.shared > 0 {
		s += ", shared " + Size(int64(l.shared))
	}
	return s + ")"
}
