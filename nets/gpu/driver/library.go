//go:build gpu && linux && cgo

package driver

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

const (
	// Variable names the driver library to use instead of searching for one.
	Variable = "ROLLCALL_LIBCUDA"
	// minVersion is the oldest driver that serves, CUDA 12.0: the first to load PTX 8.0 and to have what needed.h
	// lists.
	minVersion = 12000
)

// places are where libcuda.so.1 lies: first wherever the loader looks (LD_LIBRARY_PATH, ld.so.conf), then where
// distributions, containers, WSL and Jetson boards put it without telling the loader.
var places = []string{
	"libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/lib64/nvidia/libcuda.so.1",
}

// library is the driver in use.
var library struct {
	path    string
	version int // 12040 for CUDA 12.4
}

// load looks the driver up and initialises it, once, when it is first asked for and not at start, since initialising a
// driver takes a good part of a second. The error says why it is of no use.
var load = sync.OnceValue(find)

func find() error {
	if err := open(); err != nil {
		return err
	}
	var v C.int
	if err := result(C.cuDriverGetVersion(&v)); err != nil {
		return fmt.Errorf("gpu: %s: cuDriverGetVersion: %w", library.path, err)
	}
	library.version = int(v)
	if library.version < minVersion {
		return fmt.Errorf("gpu: %s: driver of CUDA %s, want %s or later", library.path, version(library.version),
			version(minVersion))
	}
	if missing := lookUp(); len(missing) > 0 {
		more := ""
		if n := len(missing) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		return fmt.Errorf("gpu: %s: no symbol %s%s, want the driver functions of CUDA %s", library.path, missing[0],
			more, version(minVersion))
	}
	if err := result(C.cuInitDriver(0)); err != nil {
		var e *Error
		errors.As(err, &e)
		hint := ""
		if visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set && e.Code == C.CUDA_ERROR_NO_DEVICE {
			hint = fmt.Sprintf(" with CUDA_VISIBLE_DEVICES=%q", visible)
		}
		return fmt.Errorf("gpu: %s: cuInit: %w (%s)%s", library.path, err, e.Name, hint)
	}
	return nil
}

// open opens the library.
func open() error {
	if name := os.Getenv(Variable); name != "" {
		if why := dlopen(name); why != "" {
			return fmt.Errorf("gpu: %s: %s", Variable, why)
		}
		return nil
	}
	why := ""
	for _, name := range places {
		w := dlopen(name)
		if w == "" {
			return nil
		}
		// The first message is that there is no such library; one that is there and does not load says more.
		if _, err := os.Stat(name); why == "" || err == nil {
			why = w
		}
	}
	return fmt.Errorf("gpu: no NVIDIA driver: %s", why)
}

// dlopen opens one library, and returns the loader's message where that fails.
func dlopen(name string) (why string) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	var path *C.char
	if message := C.shim_open(cname, &path); message != nil {
		return C.GoString(message)
	}
	library.path = C.GoString(path)
	C.free(unsafe.Pointer(path))
	return ""
}

// lookUp lists the symbols that are needed and that the library lacks; it may lack those that are only linked against.
func lookUp() (missing []string) {
	var n C.int
	table := C.shim_calls(&n)
	for _, c := range unsafe.Slice(table, int(n)) {
		if c.address == nil && c.needed != 0 {
			missing = append(missing, C.GoString(c.symbol))
		}
	}
	return missing
}

// version writes CUDA's version numbers: 12040 is 12.4.
func version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// devices is how many devices the driver has.
func devices() (int, error) {
	if err := load(); err != nil {
		return 0, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return 0, fmt.Errorf("gpu: %s: count of devices: %w", library.path, cuError(err))
	}
	if n == 0 {
		return 0, fmt.Errorf("gpu: %s: no device, want one of compute capability %d.0 or later", library.path, minMajor)
	}
	return n, nil
}
