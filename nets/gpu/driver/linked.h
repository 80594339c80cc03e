/* linked.h: the driver functions that gorgonia.org/cu refers to and rollcall never calls. A driver may lack them.
 * The last one is an exception: rollcall calls it, but only drivers of CUDA 12.4 and later have it.
 *
 * CALL(name in C, symbol in libcuda.so.1, parameters, arguments) */

CALL(cuDeviceGetUuid, cuDeviceGetUuid_v2, (CUuuid *u, CUdevice d), (u, d))
CALL(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute,
     (int *v, CUdevice_P2PAttribute a, CUdevice s, CUdevice d), (v, a, s, d))
CALL(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *v, CUdevice d, CUdevice p), (v, d, p))
CALL(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, (CUdevice d), (d))
CALL(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, (CUdevice d, unsigned int *f, int *a), (d, f, a))
CALL(cuCtxCreate, cuCtxCreate_v2, (CUcontext *c, unsigned int f, CUdevice d), (c, f, d))
CALL(cuCtxDestroy, cuCtxDestroy_v2, (CUcontext c), (c))
CALL(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext c), (c))
CALL(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *c), (c))
CALL(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext *c), (c))
CALL(cuCtxGetDevice, cuCtxGetDevice, (CUdevice *d), (d))
CALL(cuCtxGetFlags, cuCtxGetFlags, (unsigned int *f), (f))
CALL(cuCtxSetLimit, cuCtxSetLimit, (CUlimit l, size_t v), (l, v))
CALL(cuCtxGetLimit, cuCtxGetLimit, (size_t *v, CUlimit l), (v, l))
CALL(cuCtxGetCacheConfig, cuCtxGetCacheConfig, (CUfunc_cache *c), (c))
CALL(cuCtxSetCacheConfig, cuCtxSetCacheConfig, (CUfunc_cache c), (c))
CALL(cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, (CUsharedconfig *c), (c))
CALL(cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, (CUsharedconfig c), (c))
CALL(cuCtxGetApiVersion, cuCtxGetApiVersion, (CUcontext c, unsigned int *v), (c, v))
CALL(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *l, int *g), (l, g))
CALL(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, (void), ())
CALL(cuCtxSynchronize, cuCtxSynchronize, (void), ())
CALL(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (CUcontext c, unsigned int f), (c, f))
CALL(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, (CUcontext c), (c))
CALL(cuModuleLoad, cuModuleLoad, (CUmodule *m, const char *f), (m, f))
CALL(cuModuleLoadData, cuModuleLoadData, (CUmodule *m, const void *p), (m, p))
CALL(cuModuleLoadFatBinary, cuModuleLoadFatBinary, (CUmodule *m, const void *p), (m, p))
CALL(cuModuleGetGlobal, cuModuleGetGlobal_v2, (CUdeviceptr *p, size_t *n, CUmodule m, const char *s), (p, n, m, s))
CALL(cuModuleGetTexRef, cuModuleGetTexRef, (CUtexref *t, CUmodule m, const char *s), (t, m, s))
CALL(cuModuleGetSurfRef, cuModuleGetSurfRef, (CUsurfref *t, CUmodule m, const char *s), (t, m, s))
CALL(cuLinkCreate, cuLinkCreate_v2, (unsigned int n, CUjit_option *o, void **v, CUlinkState *s), (n, o, v, s))
CALL(cuLinkAddData, cuLinkAddData_v2,
     (CUlinkState s, CUjitInputType t, void *p, size_t z, const char *name, unsigned int n, CUjit_option *o, void **v),
     (s, t, p, z, name, n, o, v))
CALL(cuLinkAddFile, cuLinkAddFile_v2,
     (CUlinkState s, CUjitInputType t, const char *path, unsigned int n, CUjit_option *o, void **v),
     (s, t, path, n, o, v))
CALL(cuLinkComplete, cuLinkComplete, (CUlinkState s, void **p, size_t *z), (s, p, z))
CALL(cuLinkDestroy, cuLinkDestroy, (CUlinkState s), (s))
CALL(cuMemAllocPitch, cuMemAllocPitch_v2,
     (CUdeviceptr *p, size_t *pitch, size_t w, size_t h, unsigned int e), (p, pitch, w, h, e))
