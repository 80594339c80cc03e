// What conv_backward_filter does in every precision: it goes through the units of a chunk of images, adds up the sums
// of the warps that share rows, and writes them.
#pragma once
#include "filter_load.cuh"

// filter_first returns the first tile of 32 rows of dw of a warp.
DEV uint32_t filter_first(const ConvTile &t) {
  const uint32_t warp = kept(threadIdx.x) / 32, run = kept(blockIdx.x) / t.tiles % t.runs;
  return (run * t.groups + warp % t.groups) * t.warp_tiles;
}

// FilterPlan is what the threads of a block know of its chunk: its first output, the image behind its last one, and the
// unit that is copied.
struct FilterPlan {
  uint32_t o, end;
  ConvPlace p;

  DEV FilterPlan of(const ConvArgs &a) {
    const ConvTile &t = a.tile;
    const uint32_t b = blockIdx.x / t.tiles / t.runs * a.images;
    return {blockIdx.x % t.tiles * CONV_OUTPUTS, b + a.images < a.B ? b + a.images : a.B, {b, 0, 0}};
  }
};

// filter_units calls copy(to) for every unit of the chunk, which begins to copy the unit at plan.p, and multiply(from)
// when it has arrived. A stage has so many words.
template <class Copy, class Multiply>
DEV void filter_units(const ConvArgs &a, uint32_t *shared, uint32_t words, FilterPlan &plan, Copy copy,
                      Multiply multiply) {
  const ConvTile &t = a.tile;
  auto next = [&](uint32_t *to) INLINE {
    const bool there = plan.p.b < plan.end;
    if (there) {
      copy(to);
      ConvPlace &p = plan.p;
      p.j += t.columns;
      if (p.j >= a.WP) p.j = 0, p.i += t.rows;
      if (p.i >= a.HP) p.i = 0, p.b += t.images;
    }
    cp_async_commit();
    return there;
  };
  uint32_t stage = 0;
  for (bool more = next(shared); more;) {
    uint32_t *here = shared;
    cp_async_wait<0>();
    __syncthreads();  // everyone's copies have arrived, everyone has multiplied the last unit
    if (t.stages == 2) {
      here += stage * words, stage ^= 1;
      more = next(shared + stage * words);
    }
    multiply(here);
    if (t.stages == 1) {
      __syncthreads();  // everyone has multiplied
      more = next(shared);
    }
  }
}

// filter_add_parts adds up the sums of the warps that share rows, in order, in the first of them, by way of shared
// memory.
template <class Sums> DEV void filter_add_parts(Sums &sums, float *room, const ConvTile &t) {
  constexpr uint32_t N = sizeof(Sums) / sizeof(float);
  float *sum = reinterpret_cast<float *>(&sums);
  const uint32_t thread = kept(threadIdx.x), part = thread / 32 / t.groups;
  for (uint32_t k = 1; k < t.parts; k++) {
    __syncthreads();
    float *slot = room + thread / 32 % t.groups * (32 * N) + thread % 32;
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
      if (part == k) slot[32 * i] = sum[i];
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
      if (part == 0) sum[i] = sum[i] + slot[32 * i];
  }
}

// filter_partial returns where the block's sums go.
DEV float *filter_partial(const ConvArgs &a) {
  const uint32_t chunk = kept(blockIdx.x) / a.tile.tiles / a.tile.runs;
  return a.partial + ((size_t)blockIdx.y * a.chunks + chunk) * (a.R * a.S * a.C * a.O + a.O);
}

// filter_store writes the sums of dw of the first warp of a group, for outputs from o on.
template <class Sums> DEV void filter_store(const ConvArgs &a, const Sums &sums, uint32_t o) {
  constexpr uint32_t N = Sums::OUTPUTS;
  const ConvTile &t = a.tile;
  if (kept(threadIdx.x) / 32 >= t.groups) return;
  const uint32_t from = o + Sums::output(), left = from < a.O ? a.O - from : 0, first = filter_first(t);
  const uint32_t all = t.runs * t.groups * t.warp_tiles;
  float *partial = filter_partial(a);
#pragma unroll
  for (uint32_t i = 0; i < Sums::ROWS; i++) {
    const uint32_t m = Sums::row(a, first, all, i);
    if (m >= a.R * a.S * a.C) continue;
    float v[N];
#pragma unroll
    for (uint32_t c = 0; c < N; c++) v[c] = Sums::of(sums, i, c);
    conv_store<FP32>(partial + m * a.O + from, v, left, a.O % N == 0);
  }
}

// filter_store_bias writes db of a block, the sum of `rows` rows of 32 outputs, to which each thread with a row gives
// four. Only the first run of blocks has it.
DEV void filter_store_bias(const ConvArgs &a, const float (&db)[4], float *room, uint32_t row, uint32_t quad,
                           uint32_t rows, uint32_t o) {
  const uint32_t thread = kept(threadIdx.x);
  if (kept(blockIdx.x) / a.tile.tiles % a.tile.runs > 0) return;  // all threads of the block
  __syncthreads();
  if (row < rows) {
#pragma unroll
    for (uint32_t c = 0; c < 4; c++) room[row * CONV_OUTPUTS + quad + c] = db[c];
  }
  __syncthreads();
  if (thread < CONV_OUTPUTS && o + thread < a.O) {
    float total = 0.0f;
    for (uint32_t i = 0; i < rows; i++) total = total + room[i * CONV_OUTPUTS + thread];
    filter_partial(a)[a.R * a.S * a.C * a.O + o + thread] = total;
  }
}
