// The softmax of a row of logits, which cross_entropy and score share: by a group of lanes, in double as on the CPU.
#pragma once
#include "elements.cuh"

// ROW_THREADS is the block of both kernels; cross_entropy.go has the same number. row_lanes(O) lanes share a sample.
constexpr uint32_t ROW_THREADS = 512;

// row_lanes returns the smallest power of two that is at least n, and at most 32.
DEV uint32_t row_lanes(uint32_t n) {
  uint32_t lanes = 1;
  while (lanes < n && lanes < 32) lanes *= 2;
  return lanes;
}

// Softmax has the numbers from which the softmax of a row x [n] follows. z is NaN if x has a NaN, +Inf or nothing but
// −Inf.
struct Softmax {
  float top;     // the largest element that is not NaN
  double z;      // Σ exp(x − top)
  double first;  // the term of the first element of this lane
};

// softmax returns the Softmax of a row that a group of `lanes` lanes shares; this one is number `lane` of its group.
// Whole warps must call it.
DEV Softmax softmax(const float *x, uint32_t n, uint32_t lane, uint32_t lanes) {
  float top = -__builtin_inff();
  for (uint32_t o = lane; o < n; o += lanes) top = fmaxf_(top, x[o]);
  for (uint32_t m = lanes / 2; m > 0; m /= 2) top = fmaxf_(top, __shfl_xor_sync(0xffffffffu, top, m));
  double first = lane < n ? exp_d((double)x[lane] - top) : 0, z = first;
  for (uint32_t o = lane + lanes; o < n; o += lanes) z += exp_d((double)x[o] - top);
  return {top, warp_sum(z, lanes), first};
}

// loss_at returns −log softmax(row)[label], where x is row[label].
DEV double loss_at(const Softmax &s, float x) { return log_d(s.z) - ((double)x - (double)s.top); }
