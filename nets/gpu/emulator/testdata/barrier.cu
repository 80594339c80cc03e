// Kernels whose threads wait for each other, correct ones and wrong ones.
#include "../../kernels/prelude.cuh"

struct ArrayArgs {
	float *x; // [grid, block]
	uint32_t n;
};

// reverse: x[b,i] = x[b,n-1-i].
extern "C" __global__ void __launch_bounds__(256) reverse(const ArrayArgs a) {
	SHARED(float, tile, [256]);
	float *x = a.x + blockIdx.x * blockDim.x;
	tile[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// reverse_dropped is reverse without its barrier.
extern "C" __global__ void __launch_bounds__(256) reverse_dropped(const ArrayArgs a) {
	SHARED(float, tile, [256]);
	float *x = a.x + blockIdx.x * blockDim.x;
	tile[threadIdx.x] = x[threadIdx.x];
	x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// rotate_dropped: n turns by one place in shared memory, without the barrier between reads and the next writes.
extern "C" __global__ void rotate_dropped(const ArrayArgs a) {
	SHARED(float, tile, [1024]);
	tile[threadIdx.x] = a.x[threadIdx.x];
	float v = 0;
	for (uint32_t turn = 0; turn < a.n; turn++) {
		__syncthreads();
		v = tile[(threadIdx.x + 1) % blockDim.x];
		tile[threadIdx.x] = v;
	}
	a.x[threadIdx.x] = v;
}

// leaves_early: the threads from number n on miss the barrier.
extern "C" __global__ void leaves_early(const ArrayArgs a) {
	if (threadIdx.x >= a.n) return;
	__syncthreads();
	a.x[threadIdx.x] = 1;
}

// two_barriers: the threads from number n on wait at another barrier than the others.
extern "C" __global__ void two_barriers(const ArrayArgs a) {
	if (threadIdx.x >= a.n) {
		__syncthreads();
	} else {
		__syncthreads();
	}
	a.x[threadIdx.x] = 1;
}

// lane_missing: lane n of each warp is not at the shuffle.
extern "C" __global__ void lane_missing(const ArrayArgs a) {
	if (threadIdx.x % 32 == a.n) return;
	a.x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, a.x[threadIdx.x], 1);
}

// lanes_disagree: half a warp shuffles with xor, half with down.
extern "C" __global__ void lanes_disagree(const ArrayArgs a) {
	float v = a.x[threadIdx.x];
	a.x[threadIdx.x] = threadIdx.x < 16 ? __shfl_xor_sync(0xffffffffu, v, 1) : __shfl_down_sync(0xffffffffu, v, 1);
}

// mma_half: only the lanes below 16 multiply.
extern "C" __global__ void mma_half(const ArrayArgs a) {
	float d[4] = {0, 0, 0, 0};
	uint32_t f[4] = {0, 0, 0, 0}, g[2] = {0, 0};
	if (threadIdx.x < 16) mma_tf32_16x8x8(d, f, g);
	__syncthreads();
	a.x[threadIdx.x] = d[0];
}
