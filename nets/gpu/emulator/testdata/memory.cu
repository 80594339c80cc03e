// Shared and global memory, asynchronous copies, and the order of blocks. The macro DEFINE defines a kernel.
#include "../../kernels/prelude.cuh"

struct CopyArgs {
	const float *x; // [n]
	float *y;       // [n] = 2 x, 0 beyond limit
	uint32_t n, limit, wait;
};

// pipeline doubles x through two stages of shared memory, filled by cp.async. Without wait it reads a stage too early.
template <int bytes> DEV void pipeline(const CopyArgs &a) {
	constexpr uint32_t per = bytes / 4;
	DYNAMIC_SHARED(float, stages); // [2, block per]
	uint32_t stride = blockDim.x * per, steps = a.n / stride;
	auto fetch = [&](uint32_t step) {
		uint32_t i = step * stride + threadIdx.x * per;
		uint32_t to = smem_u32(stages) + 4 * (step % 2 * stride + threadIdx.x * per);
		if (bytes == 4) cp_async4(to, a.x + i, i < a.limit);
		if (bytes == 8) cp_async8(to, a.x + i, i < a.limit);
		if (bytes == 16) cp_async16(to, a.x + i, i < a.limit);
		cp_async_commit();
	};
	fetch(0);
	for (uint32_t step = 0; step < steps; step++) {
		if (step + 1 < steps) {
			fetch(step + 1);
			if (a.wait) cp_async_wait<1>();
		} else {
			if (a.wait) cp_async_wait<0>();
		}
		__syncthreads();
		for (uint32_t i = threadIdx.x; i < stride; i += blockDim.x) {
			a.y[step * stride + i] = 2 * stages[step % 2 * stride + i];
		}
		__syncthreads();
	}
}

#define DEFINE(name, bytes) \
	extern "C" __global__ void __launch_bounds__(64) name(const CopyArgs a) { pipeline<bytes>(a); }
DEFINE(pipeline4, 4)
DEFINE(pipeline8, 8)
DEFINE(pipeline16, 16)

struct MemoryArgs {
	float *x;
	uint32_t *order; // [1+grid] a counter, then the blocks as they ran
	uint32_t n;
};

// forgets fills every element of a shared array but one, and then copies the array to x.
extern "C" __global__ void forgets(const MemoryArgs a) {
	SHARED(float, tile, [64]);
	if (threadIdx.x != 5) tile[threadIdx.x] = 1;
	__syncthreads();
	a.x[threadIdx.x] = tile[threadIdx.x];
}

// global_overrun writes n+1 elements.
extern "C" __global__ void global_overrun(const MemoryArgs a) {
	if (threadIdx.x <= a.n) a.x[threadIdx.x] = 1; // GLOBAL
}

// shared_overrun writes one element past the end of a shared array.
extern "C" __global__ void shared_overrun(const MemoryArgs a) {
	SHARED(float, tile, [32]);
	float *p = tile;
	p[threadIdx.x + a.n] = 1; // SHARED
	__syncthreads();
	a.x[threadIdx.x] = tile[threadIdx.x];
}

// dynamic_overrun writes n elements of dynamic shared memory.
extern "C" __global__ void dynamic_overrun(const MemoryArgs a) {
	DYNAMIC_SHARED(float, p);
	for (uint32_t i = threadIdx.x; i < a.n; i += blockDim.x) p[i] = 1; // DYNAMIC
	__syncthreads();
	a.x[threadIdx.x] = p[threadIdx.x];
}

// misaligned reads four floats where only one is aligned.
extern "C" __global__ void misaligned(const MemoryArgs a) {
	float4 v = *reinterpret_cast<const float4 *>(a.x + a.n); // ALIGNED
	a.x[0] = v.x + v.w;
}

// block_order needs one host thread: it counts without atomics.
extern "C" __global__ void block_order(const MemoryArgs a) {
	if (threadIdx.x == 0) a.order[1 + a.order[0]++] = blockIdx.x;
}

// add: x += n.
extern "C" __global__ void add(const MemoryArgs a) { a.x[blockIdx.x * blockDim.x + threadIdx.x] += (float)a.n; }
