//go:build gpu && linux && cgo

package driver

/*
#cgo LDFLAGS: -ldl
#include "shim.h"
#include <sys/resource.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"gorgonia.org/cu"
)

const (
	// Variable names the environment variable that names the driver library to use. If it is empty, the library is
	// searched for.
	Variable = "ROLLCALL_LIBCUDA"
	// minVersion is the oldest usable driver, CUDA 12.0: the first that has all functions of needed.h. The kernels' PTX
	// is 7.8, which a driver of CUDA 11.8 loads too.
	minVersion = 12000
)

// places lists the paths to try for the library: first wherever the loader looks (LD_LIBRARY_PATH, ld.so.conf), then
// where distributions, containers, WSL and Jetson boards put it without telling the loader.
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

var library struct {
	path    string
	version int // 12040 for CUDA 12.4
}

// load finds the driver and initialises it, once, on the first call: a driver takes a good part of a second to
// initialise, which commands without a card should not pay. The error says why the driver is unusable.
var load = sync.OnceValue(find)

// find does the work of load.
func find() error {
	if err := open(); err != nil {
		return err
	}
	var v C.int
	if err := result(C.cuDriverGetVersion(&v)); err != nil {
		return unusable("cuDriverGetVersion", err)
	}
	library.version = int(v)
	if library.version < minVersion {
		return fmt.Errorf("gpu: %s: driver of CUDA %s, want %s or later",
			library.path, version(library.version), version(minVersion))
	}
	if missing := lookUp(true); len(missing) > 0 {
		more := ""
		if n := len(missing) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		return fmt.Errorf("gpu: %s: no symbol %s%s, want the driver functions of CUDA %s",
			library.path, missing[0], more, version(minVersion))
	}
	if err := result(C.cuInitDriver(0)); err != nil {
		return unusable("cuInit", err)
	}
	return nil
}

// started are the results with which a driver does not start, their names, which a stub does not tell, and what users
// can do about them.
var started = map[int]struct{ name, hint string }{
	C.CUDA_ERROR_OUT_OF_MEMORY:   {"CUDA_ERROR_OUT_OF_MEMORY", ""},
	C.CUDA_ERROR_NOT_INITIALIZED: {"CUDA_ERROR_NOT_INITIALIZED", ""},
	C.CUDA_ERROR_STUB_LIBRARY: {
		"CUDA_ERROR_STUB_LIBRARY", "this is the stub of the CUDA toolkit, against which programs are linked, and not " +
			"the driver: take its folder out of LD_LIBRARY_PATH, or name the driver's libcuda.so.1 in " + Variable,
	},
	C.CUDA_ERROR_NO_DEVICE: {"CUDA_ERROR_NO_DEVICE", ""},
	C.CUDA_ERROR_SYSTEM_NOT_READY: {
		"CUDA_ERROR_SYSTEM_NOT_READY", "cards that NVSwitch connects want nvidia-fabricmanager to run",
	},
	C.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: {
		"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "this library and the kernel's module are of two versions of the " +
			"driver: after an update the machine must be restarted",
	},
	C.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: {
		"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "cuda-compat works on cards of data centres alone: take its " +
			"folder out of LD_LIBRARY_PATH, or update the driver",
	},
	C.CUDA_ERROR_UNKNOWN: {
		"CUDA_ERROR_UNKNOWN", "the module nvidia_uvm may not be loaded (nvidia-modprobe -u -c=0), or needs a restart",
	},
}

// unusable returns the error of a driver that does not start.
func unusable(call string, err error) error {
	var e *Error
	errors.As(err, &e)
	known, name := started[e.Code], e.Name
	if name == unnamed(e.Code) && known.name != "" {
		name = known.name
	}
	hint := ""
	if known.hint != "" {
		hint = ": " + known.hint
	}
	if visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set && e.Code == C.CUDA_ERROR_NO_DEVICE {
		hint = fmt.Sprintf(" with CUDA_VISIBLE_DEVICES=%q", visible)
	}
	// The driver reserves as many addresses as the machine and its cards have memory.
	var limit syscall.Rlimit
	if e.Code == C.CUDA_ERROR_OUT_OF_MEMORY && syscall.Getrlimit(syscall.RLIMIT_AS, &limit) == nil &&
		limit.Cur != C.RLIM_INFINITY {
		hint = fmt.Sprintf(" with ulimit -v %d", limit.Cur/1024)
	}
	return fmt.Errorf("gpu: %s: %s: %w (%s)%s", library.path, call, err, name, hint)
}

// open opens the library that the environment names, or else the first of places that loads.
func open() error {
	if name := os.Getenv(Variable); name != "" {
		if why := dlopen(name); why != "" {
			return fmt.Errorf("gpu: %s: %s", Variable, why)
		}
		return nil
	}
	why, absent := "", true
	for _, name := range places {
		w := dlopen(name)
		if w == "" {
			return nil
		}
		// Most places have no library. If a library is there and does not load, its message says more, and if it lacks
		// another library, it names that one. A link that leads nowhere is what an update has left.
		_, err := os.Lstat(name)
		there := err == nil ||
			!strings.HasSuffix(w, name+": cannot open shared object file: No such file or directory")
		if why == "" || there {
			why = w
		}
		absent = absent && !there
	}
	if absent && !hasCard(pciDevices) {
		return fmt.Errorf("%w: %s", ErrNoCard, why)
	}
	return fmt.Errorf("gpu: no NVIDIA driver: %s", why)
}

// pciDevices is where Linux lists the devices of the machine, also to a container.
const pciDevices = "/sys/bus/pci/devices"

// hasCard reports whether a folder of devices lists one of NVIDIA that displays or computes, driver or not.
func hasCard(devices string) bool {
	vendors, _ := filepath.Glob(filepath.Join(devices, "*", "vendor"))
	return slices.ContainsFunc(vendors, func(vendor string) bool {
		class, err := os.ReadFile(filepath.Join(filepath.Dir(vendor), "class"))
		of, _ := os.ReadFile(vendor)
		return err == nil && strings.TrimSpace(string(of)) == "0x10de" && strings.HasPrefix(string(class), "0x03")
	})
}

// dlopen opens one library. It returns the loader's message if that fails, and "" otherwise.
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

// lookUp returns the symbols that the library lacks: those of needed.h, or those of linked.h, which it may lack.
func lookUp(needed bool) (missing []string) {
	var n C.int
	table := C.shim_calls(&n)
	for _, c := range unsafe.Slice(table, int(n)) {
		if c.address == nil && (c.needed != 0) == needed {
			missing = append(missing, C.GoString(c.symbol))
		}
	}
	return missing
}

// version writes a version number of CUDA: 12.4 for 12040.
func version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// devices returns the number of devices, at least 1. An error says why there are none.
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
