// Package emulator builds a libcuda.so that runs the CUDA kernels of a folder on the CPU, for tests without a GPU:
//
//	library, err := emulator.Build("nets/gpu/kernels", false)
//	if err != nil {
//		return err
//	}
//	test := exec.Command("rollcall", "devices", "--check")
//	test.Env = append(os.Environ(), emulator.Env(library, false)...)
//
// The threads of a block are fibers, blocks run on a few host threads, and streams do nothing until somebody waits. The
// emulator makes visible what a GPU leaves undefined:
//
//   - Fresh device memory and shared memory are NaN, and so is the destination of cp.async until its wait.
//   - Blocks, warps and lanes run in a random order, which a seed determines.
//   - A barrier or a warp collective that some threads miss ends as CUDA_ERROR_LAUNCH_FAILED. The text (of
//     cuGetErrorString, and on stderr) says which threads wait where.
//   - A call without a current context on its thread fails, and so does freeing memory while streams of the thread have
//     work.
//   - The launches of a graph run in an order drawn from the seed, another one every time, in which each is behind
//     those that it waits for.
//   - Under AddressSanitizer, an access beside a device allocation or a shared array ends the process with a report
//     that names the line of the .cu file.
//
// Each device has a primary context of its own, with memory, streams and faults of its own, as have the cards of a real
// driver: several work at the same time, and one is lost without the others. Only the context that is current on a
// thread can be used there, with what it made.
//
// A kernel that fails loses its context: when the last user has released it, the next one makes a new one. A device
// that is lost by ROLLCALL_EMULATOR_LOSE_DEVICE stays lost as long as the process lives: every call about it fails, and
// so does making a new context. It still counts among the devices.
//
// The library reads these environment variables at cuInit, and again when a process makes a primary context:
//
//	ROLLCALL_EMULATOR_THREADS      host threads of a device, default 2
//	ROLLCALL_EMULATOR_SEED         seed of the random orders, default 1
//	ROLLCALL_EMULATOR_MEMORY       memory of a device in bytes, default 4 GiB
//	ROLLCALL_EMULATOR_PAGE         bytes that an allocation counts for a multiple of, and that every graph and module
//	                               takes, default 512; a card has 2 MiB
//	ROLLCALL_EMULATOR_SHORT_IN     call:n: cuMemAlloc, cuModuleLoadDataEx, cuGraphInstantiate or cuGraphLaunch fails
//	                               with CUDA_ERROR_OUT_OF_MEMORY while more than n bytes are allocated on its device
//	ROLLCALL_EMULATOR_DEVICES      number of physical devices, default 1; 0: cuInit fails
//	ROLLCALL_EMULATOR_MIG          MIG instances of every device, default 0: the devices are whole. A process sees one
//	                               instance, the first or the first that CUDA_VISIBLE_DEVICES names
//	ROLLCALL_EMULATOR_DRIVER       CUDA version of the driver, default 12000
//	ROLLCALL_EMULATOR_CAPABILITY   compute capability, default 9.0; with commas, one of each physical device, the last
//	                               one of all others too. Tensor cores add up as those of this capability do
//	ROLLCALL_EMULATOR_SLOW_JIT     milliseconds that cuModuleLoadDataEx takes, default 0
//	ROLLCALL_EMULATOR_SLOW_FIND    milliseconds that cuModuleGetFunction takes, default 0: a driver may compile there
//	ROLLCALL_EMULATOR_FAIL_JIT     1: cuModuleLoadDataEx fails with CUDA_ERROR_INVALID_PTX
//	ROLLCALL_EMULATOR_FAIL_LAUNCH  n: after n launches (kernels and graphs) on a device one call fails with
//	                               CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
//	ROLLCALL_EMULATOR_LOSE_DEVICE  n: a device is lost, with CUDA_ERROR_UNKNOWN, after n kernels have run on it in
//	                               this process; d:n, with commas for several: only the physical device d is
//	CUDA_VISIBLE_DEVICES           as CUDA's documentation says: indexes, or beginnings of UUIDs. Device 1 is
//	                               GPU-00000001-0000-…, its second MIG instance MIG-00000001-0002-…
package emulator

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"rollcall/internal/files"
)

//go:embed cpp
var runtimeFiles embed.FS

// Build compiles the emulator and every .cu file of a folder into a shared library and returns its path. It keeps the
// library and its objects in $ROLLCALL_EMULATOR_CACHE, or else in the user's cache folder, under a hash of their
// sources, so that a second call is quick. With asan it compiles in AddressSanitizer and checks of alignment and array
// bounds. Build needs g++, and Linux on x86-64 or aarch64.
func Build(dir string, asan bool) (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return "", fmt.Errorf("emulator: %s/%s, wanted linux on amd64 or arm64", runtime.GOOS, runtime.GOARCH)
	}
	c, err := newCompiler(asan)
	if err != nil {
		return "", err
	}
	path, err := c.library(dir)
	if err != nil {
		return "", err
	}
	return path, c.keep(path, func(temporary string) error {
		units, err := c.units(dir)
		if err != nil {
			return err
		}
		objects, err := inParallel(units, c.object)
		if err != nil {
			return err
		}
		args := slices.Concat([]string{"-shared", "-o", temporary}, c.linkFlags(), objects, []string{"-lpthread"})
		return c.run("link", args...)
	})
}

// Env returns the environment variables that a process needs to use a library of Build. With asan they load
// AddressSanitizer's runtime before all other libraries, leave signals to Go, and turn on the engine's guard mode, in
// which each buffer is an allocation of its own.
func Env(path string, asan bool) []string {
	env := []string{"ROLLCALL_LIBCUDA=" + path}
	if !asan {
		return env
	}
	options := []string{
		"detect_leaks=0",                                      // Go's own memory looks like leaks
		"handle_segv=0", "handle_sigbus=0", "handle_sigfpe=0", // Go turns these into panics
		"use_sigaltstack=0",               // Go has signal stacks of its own
		"detect_stack_use_after_return=0", // would move the variables of a fiber off its stack
		"allocator_may_return_null=1",     // the driver reports that memory ran out
	}
	env = append(env, "ASAN_OPTIONS="+strings.Join(options, ":"),
		"UBSAN_OPTIONS=print_stacktrace=1", "ROLLCALL_GPU_ARENA=guard")
	if out, err := exec.Command("g++", "-print-file-name=libasan.so").Output(); err == nil {
		if lib, err := filepath.EvalSymlinks(strings.TrimSpace(string(out))); err == nil {
			env = append(env, "LD_PRELOAD="+lib)
		}
	}
	return env
}

// inParallel calls f for each input, as many calls at a time as there are processors. It returns the results in the
// order of the inputs, and the first error in that order.
func inParallel[T, R any](in []T, f func(T) (R, error)) ([]R, error) {
	out, errs := make([]R, len(in)), make([]error, len(in))
	_ = files.Parallel(context.Background(), len(in), func(i int) { out[i], errs[i] = f(in[i]) })
	return out, cmp.Or(errs...)
}

// cacheFolder returns the folder of objects and libraries, and makes it if need be.
func cacheFolder() (string, error) {
	dir := os.Getenv("ROLLCALL_EMULATOR_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("emulator: set ROLLCALL_EMULATOR_CACHE: %w", err)
		}
		dir = filepath.Join(user, "rollcall", "emulator")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("emulator: cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("emulator: cache: %w", err)
	}
	return dir, nil
}
