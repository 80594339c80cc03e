// conv_backward_filter in fp32: dY of a unit is made in shared memory, and a lane multiplies it with rows of dw.
#pragma once
#include "filter_units.cuh"

// FilterSums32 has the sums of a lane 4g+t: outputs 8t … 8t+7 of rows 8i+g of dw; d[i][j][h] is output 8t+4h+j.
template <int TILES> struct FilterSums32 {
  static constexpr uint32_t ROWS = 4 * TILES, OUTPUTS = 8;
  float d[4 * TILES][4][2];

  DEV uint32_t row(const ConvArgs &, uint32_t first, uint32_t, uint32_t i) {
    return 32 * first + i * 8 + threadIdx.x % 32 / 4;
  }
  DEV uint32_t output() { return threadIdx.x % 4 * 8; }
  // word returns which float has the n-th output of the i-th row: the sum of one that depends on i and one on n.
  DEV uint32_t word(uint32_t i, uint32_t n) { return 8 * i + n % 4 * 2 + n / 4; }
};

// FilterRaw32 is gy and arg of a unit in shared memory, [windows] rows of 32 outputs. A thread reads what it has copied
// itself: four outputs, from output 4g on, of windows 4·warp+t, 24 windows on, and so forth.
struct FilterRaw32 {
  static constexpr uint32_t LD = 40, ARG = CONV_OUTPUTS / 4, WORDS = LD + ARG;
  static constexpr uint32_t STEP = FILTER_THREADS / 8;  // windows that all threads copy at once

  DEV uint32_t window() { return kept(threadIdx.x) / 32 * 4 + kept(threadIdx.x % 4); }
  DEV uint32_t quad() { return kept(threadIdx.x % 32 / 4) * 4; }
};

// FILTER_LD is the words of a pixel of dY.
constexpr uint32_t FILTER_LD = CONV_OUTPUTS + 4;

// filter_copy_gradient32 begins to copy gy and arg of a unit, of images before the plan's end; it writes zeros for
// windows and outputs that do not exist.
DEV void filter_copy_gradient32(uint32_t *raw, const ConvArgs &a, const Path &path, const FilterPlan &plan) {
  const ConvTile &t = a.tile;
  const uint32_t O = kept(a.O), quad = FilterRaw32::quad(), o = kept(plan.o) + quad;
  const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.HP * a.WP * O);
  const float *gy = static_cast<const float *>(a.gy) + slot;
  const uint8_t *arg = a.arg + slot;
  Walk w = walk(path);
  for (uint32_t v = FilterRaw32::window(); w.n < t.images; v += FilterRaw32::STEP, walk_on(w)) {
    const uint32_t b = plan.p.b + w.n, i = plan.p.i + w.r, j = plan.p.j + w.c;
    const bool inside = b < plan.end && i < a.HP && j < a.WP && o < a.O;
    const uint32_t at = inside ? ((b * a.HP + i) * a.WP + j) * a.O + o : 0;
    uint32_t *to = raw + v * FilterRaw32::WORDS;
    float *to_gy = reinterpret_cast<float *>(to) + quad;
    uint8_t *to_arg = reinterpret_cast<uint8_t *>(to + FilterRaw32::LD) + quad;
    if (a.O % 4 == 0) {
      cp_async16(smem_u32(to_gy), gy + at, inside);
      cp_async4(smem_u32(to_arg), arg + at, inside);
    } else {
#pragma unroll
      for (uint32_t c = 0; c < 4; c++) {
        const bool real = inside && kept(o) + c < a.O;
        to_gy[c] = real ? gy[at + c] : 0.0f;
        to_arg[c] = real ? arg[at + c] : 0;
      }
    }
  }
}

