// Command goprocess uses the emulator from Go while garbage collection, signals and other threads are at work.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *library, *context;
// call calls a function of the driver, with the context current, on whatever thread Go runs it.
static int call(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) {
	int (*f)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) = dlsym(library, name);
	int (*set_current)(void *) = dlsym(library, "cuCtxSetCurrent");
	if (context != NULL) set_current(context);
	return f == NULL ? -1 : f(a, b, c, d, e);
}
struct memory_args { uint64_t x, order; uint32_t n; };
// start loads a kernel of memory.cu and launches it on 4 blocks of 256 threads.
static int start(const char *name, uint64_t x, uint32_t n) {
	char ptx[300];
	void *module, *f;
	struct memory_args args = {x, 0, n};
	void *params[] = {&args};
	snprintf(ptx, sizeof ptx, ".version 7.8\n.target sm_80\n.visible .entry %s(\n.param .align 8 .b8 %s_param_0[24]\n)\n",
		name, name);
	int code = call("cuModuleLoadDataEx", (uint64_t)&module, (uint64_t)ptx, 0, 0, 0);
	if (code == 0) code = call("cuModuleGetFunction", (uint64_t)&f, (uint64_t)module, (uint64_t)name, 0, 0);
	if (code != 0) return code;
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		void **) = dlsym(library, "cuLaunchKernel");
	return launch(f, 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
}
static uint64_t allocate(size_t n) { uint64_t p = 0; call("cuMemAlloc_v2", (uint64_t)&p, n, 0, 0, 0); return p; }
static int setup(const char *path) {
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) { puts(dlerror()); return -1; }
	int code = call("cuInit", 0, 0, 0, 0, 0);
	return code != 0 ? code : call("cuDevicePrimaryCtxRetain", (uint64_t)&context, 0, 0, 0, 0);
}
static int synchronize(void) { return call("cuCtxSynchronize", 0, 0, 0, 0, 0); }
static float first(uint64_t p) { float v = 0; call("cuMemcpyDtoH_v2", (uint64_t)&v, p, 4, 0, 0); return v; }
static int clear(uint64_t p, size_t n) { return call("cuMemsetD32_v2", p, 0, n, 0, 0); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
)

func main() {
	if code := C.setup(C.CString(os.Getenv("ROLLCALL_LIBCUDA"))); code != 0 {
		fmt.Println("setup:", code)
		os.Exit(1)
	}
	x := C.allocate(4 * 1024)
	C.clear(x, 1024)
	if len(os.Args) > 1 && os.Args[1] == "overrun" {
		C.start(C.CString("add"), x+4, 1)
		fmt.Println("overrun:", C.synchronize())
		return
	}
	var wait sync.WaitGroup
	var lock sync.Mutex
	for range 4 {
		wait.Go(func() {
			for range 50 {
				garbage := make([]byte, 1<<20)
				garbage[0] = 1
				lock.Lock()
				code := C.start(C.CString("add"), x, 1)
				if code == 0 {
					code = C.synchronize()
				}
				lock.Unlock()
				if code != 0 {
					fmt.Println("launch:", code)
					os.Exit(1)
				}
				runtime.GC()
			}
		})
	}
	wait.Wait()
	defer func() { fmt.Println("recovered:", recover() != nil, "sum:", C.first(x)) }()
	var nothing *int
	*nothing = 1 // a fault that Go must turn into a panic
}
