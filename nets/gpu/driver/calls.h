/* calls.h: the driver functions that rollcall calls, by their symbols in libcuda.so.1. A driver that lacks one of them is
 * refused, but for the last: only drivers of CUDA 12.4 and later have it.
 *
 * CALL(symbol, parameters, arguments) */

CALL(cuInit, (unsigned int flags), (flags))
CALL(cuDriverGetVersion, (int *v), (v))
CALL(cuGetErrorName, (CUresult e, const char **s), (e, s))
CALL(cuGetErrorString, (CUresult e, const char **s), (e, s))

CALL(cuDeviceGet, (CUdevice * d, int ordinal), (d, ordinal))
CALL(cuDeviceGetAttribute, (int *v, CUdevice_attribute a, CUdevice d), (v, a, d))
CALL(cuDeviceGetCount, (int *n), (n))
CALL(cuDeviceGetName, (char *s, int n, CUdevice d), (s, n, d))
CALL(cuDeviceTotalMem_v2, (size_t *n, CUdevice d), (n, d))
CALL(cuDevicePrimaryCtxSetFlags_v2, (CUdevice d, unsigned int f), (d, f))
CALL(cuDevicePrimaryCtxGetState, (CUdevice d, unsigned int *f, int *active), (d, f, active))
CALL(cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice d), (c, d))
CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice d), (d))
CALL(cuCtxSetCurrent, (CUcontext c), (c))

CALL(cuModuleLoadDataEx, (CUmodule * m, const void *p, unsigned int n, CUjit_option *o, void **v), (m, p, n, o, v))
CALL(cuModuleUnload, (CUmodule m), (m))
CALL(cuModuleGetFunction, (CUfunction * f, CUmodule m, const char *s), (f, m, s))
CALL(cuFuncGetAttribute, (int *v, CUfunction_attribute a, CUfunction f), (v, a, f))
CALL(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int v), (f, a, v))
CALL(cuLaunchKernel,
     (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
      unsigned int bz, unsigned int shared, CUstream s, void **params, void **extra),
     (f, gx, gy, gz, bx, by, bz, shared, s, params, extra))

CALL(cuMemGetInfo_v2, (size_t *f, size_t *t), (f, t))
CALL(cuMemAlloc_v2, (CUdeviceptr * p, size_t n), (p, n))
CALL(cuMemFree_v2, (CUdeviceptr p), (p))
CALL(cuMemHostAlloc, (void **p, size_t n, unsigned int f), (p, n, f))
CALL(cuMemFreeHost, (void *p), (p))
CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr d, const void *s, size_t n, CUstream h), (d, s, n, h))
CALL(cuMemcpyDtoHAsync_v2, (void *d, CUdeviceptr s, size_t n, CUstream h), (d, s, n, h))
CALL(cuMemsetD32Async, (CUdeviceptr d, unsigned int v, size_t n, CUstream s), (d, v, n, s))

CALL(cuStreamCreate, (CUstream * s, unsigned int f), (s, f))
CALL(cuStreamDestroy_v2, (CUstream s), (s))
CALL(cuStreamSynchronize, (CUstream s), (s))
CALL(cuEventCreate, (CUevent * e, unsigned int f), (e, f))
CALL(cuEventDestroy_v2, (CUevent e), (e))
CALL(cuEventRecord, (CUevent e, CUstream s), (e, s))
CALL(cuEventElapsedTime, (float *ms, CUevent a, CUevent b), (ms, a, b))

CALL(cuGraphCreate, (CUgraph * g, unsigned int f), (g, f))
CALL(cuGraphAddKernelNode_v2,
     (CUgraphNode * o, CUgraph g, const CUgraphNode *d, size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *p), (o, g, d, n, p))
CALL(cuGraphDestroy, (CUgraph g), (g))
CALL(cuGraphInstantiateWithFlags, (CUgraphExec * x, CUgraph g, unsigned long long f), (x, g, f))
CALL(cuGraphLaunch, (CUgraphExec x, CUstream s), (x, s))
CALL(cuGraphExecDestroy, (CUgraphExec x), (x))

CALL(cuFuncGetParamInfo, (CUfunction f, size_t i, size_t *offset, size_t *size), (f, i, offset, size))