// filter_make_gradient makes dY of the windows of a unit, and adds the four outputs of the thread to db.
DEV void filter_make_gradient(float *dY, float (&db)[4], const uint32_t *raw, const ConvTile &t, const Path &path) {
  const uint32_t quad = FilterRaw32::quad();
  Walk w = walk(path);
  for (uint32_t v = FilterRaw32::window(); w.n < t.images; v += FilterRaw32::STEP, walk_on(w)) {
    const uint32_t *from = raw + v * FilterRaw32::WORDS;
    const uint32_t all = from[FilterRaw32::LD + quad / 4];
    const uint32_t where[4] = {all & 0xff, all >> 8 & 0xff, all >> 16 & 0xff, all >> 24};
    const float4 four = read_vector<float4>(from + quad);
    const float g[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (uint32_t c = 0; c < 4; c++)
      if (where[c] < 4) db[c] = db[c] + g[c];
    const uint32_t row = 2 * (w.n * t.rows + w.r);
#pragma unroll
    for (uint32_t k = 0; k < 4; k++)
      write_vector(dY + (2 * ((row + k / 2) * t.columns + w.c) + k % 2) * FILTER_LD + quad,
                   float4{where[0] == k ? g[0] : 0.0f, where[1] == k ? g[1] : 0.0f, where[2] == k ? g[2] : 0.0f,
                          where[3] == k ? g[3] : 0.0f});
  }
}

// filter_multiply32 adds the products of the pixels of a unit from `pixel` on, 8 of every `stride`. offset says where
// pixels lie in the patch, rows where the channel and the tap of a row of dw lie behind a pixel, in words.
template <int TILES>
DEV void filter_multiply32(FilterSums32<TILES> &sums, const float *patch, const float *dY, const uint32_t *offset,
                           const uint32_t (&rows)[4 * TILES], uint32_t pixel, uint32_t pixels, uint32_t stride) {
  dY += FilterSums32<TILES>::output();
  for (; pixel < pixels; pixel += stride) {
    named<32 * TILES, 32>();
    const uint32_t at = kept(pixel);
#pragma unroll 1
    for (uint32_t k = at; k < at + 8; k++) {
      const float *x = patch + offset[k];
      const float4 b0 = read_vector<float4>(dY + k * FILTER_LD), b1 = read_vector<float4>(dY + k * FILTER_LD + 4);
      const float b[4][2] = {{b0.x, b1.x}, {b0.y, b1.y}, {b0.z, b1.z}, {b0.w, b1.w}};
#pragma unroll
      for (int i = 0; i < 4 * TILES; i++) {
        const float v = x[rows[i]];
#pragma unroll
        for (int j = 0; j < 8; j++) {
          float &d = sums.d[i][j % 4][j / 4];
          d = fmaf_(v, b[j % 4][j / 4], d);
        }
      }
    }
  }
}

// filter_run32 computes rows of dw in fp32, for 32 outputs and one chunk of images, TILES × 32 rows per warp. Shared
// memory has stages of a patch of x, gy and arg, then dY, then where the pixels lie in a patch.
template <int TILES> DEV void filter_run32(const ConvArgs &a, uint32_t *shared) {
  const ConvTile &t = a.tile;
  const uint32_t thread = threadIdx.x, pixels = 4 * t.windows, n = a.R * a.S * a.C;
  const uint32_t stage = t.patch + t.images * t.rows * t.columns * FilterRaw32::WORDS;
  float *dY = reinterpret_cast<float *>(shared + t.stages * stage);
  uint32_t *offset = shared + t.stages * stage + pixels * FILTER_LD;
  // Words between pixels, and pixels behind the last, meet zeros in the product, and must not be NaN.
  conv_clear(shared, t.stages * stage + pixels * FILTER_LD, FILTER_THREADS);
  for (uint32_t i = thread; i < pixels; i += FILTER_THREADS) {
    const uint32_t row = i / (2 * t.columns), image = row / (2 * t.rows);
    const uint32_t line = image * t.height + row % (2 * t.rows);
    offset[i] = image < t.images ? (line * t.width + i % (2 * t.columns)) * t.pitch : 0;
  }
  uint32_t rows[4 * TILES];
#pragma unroll
  for (uint32_t i = 0; i < 4 * TILES; i++) {
    const uint32_t m = FilterSums32<TILES>::row(a, filter_first(t), 0, i), tap = m / a.C;
    rows[i] = m < n ? (tap / a.S * t.width + tap % a.S) * t.pitch + m % a.C : 0;
  }
  const ConvColumns columns = conv_columns(a);
  const uint32_t lane = conv_lane(columns.count, ceil_div(a.C, conv_piece(a, 1)), FILTER_THREADS);
  const Path windows = path_from(FilterRaw32::window(), FilterRaw32::STEP, t.rows, t.columns);
  FilterPlan plan = FilterPlan::of(a);
  FilterSums32<TILES> sums = {};
  float db[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  __syncthreads();  // shared memory is cleared
  filter_units(
      a, shared, stage, plan,
      [&](uint32_t *to) INLINE {
        const ConvPlace first = {plan.p.b, 2 * plan.p.i - a.pad, 2 * plan.p.j - a.pad};
        const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.H * a.W * kept(a.pixel));
        conv_load_pixels<FP32, FILTER_THREADS>(to, static_cast<const float *>(a.x) + slot, a, lane, columns, first, a.C);
        filter_copy_gradient32(to + t.patch, a, windows, plan);
      },
      [&](uint32_t *from) INLINE {
        filter_make_gradient(dY, db, from + t.patch, t, windows);
        __syncthreads();  // everyone's part of dY is there
        filter_multiply32(sums, reinterpret_cast<const float *>(from), dY, offset, rows,
                          8 * (kept(threadIdx.x) / 32 / t.groups), pixels, 8 * t.parts);
      });
  filter_store(a, sums, db, reinterpret_cast<float *>(shared), FilterRaw32::window(), FilterRaw32::quad(),
               FilterRaw32::STEP, plan.o);
}
