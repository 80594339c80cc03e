// drive.h: the functions of the emulated driver, and arrays in its memory, for the cases of drive.cpp.
#pragma once
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <string>
#include <vector>

typedef uint64_t Ptr;

// KernelNode is CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
	void *function;
	unsigned gx, gy, gz, bx, by, bz, dynamic_bytes;
	void **params, **extra;
	void *kernel, *context;
};

#define DRIVER_CALLS(X) \
	X(cuInit, unsigned) \
	X(cuGetErrorString, int, const char **) \
	X(cuDeviceGetCount, int *) \
	X(cuDeviceGetUuid_v2, unsigned char *, int) \
	X(cuDeviceGetAttribute, int *, int, int) \
	X(cuDevicePrimaryCtxRetain, void **, int) \
	X(cuDevicePrimaryCtxRelease_v2, int) \
	X(cuCtxSetCurrent, void *) \
	X(cuModuleLoadDataEx, void **, const void *, unsigned, const int *, void **) \
	X(cuModuleGetFunction, void **, void *, const char *) \
	X(cuFuncGetAttribute, int *, int, void *) \
	X(cuFuncSetAttribute, void *, int, int) \
	X(cuFuncGetParamInfo, void *, size_t, size_t *, size_t *) \
	X(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, \
		void **) \
	X(cuMemAlloc_v2, Ptr *, size_t) \
	X(cuMemFree_v2, Ptr) \
	X(cuMemGetInfo_v2, size_t *, size_t *) \
	X(cuMemHostAlloc, void **, size_t, unsigned) \
	X(cuMemcpyHtoD_v2, Ptr, const void *, size_t) \
	X(cuMemcpyDtoH_v2, void *, Ptr, size_t) \
	X(cuMemcpyHtoDAsync_v2, Ptr, const void *, size_t, void *) \
	X(cuMemcpyDtoHAsync_v2, void *, Ptr, size_t, void *) \
	X(cuCtxSynchronize) \
	X(cuStreamCreate, void **, unsigned) \
	X(cuStreamSynchronize, void *) \
	X(cuGraphCreate, void **, unsigned) \
	X(cuGraphAddKernelNode_v2, void **, void *, void *const *, size_t, const KernelNode *) \
	X(cuGraphInstantiateWithFlags, void **, void *, unsigned long long) \
	X(cuGraphLaunch, void *, void *) \
	X(cuGraphExecDestroy, void *) \
	X(cuGraphDestroy, void *)

#define POINTER(name, ...) static int (*name)(__VA_ARGS__);
DRIVER_CALLS(POINTER)
#undef POINTER

static void *context = nullptr; // the primary context, which every thread makes current

static std::string text_of(int code) {
	const char *text = nullptr;
	cuGetErrorString(code, &text);
	return text == nullptr ? "" : text;
}

// ok ends the process with the driver's message if a call failed.
#define ok(call) \
	do { \
		int code_ = (call); \
		if (code_ != 0) { \
			printf("%s:%d: %s: %d %s\n", __FILE__, __LINE__, #call, code_, text_of(code_).c_str()); \
			exit(1); \
		} \
	} while (0)

// expect ends the process unless the condition holds. The message has the value got and the value wanted.
#define expect(condition, ...) \
	do { \
		if (!(condition)) { \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			printf(__VA_ARGS__); \
			printf("\n"); \
			exit(1); \
		} \
	} while (0)

// ptx_for returns the parts of a kernel's PTX that the emulator reads.
static std::string ptx_for(const std::string &name, size_t arg_bytes) {
	return ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry " + name + "(\n.param .align 8 .b8 " +
		name + "_param_0[" +
		std::to_string(arg_bytes) + "]\n)\n{ ret; }\n";
}

// function returns a kernel, and loads it on the first call.
static void *function(const std::string &name, size_t arg_bytes) {
	static std::map<std::string, void *> known;
	void *module = nullptr, *&f = known[name];
	if (f != nullptr) return f;
	ok(cuModuleLoadDataEx(&module, ptx_for(name, arg_bytes).c_str(), 0, nullptr, nullptr));
	ok(cuModuleGetFunction(&f, module, name.c_str()));
	return f;
}

struct Shape {
	unsigned grid, block, dynamic_bytes = 0;
	void *stream = nullptr;
};

template <class Args> void start(const std::string &name, Shape s, Args args) {
	void *f = function(name, sizeof args), *params[] = {&args};
	if (s.dynamic_bytes > 48 << 10) ok(cuFuncSetAttribute(f, 8, (int)s.dynamic_bytes));
	ok(cuLaunchKernel(f, s.grid, 1, 1, s.block, 1, 1, s.dynamic_bytes, s.stream, params, nullptr));
}

// add adds such a launch to a graph, behind the nodes that it waits for, and returns its node.
template <class Args> void *add(void *graph, const std::string &name, Shape s, Args args, std::vector<void *> after) {
	void *params[] = {&args}, *node = nullptr;
	KernelNode k{function(name, sizeof args), s.grid, 1, 1, s.block, 1, 1, s.dynamic_bytes, params, nullptr, nullptr,
		nullptr};
	ok(cuGraphAddKernelNode_v2(&node, graph, after.data(), after.size(), &k));
	return node;
}

// Array is an array of T in device memory.
template <class T> struct Array {
	Ptr p = 0;
	size_t n;
	explicit Array(size_t n) : n(n) { ok(cuMemAlloc_v2(&p, n * sizeof(T))); }
	explicit Array(const std::vector<T> &v) : Array(v.size()) { ok(cuMemcpyHtoD_v2(p, v.data(), n * sizeof(T))); }
	T *ptr() const { return reinterpret_cast<T *>(p); }
	std::vector<T> get() const {
		std::vector<T> v(n);
		ok(cuMemcpyDtoH_v2(v.data(), p, n * sizeof(T)));
		return v;
	}
};
