//go:build gpu && linux && cgo

package driver

import (
	"fmt"

	"gorgonia.org/cu"
)

const (
	// minMajor is the oldest compute capability that serves: the kernels use the tensor-core and asynchronous-copy
	// instructions of 8.0.
	minMajor = 8
	// sharedPerBlockOptin is the device attribute CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, which cu does
	// not name.
	sharedPerBlockOptin cu.DeviceAttribute = 97
	// prohibited is the value of the attribute ComputeMode on a device that takes no context.
	prohibited = 2
)

// DeviceInfo describes a device.
type DeviceInfo struct {
	Index           int // as in Open
	Name            string
	Memory          int64 // bytes
	Major, Minor    int   // compute capability
	Multiprocessors int
	SharedPerBlock  int    // bytes of shared memory that a block can ask for
	Driver          int    // CUDA version of the driver: 12040 is 12.4
	Unusable        string // why Open would refuse; empty if it would not
}

// Capability is the compute capability, such as "9.0".
func (i DeviceInfo) Capability() string { return fmt.Sprintf("%d.%d", i.Major, i.Minor) }

// Arch is the compute capability as the compiler names it: 90 for 9.0.
func (i DeviceInfo) Arch() int { return 10*i.Major + i.Minor }

// DriverVersion is the driver's CUDA version, such as "12.4".
func (i DeviceInfo) DriverVersion() string { return version(i.Driver) }

// Devices lists the devices, usable or not. The error says why there are none: no driver library, one of its symbols
// missing, a driver that does not initialise or is too old, no device. Any goroutine may call it; no context is made.
func Devices() ([]DeviceInfo, error) {
	n, err := devices()
	if err != nil {
		return nil, err
	}
	infos := make([]DeviceInfo, n)
	for i := range infos {
		infos[i] = describe(i)
	}
	return infos, nil
}

// describe asks for all that DeviceInfo holds; a question that fails makes the device unusable.
func describe(index int) DeviceInfo {
	info := DeviceInfo{Index: index, Driver: library.version}
	if err := info.ask(); err != nil {
		info.Unusable = err.Error()
	}
	return info
}

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
