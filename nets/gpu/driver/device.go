//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"
)

// Device is an open device: its primary context, current on the OS thread that called Open. Only that thread may call
// its methods, and the methods of the streams, events, graphs and modules that it made. A process may open a device
// several times, each time on another thread: all of them share the context and its memory, and none waits for
// another's streams.
type Device struct {
	info    DeviceInfo
	dev     cu.Device
	ctx     cu.CUContext
	pinned  []pinned
	copies  *Stream   // carries the copies that are complete when they return
	streams []*Stream // all streams of this Device, copies among them
	last    launch    // the latest launch, which the message of an asynchronous error names
}

// launch describes a launch for error messages. It is formatted only after an error, since launches must be fast.
type launch struct {
	name    string
	grid    [2]int
	threads int  // of a block
	shared  int  // bytes, static and dynamic
	graph   bool // the name is the name of a graph, which has no sizes
}

// Open opens a device by its index in [Devices]. The caller closes it.
func Open(index int) (*Device, error) {
	n, err := devices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= n {
		return nil, fmt.Errorf("gpu: device %d, want 0 to %d", index, n-1)
	}
	info, err := describe(index)
	if err != nil { // such as one that is lost
		return nil, fmt.Errorf("gpu: device %d (%s): %w", index, info.Name, err)
	}
	d := &Device{info: info}
	if d.info.Unusable != "" {
		return nil, fmt.Errorf("gpu: device %d (%s): %s", index, d.info.Name, d.info.Unusable)
	}
	if d.dev, err = cu.GetDevice(index); err != nil {
		return nil, fmt.Errorf("gpu: device %d: %w", index, cuError(err))
	}
	// A wait then sleeps, and does not keep busy a processor that plans the next round. An error is harmless: other
	// code of the process may hold the context already, and if the device does not work, the next call says so.
	_ = d.dev.SetPrimaryCtxFlags(cu.SchedBlockingSync)
	if d.ctx, err = d.dev.RetainPrimaryCtx(); err != nil {
		return nil, fmt.Errorf("gpu: device %d (%s): context: %w", index, d.info.Name, cuError(err))
	}
	if err := cu.SetCurrentContext(d.ctx); err != nil {
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

// Synchronize waits for all streams of d. It does not wait for the streams of others that have the same device open, as
// cuCtxSynchronize would.
func (d *Device) Synchronize() error {
	for _, s := range d.streams {
		if err := s.Synchronize(); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the work under way and releases the context. When no other Device of the process holds the context,
// all memory (pinned memory included), streams, events, graphs and modules are gone too. It returns the error of the
// work under way, or else of the release.
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

// waiting adds the latest launch to an error that the driver reported during a wait: work that was launched earlier has
// failed, and the latest launch is the best guess.
func (d *Device) waiting(what string, err error) error {
	if d.last.name == "" {
		return fmt.Errorf("gpu: %s: %w", what, err)
	}
	return fmt.Errorf("gpu: %s after %s: %w", what, d.last, err)
}

// String returns the name and the sizes of a launch: conv_forward_tf32 (grid 256×37, block 128, shared 41 KiB).
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

const (
	// minMajor is the major number of the oldest usable compute capability: the kernels use the tensor-core and
	// asynchronous-copy instructions of 8.0.
	minMajor = 8
	// sharedPerBlockOptin is the device attribute CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN. Package cu has
	// no name for it.
	sharedPerBlockOptin cu.DeviceAttribute = 97
	// prohibited is the value of the attribute ComputeMode on a device that refuses contexts.
	prohibited = 2
)

// DeviceInfo describes a device, open or not.
type DeviceInfo struct {
	Index           int // for Open
	Name            string
	Memory          int64 // bytes
	Major, Minor    int   // compute capability
	Multiprocessors int
	SharedPerBlock  int    // bytes of shared memory that a block can ask for
	Driver          int    // CUDA version of the driver: 12040 is 12.4
	Unusable        string // why Open would refuse the device; empty if it would open it
}

// Capability returns the compute capability, such as "9.0".
func (i DeviceInfo) Capability() string { return fmt.Sprintf("%d.%d", i.Major, i.Minor) }

// Arch returns the compute capability as the compiler writes it: 90 for 9.0.
func (i DeviceInfo) Arch() int { return 10*i.Major + i.Minor }

// DriverVersion returns the newest CUDA version that the driver supports, such as "12.4".
func (i DeviceInfo) DriverVersion() string { return version(i.Driver) }

// Devices lists the devices, usable or not. The error says why there are none: there is no driver library, it lacks a
// symbol, it does not initialise, it is too old, or it has no device. Any goroutine may call Devices, which makes no
// context.
func Devices() ([]DeviceInfo, error) {
	n, err := devices()
	if err != nil {
		return nil, err
	}
	infos := make([]DeviceInfo, n)
	for i := range infos {
		infos[i], _ = describe(i)
	}
	return infos, nil
}

// describe returns the description of a device. If the driver fails to answer a question, the device is unusable, and
// the error says why.
func describe(index int) (DeviceInfo, error) {
	info := DeviceInfo{Index: index, Driver: library.version}
	err := info.ask()
	if err != nil {
		info.Unusable = err.Error()
	}
	return info, err
}

// ask fills in what the driver knows of a device.
func (i *DeviceInfo) ask() error {
	d, err := cu.GetDevice(i.Index)
	if err != nil {
		return cuError(err)
	}
	if i.Name, err = d.Name(); err != nil {
		return fmt.Errorf("name: %w", cuError(err))
	}
	if i.Memory, err = d.TotalMem(); err != nil {
		return fmt.Errorf("memory: %w", cuError(err))
	}
	var mode int
	for _, q := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{cu.ComputeCapabilityMajor, &i.Major},
		{cu.ComputeCapabilityMinor, &i.Minor},
		{cu.MultiprocessorCount, &i.Multiprocessors},
		{sharedPerBlockOptin, &i.SharedPerBlock},
		{cu.ComputeMode, &mode},
	} {
		if *q.to, err = d.Attribute(q.attribute); err != nil {
			return fmt.Errorf("attribute %d: %w", int(q.attribute), cuError(err))
		}
	}
	switch {
	case i.Major < minMajor:
		i.Unusable = fmt.Sprintf("compute capability %s, want %d.0 or later", i.Capability(), minMajor)
	case mode == prohibited:
		i.Unusable = "compute mode is prohibited (nvidia-smi -c), want default or exclusive"
	}
	return nil
}
