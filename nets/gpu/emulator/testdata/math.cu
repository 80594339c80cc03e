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
		case 3: a.y[i] = from_bf16(to_bf16(x)); break;
		case 4: a.y[i] = bf16_hi(pack_bf16(0, x)); break;
		case 5: a.y[i] = bits_float(cvt_tf32(x) & 0xffffe000u); break;
		case 6: a.y[i] = fmaxf_(x, -0.0f); break;
		case 7: a.y[i] = fmax_nan(x, -0.0f); break;
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
