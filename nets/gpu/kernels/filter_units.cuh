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
  // The loop has each of both once, so that the machine code is short. With two stages, the first turn only copies.
  bool arrived = false;
  for (uint32_t stage = 0;;) {
    cp_async_wait<0>();
    __syncthreads();  // everyone's copies have arrived, everyone has multiplied the last unit
    const bool more = next(shared + stage * words);
    if (t.stages == 1) {
      if (!more) return;
      cp_async_wait<0>();
      __syncthreads();  // everyone's copies have arrived
      arrived = true;
    } else {
      stage ^= 1;
    }
    if (arrived) multiply(shared + stage * words);
    if (!more) return;
    arrived = true;
  }
}

// filter_partial returns where the block's sums go.
DEV float *filter_partial(const ConvArgs &a) {
  const uint32_t chunk = kept(blockIdx.x) / a.tile.tiles / a.tile.runs;
  return a.partial + ((size_t)blockIdx.y * a.chunks + chunk) * (a.R * a.S * a.C * a.O + a.O);
}

// filter_store adds up the sums of dw of the warps that share rows, in order, and writes them, for outputs from o on.
// Then it adds up `rows` rows of db, to which each thread with a row gives four outputs, and writes db if this is the
// first run of blocks. All sums meet in shared memory, so that every warp adds and writes its part of the rows, and
// only one barrier stands between.
template <class Sums>
DEV void filter_store(const ConvArgs &a, const Sums &sums, const float (&db)[4], float *room, uint32_t row,
                      uint32_t quad, uint32_t rows, uint32_t o) {
  constexpr uint32_t WORDS = sizeof(Sums) / sizeof(float), WARP = 32 * WORDS, N = Sums::OUTPUTS;
  const ConvTile &t = a.tile;
  const uint32_t thread = kept(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const float *all = reinterpret_cast<const float *>(&sums);
  float *own = room + warp * WARP + lane, *bias = room + FILTER_WARPS * WARP;
  __syncthreads();  // everyone has multiplied the last unit
#pragma unroll
  for (uint32_t i = 0; i < WORDS; i++) own[32 * i] = all[i];
  if (row < rows) write_vector(bias + row * CONV_OUTPUTS + quad, float4{db[0], db[1], db[2], db[3]});
  __syncthreads();
  float *partial = filter_partial(a);
  const uint32_t from = o + Sums::output(), left = from < a.O ? a.O - from : 0, first = filter_first(t);
  const uint32_t tiles = t.runs * t.groups * t.warp_tiles;
#pragma unroll 1
  for (uint32_t i = warp / t.groups; i < Sums::ROWS; i += t.parts) {
    const uint32_t m = Sums::row(a, first, tiles, i);
    uint32_t at = warp % t.groups * WARP + 32 * Sums::word(i, 0) + lane;
    float v[N];
#pragma unroll
    for (uint32_t c = 0; c < N; c++) v[c] = room[at + 32 * Sums::word(0, c)];
#pragma unroll 1
    for (uint32_t k = 1; k < t.parts; k++) {
      at += t.groups * WARP;
#pragma unroll
      for (uint32_t c = 0; c < N; c++) v[c] = v[c] + room[at + 32 * Sums::word(0, c)];
    }
    if (m < a.R * a.S * a.C) conv_store<FP32>(partial + m * a.O + from, v, left, a.O % N == 0);
  }
  if (kept(blockIdx.x) / t.tiles % t.runs > 0) return;
  if (warp == FILTER_WARPS - 1 && o + lane < a.O) {
    float total = 0.0f;
#pragma unroll 4
    for (uint32_t i = 0; i < rows; i++) total = total + bias[i * CONV_OUTPUTS + lane];
    partial[a.R * a.S * a.C * a.O + o + lane] = total;
  }
}
