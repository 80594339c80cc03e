// What the kernels without matrix products share: four elements at a time, and the sum of a block in a fixed order.
#pragma once
#include "precision.cuh"

// load4 and store4 move four neighbouring elements as float. They must be aligned to the size of four.
template <class P> DEV float4 load4(const typename P::act *x) {
  if constexpr (sizeof(typename P::act) == 4) {
    return read_vector<float4>(x);
  } else {
    const uint2 v = read_vector<uint2>(x);
    return {bf16_lo(v.x), bf16_hi(v.x), bf16_lo(v.y), bf16_hi(v.y)};
  }
}

template <class P> DEV void store4(typename P::act *y, float4 v) {
  if constexpr (sizeof(typename P::act) == 4) {
    write_vector(y, float4{P::store(v.x), P::store(v.y), P::store(v.z), P::store(v.w)});
  } else {
    write_vector(y, uint2{pack_bf16(v.x, v.y), pack_bf16(v.z, v.w)});
  }
}

// load_channels and store_channels move V channels, 4 or 1.
template <class P, uint32_t V> DEV void load_channels(float (&v)[V], const typename P::act *x) {
  if constexpr (V == 4) {
    const float4 q = load4<P>(x);
    v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
  } else {
    v[0] = P::load(*x);
  }
}

template <class P, uint32_t V> DEV void store_channels(typename P::act *y, const float (&v)[V]) {
  if constexpr (V == 4) {
    store4<P>(y, {v[0], v[1], v[2], v[3]});
  } else {
    *y = P::store(v[0]);
  }
}

// fma4 returns c·x + y, each element rounded once.
DEV float4 fma4(float c, float4 x, float4 y) {
  return {fmaf_(c, x.x, y.x), fmaf_(c, x.y, y.y), fmaf_(c, x.z, y.z), fmaf_(c, x.w, y.w)};
}
DEV float4 mul4(float c, float4 x) { return {c * x.x, c * x.y, c * x.z, c * x.w}; }
DEV float4 add4(float4 x, float4 y) { return {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w}; }

// warp_sum returns the sum over a group of `lanes` lanes, a power of two, in each of them. Halves are added pairwise.
DEV double warp_sum(double v, uint32_t lanes = 32) {
  for (uint32_t m = lanes / 2; m > 0; m /= 2) v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}

// block_sum returns the sum over a block of up to 1024 threads, in thread 0: every warp sums, then the warps are added
// in order. All threads must call it; room is overwritten.
DEV double block_sum(double v, double (&room)[32]) {
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < blockDim.x / 32; i++) sum += room[i];
  }
  return sum;
}