CALL(cuMemAllocManaged, cuMemAllocManaged, (CUdeviceptr *p, size_t n, unsigned int f), (p, n, f))
CALL(cuMemGetAddressRange, cuMemGetAddressRange_v2, (CUdeviceptr *b, size_t *n, CUdeviceptr p), (b, n, p))
CALL(cuMemAdvise, cuMemAdvise, (CUdeviceptr p, size_t n, CUmem_advise a, CUdevice d), (p, n, a, d))
CALL(cuMemPrefetchAsync, cuMemPrefetchAsync, (CUdeviceptr p, size_t n, CUdevice d, CUstream s), (p, n, d, s))
CALL(cuPointerGetAttribute, cuPointerGetAttribute, (void *v, CUpointer_attribute a, CUdeviceptr p), (v, a, p))
CALL(cuPointerSetAttribute, cuPointerSetAttribute, (const void *v, CUpointer_attribute a, CUdeviceptr p), (v, a, p))
CALL(cuMemcpy, cuMemcpy, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n))
CALL(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr d, const void *s, size_t n), (d, s, n))
CALL(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *d, CUdeviceptr s, size_t n), (d, s, n))
CALL(cuMemcpyDtoD, cuMemcpyDtoD_v2, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n))
CALL(cuMemcpyAsync, cuMemcpyAsync, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h), (d, s, n, h))
CALL(cuMemcpyPeer, cuMemcpyPeer,
     (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n), (d, dc, s, sc, n))
CALL(cuMemcpyPeerAsync, cuMemcpyPeerAsync,
     (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n, CUstream h), (d, dc, s, sc, n, h))
CALL(cuMemcpyDtoA, cuMemcpyDtoA_v2, (CUarray d, size_t o, CUdeviceptr s, size_t n), (d, o, s, n))
CALL(cuMemcpyAtoD, cuMemcpyAtoD_v2, (CUdeviceptr d, CUarray s, size_t o, size_t n), (d, s, o, n))
CALL(cuMemcpyHtoA, cuMemcpyHtoA_v2, (CUarray d, size_t o, const void *s, size_t n), (d, o, s, n))
CALL(cuMemcpyAtoH, cuMemcpyAtoH_v2, (void *d, CUarray s, size_t o, size_t n), (d, s, o, n))
CALL(cuMemcpyAtoA, cuMemcpyAtoA_v2, (CUarray d, size_t od, CUarray s, size_t os, size_t n), (d, od, s, os, n))
CALL(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2,
     (CUarray d, size_t o, const void *s, size_t n, CUstream h), (d, o, s, n, h))
CALL(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2, (void *d, CUarray s, size_t o, size_t n, CUstream h), (d, s, o, n, h))
CALL(cuMemcpy2D, cuMemcpy2D_v2, (const CUDA_MEMCPY2D *p), (p))
CALL(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *p), (p))
CALL(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *p, CUstream h), (p, h))
CALL(cuMemcpy3D, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *p), (p))
CALL(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *p, CUstream h), (p, h))
CALL(cuMemcpy3DPeer, cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *p), (p))
CALL(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *p, CUstream h), (p, h))
CALL(cuMemsetD8, cuMemsetD8_v2, (CUdeviceptr d, unsigned char v, size_t n), (d, v, n))
CALL(cuMemsetD16, cuMemsetD16_v2, (CUdeviceptr d, unsigned short v, size_t n), (d, v, n))
CALL(cuMemsetD32, cuMemsetD32_v2, (CUdeviceptr d, unsigned int v, size_t n), (d, v, n))
CALL(cuMemsetD2D8, cuMemsetD2D8_v2, (CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t h), (d, p, v, w, h))
CALL(cuMemsetD2D16, cuMemsetD2D16_v2, (CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t h), (d, p, v, w, h))
CALL(cuMemsetD2D32, cuMemsetD2D32_v2, (CUdeviceptr d, size_t p, unsigned int v, size_t w, size_t h), (d, p, v, w, h))
CALL(cuMemsetD8Async, cuMemsetD8Async, (CUdeviceptr d, unsigned char v, size_t n, CUstream s), (d, v, n, s))
CALL(cuMemsetD16Async, cuMemsetD16Async, (CUdeviceptr d, unsigned short v, size_t n, CUstream s), (d, v, n, s))
CALL(cuMemsetD2D8Async, cuMemsetD2D8Async,
     (CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t h, CUstream s), (d, p, v, w, h, s))
