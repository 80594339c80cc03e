// Warp collectives: shuffles, ldmatrix, mma.
#include "../../kernels/prelude.cuh"

struct ShuffleArgs {
	const float *x;  // [32]
	const double *y; // [32]
	float *out;      // [4,32] xor 5, down 3, from lane 7, xor in halves of a warp
	double *sums;    // [32] sum over the warp
	uint32_t *votes; // [32] lanes whose x is above 0
};

extern "C" __global__ void __launch_bounds__(32) shuffles(const ShuffleArgs a) {
	uint32_t i = threadIdx.x, half = i < 16 ? 0x0000ffffu : 0xffff0000u;
	float v = a.x[i];
	a.out[i] = __shfl_xor_sync(0xffffffffu, v, 5);
	a.out[32 + i] = __shfl_down_sync(0xffffffffu, v, 3);
	a.out[64 + i] = __shfl_sync(0xffffffffu, v, 7);
	if (i < 16) {
		a.out[96 + i] = __shfl_xor_sync(half, v, 1);
	} else {
		a.out[96 + i] = __shfl_xor_sync(half, v, 2);
	}
	double s = a.y[i];
	for (int l = 16; l > 0; l /= 2) s += __shfl_xor_sync(0xffffffffu, s, l);
	a.sums[i] = s;
	a.votes[i] = __ballot_sync(0xffffffffu, v > 0);
}

struct MatrixArgs {
	const uint16_t *x; // [32,8]: four matrices of 8 rows
	uint32_t *out;     // [6,32,4] for x1, x2, x4 and the same transposed; what a load does not write is 0
};

extern "C" __global__ void __launch_bounds__(32) matrices(const MatrixArgs a) {
	SHARED(uint16_t, tile, [32][24]); // rows 48 bytes apart
	for (int c = 0; c < 8; c++) tile[threadIdx.x][c] = a.x[threadIdx.x * 8 + c];
	__syncthreads();
	uint32_t row = smem_u32(&tile[threadIdx.x][0]);
	uint32_t r1[1], r2[2], r4[4];
	uint32_t *out = a.out + threadIdx.x * 4;
	ldmatrix_x1(r1, row);
	out[0] = r1[0];
	ldmatrix_x2(r2, row);
	for (int m = 0; m < 2; m++) out[128 + m] = r2[m];
	ldmatrix_x4(r4, row);
	for (int m = 0; m < 4; m++) out[256 + m] = r4[m];
	ldmatrix_x1_trans(r1, row);
	out[384] = r1[0];
	ldmatrix_x2_trans(r2, row);
	for (int m = 0; m < 2; m++) out[512 + m] = r2[m];
	ldmatrix_x4_trans(r4, row);
	for (int m = 0; m < 4; m++) out[640 + m] = r4[m];
}

struct BitsArgs {
	const uint32_t *a; // [grid,32,4] fragments
	const uint32_t *b; // [grid,32,2]
	uint32_t *d;       // [grid,32,4] += a b
};

template <class Mma> __device__ void mma_bits(const BitsArgs &a, Mma mma) {
	uint32_t i = blockIdx.x * 32 + threadIdx.x, fa[4], fb[2];
	float d[4];
	for (uint32_t j = 0; j < 4; j++) {
		fa[j] = a.a[4 * i + j];
		d[j] = bits_float(a.d[4 * i + j]);
	}
	for (uint32_t j = 0; j < 2; j++) fb[j] = a.b[2 * i + j];
	mma(d, fa, fb);
	for (uint32_t j = 0; j < 4; j++) a.d[4 * i + j] = float_bits(d[j]);
}

extern "C" __global__ void __launch_bounds__(32) mma_tf32(const BitsArgs a) {
	mma_bits(a, [](float(&d)[4], const uint32_t(&fa)[4], const uint32_t(&fb)[2]) { mma_tf32_16x8x8(d, fa, fb); });
}

extern "C" __global__ void __launch_bounds__(32) mma_bf16(const BitsArgs a) {
	mma_bits(a, [](float(&d)[4], const uint32_t(&fa)[4], const uint32_t(&fb)[2]) { mma_bf16_16x8x16(d, fa, fb); });
}
