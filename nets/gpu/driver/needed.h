/* needed.h: the driver functions that rollcall calls. A driver that lacks one of them is refused.
 *
 * CALL(name in C, symbol in libcuda.so.1, parameters, arguments) */

CALL(cuInitDriver, cuInit, (unsigned int flags), (flags))
CALL(cuDriverGetVersion, cuDriverGetVersion, (int *v), (v))
CALL(cuGetErrorName, cuGetErrorName, (CUresult e, const char **s), (e, s))
CALL(cuGetErrorString, cuGetErrorString, (CUresult e, const char **s), (e, s))

CALL(cuDeviceGet, cuDeviceGet, (CUdevice * d, int ordinal), (d, ordinal))
CALL(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *v, CUdevice_attribute a, CUdevice d), (v, a, d))
CALL(cuDeviceGetCount, cuDeviceGetCount, (int *n), (n))
CALL(cuDeviceGetName, cuDeviceGetName, (char *s, int n, CUdevice d), (s, n, d))
CALL(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *n, CUdevice d), (n, d))
CALL(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, (CUdevice d, unsigned int f), (d, f))
CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice d), (c, d))
CALL(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice d), (d))
CALL(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext c), (c))

CALL(cuModuleLoadDataEx, cuModuleLoadDataEx,
     (CUmodule * m, const void *p, unsigned int n, CUjit_option *o, void **v), (m, p, n, o, v))
CALL(cuModuleUnload, cuModuleUnload, (CUmodule m), (m))
CALL(cuModuleGetFunction, cuModuleGetFunction, (CUfunction * f, CUmodule m, const char *s), (f, m, s))
CALL(cuFuncGetAttribute, cuFuncGetAttribute, (int *v, CUfunction_attribute a, CUfunction f), (v, a, f))
CALL(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int v), (f, a, v))
CALL(cuLaunchKernel, cuLaunchKernel,
     (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
      unsigned int bz, unsigned int shared, CUstream s, void **params, void **extra),
     (f, gx, gy, gz, bx, by, bz, shared, s, params, extra))

CALL(cuMemGetInfo, cuMemGetInfo_v2, (size_t *f, size_t *t), (f, t))
CALL(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * p, size_t n), (p, n))
CALL(cuMemFree, cuMemFree_v2, (CUdeviceptr p), (p))
CALL(cuMemHostAlloc, cuMemHostAlloc, (void **p, size_t n, unsigned int f), (p, n, f))
CALL(cuMemFreeHost, cuMemFreeHost, (void *p), (p))
CALL(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr d, const void *s, size_t n, CUstream h), (d, s, n, h))
CALL(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *d, CUdeviceptr s, size_t n, CUstream h), (d, s, n, h))
CALL(cuMemsetD32Async, cuMemsetD32Async, (CUdeviceptr d, unsigned int v, size_t n, CUstream s), (d, v, n, s))

CALL(cuStreamCreate, cuStreamCreate, (CUstream * s, unsigned int f), (s, f))
CALL(cuStreamDestroy, cuStreamDestroy_v2, (CUstream s), (s))
CALL(cuStreamSynchronize, cuStreamSynchronize, (CUstream s), (s))
CALL(cuEventCreate, cuEventCreate, (CUevent * e, unsigned int f), (e, f))
CALL(cuEventDestroy, cuEventDestroy_v2, (CUevent e), (e))
CALL(cuEventRecord, cuEventRecord, (CUevent e, CUstream s), (e, s))
CALL(cuEventElapsedTime, cuEventElapsedTime, (float *ms, CUevent a, CUevent b), (ms, a, b))

CALL(cuGraphCreate, cuGraphCreate, (CUgraph * g, unsigned int f), (g, f))
CALL(cuGraphAddKernelNode_v2, cuGraphAddKernelNode_v2,
     (CUgraphNode * o, CUgraph g, const CUgraphNode *d, size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *p), (o, g, d, n, p))
CALL(cuGraphDestroy, cuGraphDestroy, (CUgraph g), (g))
CALL(cuGraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec * x, CUgraph g, unsigned long long f), (x, g, f))
CALL(cuGraphLaunch, cuGraphLaunch, (CUgraphExec x, CUstream s), (x, s))
CALL(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec x), (x))
