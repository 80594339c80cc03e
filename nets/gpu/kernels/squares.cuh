// Sums of squares in double and in a fixed order, 4096 elements per block, for the norms of rows and of gradients.
#pragma once
#include "elements.cuh"

// chunk_squares returns Σ x² over elements 4096·blockIdx.x … of x [n], in thread 0 of a block of 256. x must be 16-byte
// aligned. All threads must call it.
DEV double chunk_squares(const float *x, uint32_t n, double (&room)[32]) {
  double sum = 0;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    const uint32_t e = 4096 * blockIdx.x + 1024 * j + 4 * threadIdx.x;
    if (e + 4 <= n) {
      const float4 v = load4<FP32>(x + e);
      sum = fma_d(v.x, v.x, sum);
      sum = fma_d(v.y, v.y, sum);
      sum = fma_d(v.z, v.z, sum);
      sum = fma_d(v.w, v.w, sum);
    } else {
      for (uint32_t i = e; i < n; i++) sum = fma_d(x[i], x[i], sum);
    }
  }
  return block_sum(sum, room);
}
