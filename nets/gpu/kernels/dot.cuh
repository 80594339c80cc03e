// Sums of products in double and in a fixed order, 4096 elements per block, of two rows or of a gradient with itself.
#pragma once
#include "elements.cuh"

// chunk_dot returns Σ x·y over elements 4096·blockIdx.x … of x and y [n], in thread 0 of a block of 256. x and y, which
// may be the same, must be 16-byte aligned. All threads must call it.
DEV double chunk_dot(const float *x, const float *y, uint32_t n, double (&room)[32]) {
  double sum = 0;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    const uint32_t e = 4096 * blockIdx.x + 1024 * j + 4 * threadIdx.x;
    if (e + 4 <= n) {
      const float4 u = load4<FP32>(x + e), v = load4<FP32>(y + e);
      sum = fma_d(u.x, v.x, sum);
      sum = fma_d(u.y, v.y, sum);
      sum = fma_d(u.z, v.z, sum);
      sum = fma_d(u.w, v.w, sum);
    } else {
      for (uint32_t i = e; i < n; i++) sum = fma_d(x[i], y[i], sum);
    }
  }
  return block_sum(sum, room);
}
