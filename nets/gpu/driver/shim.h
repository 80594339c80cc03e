/* shim.h: loads the driver library at run time, and makes the driver calls that Go cannot make by itself. */
#ifndef ROLLCALL_SHIM_H
#define ROLLCALL_SHIM_H
#include "cuda.h"

#pragma GCC visibility push(hidden)

/* One row of the table, in the order of needed.h, then linked.h. */
typedef struct {
  const char *symbol; /* in libcuda.so.1 */
  int needed;         /* 1: rollcall cannot do without it; 0: it may be missing */
  void *address;      /* 0 until shim_open has found it */
} shim_call;

/* Opens the library, and the compiler of PTX beside it if there is one, and looks up every symbol; it calls nothing in
 * the library. On success it returns 0 and sets *path to the file of the library, which the caller frees. Otherwise it
 * returns the loader's message, valid until the next call. */
const char *shim_open(const char *name, char **path);

/* Returns the table and sets *n to its length. */
const shim_call *shim_calls(int *n);

/* Compiles and loads PTX with cuModuleLoadDataEx. log receives up to n bytes of the compiler's messages. ptx and log
 * are C memory, since the driver may keep pointers to them during the call. */
CUresult shim_load(CUmodule *module, const char *ptx, char *log, size_t n);

/* Launches a kernel that has one parameter. args points to the parameter. */
CUresult shim_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
                     unsigned int bz, unsigned int shared, CUstream s, void *args);

/* Adds such a launch, of gx × gy blocks of bx threads, to a graph, behind n nodes. */
CUresult shim_add(CUgraphNode *node, CUgraph g, const CUgraphNode *after, size_t n, CUfunction f, unsigned int gx,
                  unsigned int gy, unsigned int bx, unsigned int shared, void *args);

#pragma GCC visibility pop
#endif