CALL(cuMemsetD2D16Async, cuMemsetD2D16Async,
     (CUdeviceptr d, size_t p, unsigned short v, size_t w, size_t h, CUstream s), (d, p, v, w, h, s))
CALL(cuMemsetD2D32Async, cuMemsetD2D32Async,
     (CUdeviceptr d, size_t p, unsigned int v, size_t w, size_t h, CUstream s), (d, p, v, w, h, s))
CALL(cuArrayCreate, cuArrayCreate_v2, (CUarray *a, const CUDA_ARRAY_DESCRIPTOR *d), (a, d))
CALL(cuArrayGetDescriptor, cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR *d, CUarray a), (d, a))
CALL(cuArrayDestroy, cuArrayDestroy, (CUarray a), (a))
CALL(cuArray3DCreate, cuArray3DCreate_v2, (CUarray *a, const CUDA_ARRAY3D_DESCRIPTOR *d), (a, d))
CALL(cuArray3DGetDescriptor, cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR *d, CUarray a), (d, a))
CALL(cuStreamCreateWithPriority, cuStreamCreateWithPriority, (CUstream *s, unsigned int f, int p), (s, f, p))
CALL(cuStreamGetPriority, cuStreamGetPriority, (CUstream s, int *p), (s, p))
CALL(cuStreamGetFlags, cuStreamGetFlags, (CUstream s, unsigned int *f), (s, f))
CALL(cuStreamAttachMemAsync, cuStreamAttachMemAsync,
     (CUstream s, CUdeviceptr p, size_t n, unsigned int f), (s, p, n, f))
CALL(cuStreamQuery, cuStreamQuery, (CUstream s), (s))
CALL(cuStreamWaitValue32, cuStreamWaitValue32_v2,
     (CUstream s, CUdeviceptr p, cuuint32_t v, unsigned int f), (s, p, v, f))
CALL(cuStreamWriteValue32, cuStreamWriteValue32_v2,
     (CUstream s, CUdeviceptr p, cuuint32_t v, unsigned int f), (s, p, v, f))
CALL(cuEventQuery, cuEventQuery, (CUevent e), (e))
CALL(cuFuncSetCacheConfig, cuFuncSetCacheConfig, (CUfunction f, CUfunc_cache c), (f, c))
CALL(cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, (CUfunction f, CUsharedconfig c), (f, c))
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,
     (int *n, CUfunction f, int b, size_t s), (n, f, b, s))
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
     (int *n, CUfunction f, int b, size_t s, unsigned int fl), (n, f, b, s, fl))
CALL(cuTexRefSetArray, cuTexRefSetArray, (CUtexref t, CUarray a, unsigned int f), (t, a, f))
CALL(cuTexRefSetAddress, cuTexRefSetAddress_v2, (size_t *o, CUtexref t, CUdeviceptr p, size_t n), (o, t, p, n))
CALL(cuTexRefSetAddress2D, cuTexRefSetAddress2D_v3,
     (CUtexref t, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr p, size_t pitch), (t, d, p, pitch))
