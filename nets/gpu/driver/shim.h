/* shim.h: the driver library found at run time, its table of symbols, and calls that Go cannot make by itself. */
#ifndef ROLLCALL_SHIM_H
#define ROLLCALL_SHIM_H
#include "cuda.h"

#pragma GCC visibility push(hidden)

/* One row of the table, in the order of needed.h, then linked.h. */
typedef struct {
  const char *symbol; /* in libcuda.so.1 */
  int needed;         /* 1: rollcall calls it; 0: only cu refers to it, or it is optional */
  void *address;      /* 0 until shim_open found it */
} shim_call;

/* Opens the library and looks every symbol up; nothing in the library is called. On success *path is the file it was loaded
 * from, to be freed by the caller; otherwise the result is the loader's message, valid until the next call. */
const char *shim_open(const char *name, char **path);

/* The table; *n is its length. */
const shim_call *shim_calls(int *n);

/* cuModuleLoadDataEx with room for n bytes of the compiler's messages; ptx and log are C memory. */
CUresult shim_load(CUmodule *module, const char *ptx, char *log, size_t n);

/* cuLaunchKernel for a kernel with one parameter, which args points to. */
CUresult shim_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
                     unsigned int bz, unsigned int shared, CUstream s, void *args);

#pragma GCC visibility pop
#endif
