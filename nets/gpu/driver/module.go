//go:build gpu && linux && cgo

package driver

/*
#cgo noescape shim_launch
#cgo nocallback shim_launch
#include "shim.h"
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// maxArgs is the most bytes of parameters that a kernel can have.
const maxArgs = 4096

// Module holds kernels, compiled by the driver for the device.
type Module struct {
	dev       *Device
	name      string
	mod       C.CUmodule
	functions map[string]*Function // those found so far
	// How long LoadModules took to load the module, and to find its kernels. A driver may compile in either.
	Loading, Finding time.Duration
}

// Source is PTX to load, with a name for error messages, and the kernels to find.
type Source struct {
	Name, PTX string
	Kernels   []string
}

// LoadModules does what LoadModule does, and then Function for the kernels of the source, for many sources at once: as
// many at a time as there are processors, each on a thread of its own. The modules are in the order of the sources. Any
// thread may call it.
func (d *Device) LoadModules(sources []Source) ([]*Module, error) {
	modules, errs := make([]*Module, len(sources)), make([]error, len(sources))
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(len(sources), runtime.NumCPU()) {
		wait.Go(func() {
			t := NewThread()
			defer t.Close()
			err := t.Do(func() error { return cuError(cu.SetCurrentContext(d.ctx)) })
			for i := range next {
				if errs[i] = err; err != nil {
					continue
				}
				errs[i] = t.Do(func() (err error) {
					modules[i], err = d.loadSource(sources[i])
					return err
				})
			}
		})
	}
	for i := range sources {
		next <- i
	}
	close(next)
	wait.Wait()
	return modules, cmp.Or(errs...)
}

// loadSource loads a module and finds its kernels. If a kernel is missing, it returns the module and an error.
func (d *Device) loadSource(s Source) (*Module, error) {
	begun := time.Now()
	m, err := d.LoadModule(s.Name, s.PTX)
	if err != nil {
		return nil, err
	}
	loaded := time.Now()
	for _, kernel := range s.Kernels {
		if _, err := m.Function(kernel); err != nil {
			return m, err
		}
	}
	m.Loading, m.Finding = loaded.Sub(begun), time.Since(loaded)
	return m, nil
}

// LoadModule compiles PTX for the device. The name is for error messages. An error holds the first line of the
// compiler's messages. The driver keeps compiled modules in ~/.nv/ComputeCache, so that only the first call on a
// machine is slow.
func (d *Device) LoadModule(name, ptx string) (*Module, error) {
	const logBytes = 64 << 10
	text := C.CString(ptx)
	defer C.free(unsafe.Pointer(text))
	log := (*C.char)(C.calloc(1, logBytes)) // C memory, to which the driver may keep a pointer during the call
	defer C.free(unsafe.Pointer(log))
	m := &Module{dev: d, name: name, functions: map[string]*Function{}}
	if err := result(C.shim_load(&m.mod, text, log, logBytes)); err != nil {
		err = fmt.Errorf("gpu: module %s: %w", name, err)
		if e := (*Error)(nil); errors.As(err, &e) && e.Code == C.CUDA_ERROR_JIT_COMPILER_NOT_FOUND {
			return nil, fmt.Errorf("%w: no libnvidia-ptxjitcompiler.so.1 loads from the folder of %s; a container "+
				"wants NVIDIA_DRIVER_CAPABILITIES=compute,utility", err, library.path)
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(C.GoString(log)), "\n"); first != "" {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(first))
		}
		return nil, err
	}
	return m, nil
}

// Unload frees the module. Its functions must not be used afterwards.
func (m *Module) Unload() error {
	if err := result(C.cuModuleUnload(m.mod)); err != nil {
		return m.dev.waiting("unload module "+m.name, err)
	}
	return nil
}

// Function is a kernel of a loaded module.
type Function struct {
	dev        *Device
	name       string
	f          C.CUfunction
	attributes Attributes
}

// Attributes holds the resources that a compiled kernel takes.
type Attributes struct {
	Registers  int // per thread
	Shared     int // bytes of static shared memory per block
	MaxThreads int // per block
	Params     int // bytes of the parameter structure; 0 if unknown, as with drivers before CUDA 12.4
	Carveout   int // percent of SetCarveout, as the driver has it; DriverCarveout before
}

// DriverCarveout stands for a carveout that the driver chooses.
const DriverCarveout = -1

// Function finds a kernel. It makes a driver that loads lazily load the kernel now, so that no launch has to.
func (m *Module) Function(name string) (*Function, error) {
	if f := m.functions[name]; f != nil {
		return f, nil
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	f := &Function{dev: m.dev, name: name}
	if err := result(C.cuModuleGetFunction(&f.f, m.mod, cname)); err != nil {
		return nil, fmt.Errorf("gpu: module %s: kernel %s: %w", m.name, name, err)
	}
	a := &f.attributes
	a.Carveout = DriverCarveout
	for _, q := range []struct {
		attribute C.CUfunction_attribute
		to        *int
	}{
		{C.CU_FUNC_ATTRIBUTE_NUM_REGS, &a.Registers},
		{C.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &a.Shared},
		{C.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a.MaxThreads},
	} {
		if err := f.read(q.attribute, q.to); err != nil {
			return nil, fmt.Errorf("gpu: module %s: kernel %s: attribute %d: %w", m.name, name, int(q.attribute), err)
		}
	}
	var offset, bytes C.size_t
	if C.cuFuncGetParamInfo(f.f, 0, &offset, &bytes) == C.CUDA_SUCCESS {
		a.Params = int(bytes)
	}
	m.functions[name] = f
	return f, nil
}

// read reads an attribute of the compiled kernel.
func (f *Function) read(attribute C.CUfunction_attribute, to *int) error {
	var v C.int
	err := result(C.cuFuncGetAttribute(&v, attribute, f.f))
	*to = int(v)
	return err
}

// Attributes returns the resources that the kernel takes.
func (f *Function) Attributes() Attributes { return f.attributes }

// SetMaxDynamicShared lets launches ask for so many bytes of dynamic shared memory. A kernel needs it for more than 48
// KiB of static and dynamic shared memory together; the limit for both is DeviceInfo.SharedPerBlock.
func (f *Function) SetMaxDynamicShared(bytes int) error {
	err := result(C.cuFuncSetAttribute(f.f, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
	if err != nil {
		return fmt.Errorf("gpu: %s: %s of dynamic shared memory, static %s: %w",
			f.name, Size(int64(bytes)), Size(int64(f.attributes.Shared)), err)
	}
	return nil
}

// SetCarveout asks for so much shared memory on a multiprocessor while the kernel runs, in percent of the most that it
// can have; L1 gets the rest. It is a hint: the driver takes another share where the kernel needs it.
func (f *Function) SetCarveout(percent int) error {
	const attribute = C.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
	err := result(C.cuFuncSetAttribute(f.f, attribute, C.int(percent)))
	if err == nil {
		err = f.read(attribute, &f.attributes.Carveout)
	}
	if err != nil {
		return fmt.Errorf("gpu: %s: carveout of %d percent: %w", f.name, percent, err)
	}
	return nil
}

// Launch queues the kernel on s: grid[0] × grid[1] blocks of so many threads, all at least 1, with shared bytes of
// dynamic shared memory. The kernel has one parameter, a structure passed by value. args holds the bytes of the
// structure, at most 4096 and without Go pointers; Launch copies them before it returns. Launch allocates no Go memory.
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

// check returns an error for sizes and arguments that the driver would not check.
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
