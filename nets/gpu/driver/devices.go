//go:build gpu && linux && cgo

package driver

import (
	"fmt"

	"gorgonia.org/cu"
)

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
