// What cross_entropy and score share: the softmax of a row of logits by a group of lanes, in double as on the CPU.
#pragma once
#include "elements.cuh"

// ROW_THREADS is the block of both kernels: a sample is the work of row_lanes(O) lanes.
constexpr uint32_t ROW_THREADS = 512;

// row_lanes is the power of two from n on, at most 32.
DEV uint32_t row_lanes(uint32_t n) {
  uint32_t lanes = 1;
  while (lanes < n && lanes < 32) lanes *= 2;
  return lanes;
}

// top is the largest of x [n] but NaN, z = Σ exp(x − top), first the term of the lane's own first element. NaN, +Inf or
// nothing but −Inf in x makes z NaN.
struct Softmax {
  float top;
  double z, first;
};

// softmax is that of the group of `lanes` lanes this one belongs to, `lane` being its place there. Whole warps call it.
DEV Softmax softmax(const float *x, uint32_t n, uint32_t lane, uint32_t lanes) {
  float top = -__builtin_inff();
  for (uint32_t o = lane; o < n; o += lanes) top = fmaxf_(top, x[o]);
  for (uint32_t m = lanes / 2; m > 0; m /= 2) top = fmaxf_(top, __shfl_xor_sync(0xffffffffu, top, m));
  double first = lane < n ? exp_d((double)x[lane] - top) : 0, z = first;
  for (uint32_t o = lane + lanes; o < n; o += lanes) z += exp_d((double)x[o] - top);
  return {top, warp_sum(z, lanes), first};
}

// loss_at is −log softmax(x)[label].
DEV double loss_at(const Softmax &s, float x) { return log_d(s.z) - ((double)x - (double)s.top); }
