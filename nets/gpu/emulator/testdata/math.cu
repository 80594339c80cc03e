// The mathematics of the prelude, element by element.
#include "../../kernels/prelude.cuh"

struct FloatArgs {
	const float *x;
	float *y;
	uint32_t n, what;
};

extern "C" __global__ void math_float(const FloatArgs a) {
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x) {
		float x = a.x[i];
		switch (a.what) {
		case 0: a.y[i] = expf_(x); break;
		case 1: a.y[i] = logf_(x); break;
		case 2: a.y[i] = rsqrtf_(x); break;
		}
	}
}

struct DoubleArgs {
	const double *x;
	double *y;
	uint32_t n, what;
};

extern "C" __global__ void math_double(const DoubleArgs a) {
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x) {
		double x = a.x[i];
		switch (a.what) {
		case 0: a.y[i] = exp_d(x); break;
		case 1: a.y[i] = log_d(x); break;
		case 2: a.y[i] = sqrt_d(x); break;
		}
	}
}

struct PairArgs {
	uint32_t *words; // [grid,block,7] x and y, then the results
};

extern "C" __global__ void math_bits(const PairArgs a) {
	uint32_t *w = a.words + 7 * (blockIdx.x * blockDim.x + threadIdx.x);
	float x = bits_float(w[0]), y = bits_float(w[1]);
	w[2] = float_bits(fmaxf_(x, y));
	w[3] = float_bits(fmax_nan(x, y));
	w[4] = to_bf16(x);
	w[5] = pack_bf16(y, x);
	w[6] = cvt_tf32(x);
}
