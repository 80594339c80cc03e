//go:build gpu && linux && cgo

package kernels

import (
	goflag "flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/emulator"
)

// leftOut says why no kernel can be run; empty if one can.
var leftOut string

var sharedCard = sync.OnceValues(openCard)

// TestMain gives the tests a device: with ROLLCALL_TEST_GPU=1 the first GPU, else the emulator, under AddressSanitizer unless
// ROLLCALL_TEST_ASAN=0 or the tests are to be short. The emulator is a libcuda that must be there when the process starts, so
// the process starts again.
func TestMain(m *testing.M) {
	goflag.Parse()
	switch {
	case os.Getenv("ROLLCALL_TEST_GPU") == "1":
		leftOut = unusableGPU()
	case os.Getenv("ROLLCALL_LIBCUDA") == "":
		asan := os.Getenv("ROLLCALL_TEST_ASAN") != "0" && !testing.Short() && !raceDetector()
		if leftOut = noEmulator(); leftOut != "" {
			break
		}
		library, err := emulator.Build(".", asan)
		if err == nil {
			err = restart(emulator.Env(library, asan))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// noEmulator says why there can be none here; nothing if there can.
func noEmulator() string {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return "no emulator for " + runtime.GOARCH
	}
	if _, err := exec.LookPath("g++"); err != nil {
		return "no g++ to build the emulator with"
	}
	return ""
}

// raceDetector reports whether this binary has the race detector, which does not go along with AddressSanitizer.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// restart replaces this process by the same with more in its environment; it returns only if that fails.
func restart(env []string) error {
	env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(env, func(w string) bool { return strings.SplitN(v, "=", 2)[0] == strings.SplitN(w, "=", 2)[0] })
	}), env...)
	return fmt.Errorf("kernels: start again with the emulator: %w", syscall.Exec("/proc/self/exe", os.Args, env))
}

// unusableGPU says why the first GPU cannot be used; nothing if it can.
func unusableGPU() string {
	devices, err := driver.Devices()
	switch {
	case err != nil:
		return err.Error()
	case len(devices) == 0:
		return "no GPU"
	}
	return devices[0].Unusable
}
