//go:build gpu && linux && cgo

package driver

/*
#cgo noescape shim_launch
#cgo nocallback shim_launch
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// maxArgs is how many bytes of parameters a kernel can have.
const maxArgs = 4096

// Module holds kernels, compiled by the driver for the device.
type Module struct {
	dev  *Device
	name string
	mod  C.CUmodule
}

// LoadModule compiles PTX; the name is for error messages. An error has the first line of what the compiler says. The
// driver keeps what it compiled in ~/.nv/ComputeCache, so that only the first time takes long.
func (d *Device) LoadModule(name, ptx string) (*Module, error) {
	const room = 64 << 10
	text := C.CString(ptx)
	defer C.free(unsafe.Pointer(text))
	log := (*C.char)(C.calloc(1, room)) // C memory: the driver may hold on to it during the call
	defer C.free(unsafe.Pointer(log))
	m := &Module{dev: d, name: name}
	if err := result(C.shim_load(&m.mod, text, log, room)); err != nil {
		err = fmt.Errorf("gpu: module %s: %w", name, err)
		if first, _, _ := strings.Cut(strings.TrimSpace(C.GoString(log)), "\n"); first != "" {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(first))
		}
		return nil, err
	}
	return m, nil
}

// Unload gives the module's memory back; its functions are not to be used any more.
func (m *Module) Unload() error {
	if err := result(C.cuModuleUnload(m.mod)); err != nil {
		return m.dev.waiting("unload module "+m.name, err)
	}
	return nil
}

// Function is a kernel.
type Function struct {
	dev        *Device
	name       string
	f          C.CUfunction
	attributes Attributes
}

// Attributes is what the compiler made of a kernel.
type Attributes struct {
	Registers  int // per thread
	Shared     int // bytes of static shared memory per block
	MaxThreads int // per block
	Params     int // bytes of the parameter structure; 0 if the driver does not tell, as those before CUDA 12.4 do not
}

// Function finds a kernel, and has the driver load it where it loads lazily, so that no launch does.
func (m *Module) Function(name string) (*Function, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	f := &Function{dev: m.dev, name: name}
	if err := result(C.cuModuleGetFunction(&f.f, m.mod, cname)); err != nil {
		return nil, fmt.Errorf("gpu: module %s: kernel %s: %w", m.name, name, err)
	}
	a := &f.attributes
	for _, q := range []struct {
		attribute C.CUfunction_attribute
		to        *int
	}{
		{C.CU_FUNC_ATTRIBUTE_NUM_REGS, &a.Registers},
		{C.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &a.Shared},
		{C.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a.MaxThreads},
	} {
		var v C.int
		if err := result(C.cuFuncGetAttribute(&v, q.attribute, f.f)); err != nil {
			return nil, fmt.Errorf("gpu: module %s: kernel %s: attribute %d: %w", m.name, name, int(q.attribute), err)
		}
		*q.to = int(v)
	}
	var offset, bytes C.size_t
	if C.cuFuncGetParamInfo(f.f, 0, &offset, &bytes) == C.CUDA_SUCCESS {
		a.Params = int(bytes)
	}
	return f, nil
}

// Attributes is what the compiler made of the kernel.
func (f *Function) Attributes() Attributes { return f.attributes }

// SetMaxDynamicShared lets launches ask for up to bytes of dynamic shared memory. Beyond 48 KB less the static part, a
// kernel needs this; the limit is DeviceInfo.SharedPerBlock less the static part.
func (f *Function) SetMaxDynamicShared(bytes int) error {
	if err := result(C.cuFuncSetAttribute(f.f, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		C.int(bytes))); err != nil {
		return fmt.Errorf("gpu: %s: %s of dynamic shared memory, static %s: %w", f.name, Size(int64(bytes)),
			Size(int64(f.attributes.Shared)), err)
	}
	return nil
}

// Launch puts the kernel on s: grid[0] × grid[1] blocks of so many threads, all at least 1, with shared bytes of
// dynamic shared memory. The kernel has one parameter, a structure passed by value: args holds its bytes, 4096 at the
// most and no Go pointers among them, which are copied before Launch returns. Launch allocates nothing.
func (f *Function) Launch(grid [2]int, threads, shared int, s *Stream, args []byte) error {
	l := launch{name: f.name, grid: grid, threads: threads, shared: f.attributes.Shared + shared}
	if err := f.check(grid, threads, shared, len(args)); err != nil {
		return fmt.Errorf("gpu: %v: launch: %w", l, err)
	}
	r := C.shim_launch(f.f, C.uint(grid[0]), C.uint(grid[1]), 1, C.uint(threads), 1, 1,
		C.uint(shared), s.c(), unsafe.Pointer(&args[0]))
	if r != C.CUDA_SUCCESS {
		return fmt.Errorf("gpu: %v: launch: %w", l, result(r))
	}
	f.dev.last = l
	return nil
}

// check refuses what the driver would not notice.
func (f *Function) check(grid [2]int, threads, shared, argBytes int) error {
	if min(grid[0], grid[1], threads) < 1 || shared < 0 {
		return errors.New("want sizes of 1 or more")
	}
	if argBytes < 1 || argBytes > maxArgs {
		return fmt.Errorf("%d bytes of parameters, want 1 to %d", argBytes, maxArgs)
	}
	if want := f.attributes.Params; want != 0 && want != argBytes {
		return fmt.Errorf("%d bytes of parameters, want the kernel's %d", argBytes, want)
	}
	return nil
}
