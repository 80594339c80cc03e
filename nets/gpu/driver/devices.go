//go:build gpu && linux && cgo

package driver

// #include "shim.h"
import "C"

import "fmt"

// minMajor is the major number of the oldest usable compute capability: the kernels use the tensor-core and
// asynchronous-copy instructions of 8.0.
const minMajor = 8

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
	var d C.CUdevice
	if err := result(C.cuDeviceGet(&d, C.int(i.Index))); err != nil {
		return err
	}
	var name [256]C.char
	if err := result(C.cuDeviceGetName(&name[0], C.int(len(name)), d)); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	i.Name = C.GoString(&name[0])
	var memory C.size_t
	if err := result(C.cuDeviceTotalMem_v2(&memory, d)); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	i.Memory = int64(memory)
	var mode int
	for _, q := range []struct {
		attribute C.CUdevice_attribute
		to        *int
	}{
		{C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &i.Major},
		{C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &i.Minor},
		{C.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &i.Multiprocessors},
		{C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &i.SharedPerBlock},
		{C.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, &mode},
	} {
		var v C.int
		if err := result(C.cuDeviceGetAttribute(&v, q.attribute, d)); err != nil {
			return fmt.Errorf("attribute %d: %w", int(q.attribute), err)
		}
		*q.to = int(v)
	}
	switch {
	case i.Major < minMajor:
		i.Unusable = fmt.Sprintf("compute capability %s, want %d.0 or later", i.Capability(), minMajor)
	case mode == C.CU_COMPUTEMODE_PROHIBITED:
		i.Unusable = "compute mode is prohibited (nvidia-smi -c), want default or exclusive"
	}
	return nil
}