CALL(cuTexRefSetFormat, cuTexRefSetFormat, (CUtexref t, CUarray_format f, int n), (t, f, n))
CALL(cuTexRefSetAddressMode, cuTexRefSetAddressMode, (CUtexref t, int d, CUaddress_mode m), (t, d, m))
CALL(cuTexRefSetFilterMode, cuTexRefSetFilterMode, (CUtexref t, CUfilter_mode m), (t, m))
CALL(cuTexRefSetMipmapFilterMode, cuTexRefSetMipmapFilterMode, (CUtexref t, CUfilter_mode m), (t, m))
CALL(cuTexRefSetMipmapLevelBias, cuTexRefSetMipmapLevelBias, (CUtexref t, float b), (t, b))
CALL(cuTexRefSetMipmapLevelClamp, cuTexRefSetMipmapLevelClamp, (CUtexref t, float a, float b), (t, a, b))
CALL(cuTexRefSetMaxAnisotropy, cuTexRefSetMaxAnisotropy, (CUtexref t, unsigned int a), (t, a))
CALL(cuTexRefSetBorderColor, cuTexRefSetBorderColor, (CUtexref t, float *c), (t, c))
CALL(cuTexRefSetFlags, cuTexRefSetFlags, (CUtexref t, unsigned int f), (t, f))
CALL(cuTexRefGetAddress, cuTexRefGetAddress_v2, (CUdeviceptr *p, CUtexref t), (p, t))
CALL(cuTexRefGetArray, cuTexRefGetArray, (CUarray *a, CUtexref t), (a, t))
CALL(cuTexRefGetAddressMode, cuTexRefGetAddressMode, (CUaddress_mode *m, CUtexref t, int d), (m, t, d))
CALL(cuTexRefGetFilterMode, cuTexRefGetFilterMode, (CUfilter_mode *m, CUtexref t), (m, t))
CALL(cuTexRefGetFormat, cuTexRefGetFormat, (CUarray_format *f, int *n, CUtexref t), (f, n, t))
CALL(cuTexRefGetMaxAnisotropy, cuTexRefGetMaxAnisotropy, (int *a, CUtexref t), (a, t))
CALL(cuTexRefGetBorderColor, cuTexRefGetBorderColor, (float *c, CUtexref t), (c, t))
CALL(cuTexRefGetFlags, cuTexRefGetFlags, (unsigned int *f, CUtexref t), (f, t))
CALL(cuSurfRefSetArray, cuSurfRefSetArray, (CUsurfref r, CUarray a, unsigned int f), (r, a, f))
CALL(cuSurfRefGetArray, cuSurfRefGetArray, (CUarray *a, CUsurfref r), (a, r))
CALL(cuGraphClone, cuGraphClone, (CUgraph *c, CUgraph g), (c, g))
CALL(cuGraphAddDependencies, cuGraphAddDependencies,
     (CUgraph g, const CUgraphNode *f, const CUgraphNode *t, size_t n), (g, f, t, n))
CALL(cuGraphGetEdges, cuGraphGetEdges, (CUgraph g, CUgraphNode *f, CUgraphNode *t, size_t *n), (g, f, t, n))
CALL(cuGraphAddEmptyNode, cuGraphAddEmptyNode,
     (CUgraphNode *o, CUgraph g, const CUgraphNode *d, size_t n), (o, g, d, n))
CALL(cuGraphAddHostNode, cuGraphAddHostNode,
     (CUgraphNode *o, CUgraph g, const CUgraphNode *d, size_t n, const CUDA_HOST_NODE_PARAMS *p), (o, g, d, n, p))
CALL(cuGraphAddKernelNode, cuGraphAddKernelNode,
     (CUgraphNode *o, CUgraph g, const CUgraphNode *d, size_t n, const CUDA_KERNEL_NODE_PARAMS *p), (o, g, d, n, p))
CALL(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode,
     (CUgraphNode *o, CUgraph g, const CUgraphNode *d, size_t n, const CUDA_MEMCPY3D *p, CUcontext c),
     (o, g, d, n, p, c))
CALL(cuGraphAddMemsetNode, cuGraphAddMemsetNode,
     (CUgraphNode *o, CUgraph g, const CUgraphNode *d, size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c),
     (o, g, d, n, p, c))
CALL(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode,
     (CUgraphNode *o, CUgraph g, const CUgraphNode *d, size_t n, CUgraph c), (o, g, d, n, c))
CALL(cuGraphDestroyNode, cuGraphDestroyNode, (CUgraphNode n), (n))
CALL(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h), (d, s, n, h))
CALL(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream s, CUevent e, unsigned int f), (s, e, f))
CALL(cuEventSynchronize, cuEventSynchronize, (CUevent e), (e))

CALL(cuFuncGetParamInfo, cuFuncGetParamInfo,
     (CUfunction f, size_t i, size_t *offset, size_t *size), (f, i, offset, size))
