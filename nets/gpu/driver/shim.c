//go:build gpu && linux && cgo

/* shim.c: defines every driver function as a call into the library that shim_open loaded, so that a program starts on a
 * machine without a driver.
 *
 * shim_open fills a table of addresses once, before any other call, so that the calls need no lock. */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* The index of each function in the table. */
enum {
#define CALL(name, symbol, params, args) row_##name,
#include "needed.h"
#include "linked.h"
#undef CALL
  rows
};

static shim_call table[] = {
#define CALL(name, symbol, params, args) {#symbol, 1, 0},
#include "needed.h"
#undef CALL
#define CALL(name, symbol, params, args) {#symbol, 0, 0},
#include "linked.h"
#undef CALL
};

#define CALL(name, symbol, params, args)                                       \
  CUresult name params {                                                       \
    void *address = table[row_##name].address;                                 \
    if (!address) return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;            \
    return ((CUresult(*) params)address)args;                                  \
  }
#include "needed.h"
#include "linked.h"
#undef CALL

CUresult cuInit(unsigned int flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }

/* libcuda opens its compiler by name when it loads PTX, wherever the loader looks: that need not be the folder in which
 * we found libcuda. A library that is open already is found by its name, however it was opened. */
static void open_compiler(const char *libcuda) {
  const char *end = strrchr(libcuda, '/');
  char *path;
  if (!end || asprintf(&path, "%.*s/libnvidia-ptxjitcompiler.so.1", (int)(end - libcuda), libcuda) < 0) return;
  dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  free(path);
}

const char *shim_open(const char *name, char **path) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
  for (int i = 0; i < rows; i++) table[i].address = dlsym(library, table[i].symbol);
  struct link_map *map = NULL;
  const char *file = name;
  if (!dlinfo(library, RTLD_DI_LINKMAP, &map) && map && map->l_name && *map->l_name) file = map->l_name;
  *path = strdup(file);
  open_compiler(file);
  return NULL;
}

const shim_call *shim_calls(int *n) {
  *n = rows;
  return table;
}

CUresult shim_load(CUmodule *module, const char *ptx, char *log, size_t n) {
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)n};
  return cuModuleLoadDataEx(module, ptx, 2, options, values);
}

CUresult shim_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
                     unsigned int bz, unsigned int shared, CUstream s, void *args) {
  void *params[] = {args};
  return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, params, NULL);
}

CUresult shim_add(CUgraphNode *node, CUgraph g, const CUgraphNode *after, size_t n, CUfunction f, unsigned int gx,
                  unsigned int gy, unsigned int bx, unsigned int shared, void *args) {
  void *params[] = {args};
  CUDA_KERNEL_NODE_PARAMS_v2 launch = {
      .func = f, .gridDimX = gx, .gridDimY = gy, .gridDimZ = 1, .blockDimX = bx, .blockDimY = 1, .blockDimZ = 1,
      .sharedMemBytes = shared, .kernelParams = params};
  return cuGraphAddKernelNode_v2(node, g, after, n, &launch);
}
