// How conv_backward_filter brings x, gy and arg to shared memory, and makes dY of the two latter.
#pragma once
#include "filter_multiply.cuh"

// filter_piece returns how many channels of x are copied at once.
template <class P> DEV uint32_t filter_piece(const ConvArgs &a) {
  if constexpr (conv_per_word<P> == 2) return a.pixel % 4 == 0 ? 4 : 1;
  else return conv_piece(a, 1);
}

// filter_load_pairs fills a patch with pairs of bf16: word (i,j,c) has x at (i,j,c) and at (i,j+1,c).
DEV void filter_load_pairs(uint32_t *patch, const uint16_t *x, const ConvArgs &a, const Path &path,
                           const ConvPlace &first) {
  if (filter_piece<BF16>(a) == 4) {
    conv_copy_pixels<4>(patch, a, path, first, FILTER_THREADS, 1,
                        [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t column) INLINE {
                          uint2 lo = {0, 0}, hi = {0, 0};
                          if (image && column < a.W) lo = read_vector<uint2>(x + at);
                          if (image && column + 1 < a.W) hi = read_vector<uint2>(x + (at + a.pixel));
                          write_vector(to, uint4{(lo.x & 0xffff) | hi.x << 16, lo.x >> 16 | (hi.x & 0xffff0000u),
                                                 (lo.y & 0xffff) | hi.y << 16, lo.y >> 16 | (hi.y & 0xffff0000u)});
                        });
  } else {
    conv_copy_pixels<1>(patch, a, path, first, FILTER_THREADS, 1,
                        [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t column) INLINE {
                          const uint32_t lo = image && column < a.W ? x[at] : 0;
                          *to = lo | (image && column + 1 < a.W ? (uint32_t)x[at + a.pixel] : 0) << 16;
                        });
  }
}

// FilterRaw is gy and arg of a unit in shared memory, [windows] rows of 32 outputs. A thread reads what it has copied
// itself: four outputs, from output 4g on, of windows 4·warp+t, 24 windows on, and so forth. LD is the words of a row of
// gy: the reads of a warp meet no bank twice.
template <class P> struct FilterRaw {
  static constexpr uint32_t LD = conv_per_word<P> == 2 ? 24 : 40, ARG = CONV_OUTPUTS / 4, WORDS = LD + ARG;
  static constexpr uint32_t STEP = FILTER_THREADS / 8;  // windows that all threads copy at once

  DEV uint32_t window() { return kept(threadIdx.x) / 32 * 4 + kept(threadIdx.x % 4); }
  DEV uint32_t quad() { return kept(threadIdx.x % 32 / 4) * 4; }
};

// filter_copy_gradient begins to copy gy and arg of a unit, of images before `end`; it writes zeros for windows and
// outputs that do not exist.
template <class P>
DEV void filter_copy_gradient(uint32_t *raw, const ConvArgs &a, const Path &path, ConvPlace p, uint32_t end,
                              uint32_t o) {
  typedef FilterRaw<P> R;
  typedef typename P::act act;
  const ConvTile &t = a.tile;
  const uint32_t O = kept(a.O), quad = R::quad();
  o = kept(o) + quad;
  const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.HP * a.WP * O);
  const act *gy = static_cast<const act *>(a.gy) + slot;
  const uint8_t *arg = a.arg + slot;
  Walk w = walk(path);
  for (uint32_t v = R::window(); w.n < t.images; v += R::STEP, walk_on(w)) {
    const uint32_t b = p.b + w.n, i = p.i + w.r, j = p.j + w.c;
    const bool inside = b < end && i < a.HP && j < a.WP && o < a.O;
    const uint32_t at = inside ? ((b * a.HP + i) * a.WP + j) * a.O + o : 0;
    uint32_t *to = raw + v * R::WORDS;
    act *to_gy = reinterpret_cast<act *>(to) + quad;
    uint8_t *to_arg = reinterpret_cast<uint8_t *>(to + R::LD) + quad;
    if (a.O % 4 == 0) {
      if constexpr (conv_per_word<P> == 2) cp_async8(smem_u32(to_gy), gy + at, inside);
      else cp_async16(smem_u32(to_gy), gy + at, inside);
      cp_async4(smem_u32(to_arg), arg + at, inside);
    } else {
#pragma unroll
      for (uint32_t c = 0; c < 4; c++) {
        const bool real = inside && kept(o) + c < a.O;
        to_gy[c] = real ? gy[at + c] : act(0);
        to_arg[c] = real ? arg[at + c] : 0;
      }
    }
  }
}

// filter_put writes the words of dY for places k and k+1 of a window, k being even: pair number `pair` of pixels.
DEV void filter_put(FP32, uint32_t *dY, uint32_t pair, uint32_t quad, const float (&g)[4], const uint32_t (&where)[4],
                    uint32_t k) {
#pragma unroll
  for (uint32_t c = 0; c < 2; c++)
    write_vector(dY + (2 * pair + c) * FilterGradient<FP32>::LD + quad,
                 float4{where[0] == k + c ? g[0] : 0.0f, where[1] == k + c ? g[1] : 0.0f,
                        where[2] == k + c ? g[2] : 0.0f, where[3] == k + c ? g[3] : 0.0f});
}
DEV void filter_put(TF32, uint32_t *dY, uint32_t pair, uint32_t quad, const float (&g)[4], const uint32_t (&where)[4],
                    uint32_t k) {
#pragma unroll
  for (uint32_t n = 0; n < 4; n += 2)
    write_vector(dY + FilterGradient<TF32>::at(2 * pair, quad + n),
                 float4{where[n] == k ? g[n] : 0.0f, where[n + 1] == k ? g[n + 1] : 0.0f,
                        where[n] == k + 1 ? g[n] : 0.0f, where[n + 1] == k + 1 ? g[n + 1] : 0.0f});
}
DEV void filter_put(BF16, uint32_t *dY, uint32_t pair, uint32_t quad, const float (&g)[4], const uint32_t (&where)[4],
                    uint32_t k) {
  uint32_t word[4];
#pragma unroll
  for (uint32_t c = 0; c < 4; c++) {
    const uint32_t bits = kept(float_bits(g[c]));
    word[c] = where[c] == k ? bits >> 16 : where[c] == k + 1 ? bits : 0;
  }
#pragma unroll
  for (uint32_t n = 0; n < 4; n += 2)
    write_vector(dY + FilterGradient<BF16>::at(pair, quad + n), uint2{word[n], word[n + 1]});
}

// filter_make_gradient makes dY of the windows of a unit, and adds the four outputs of the thread to db.
template <class P>
DEV void filter_make_gradient(uint32_t *dY, float (&db)[4], const uint32_t *raw, const ConvTile &t,
                              const Path &path) {
  typedef FilterRaw<P> R;
  const uint32_t quad = R::quad();
  Walk w = walk(path);
  for (uint32_t v = R::window(); w.n < t.images; v += R::STEP, walk_on(w)) {
    const uint32_t *from = raw + v * R::WORDS;
    const uint32_t all = from[R::LD + quad / 4];
    const uint32_t where[4] = {all & 0xff, all >> 8 & 0xff, all >> 16 & 0xff, all >> 24};
    float g[4];
    if constexpr (conv_per_word<P> == 2) {
      const uint2 pair = read_vector<uint2>(from + quad / 2);
      g[0] = bf16_lo(pair.x), g[1] = bf16_hi(pair.x), g[2] = bf16_lo(pair.y), g[3] = bf16_hi(pair.y);
    } else {
      const float4 all4 = read_vector<float4>(from + quad);
      g[0] = all4.x, g[1] = all4.y, g[2] = all4.z, g[3] = all4.w;
    }
#pragma unroll
    for (uint32_t c = 0; c < 4; c++)
      if (where[c] < 4) db[c] = db[c] + g[c];
    const uint32_t row = 2 * (w.n * t.rows + w.r);
#pragma unroll
    for (uint32_t k = 0; k < 4; k += 2)
      filter_put(P{}, dY, (row + k / 2) * t.columns + w.c, quad, g, where, k);
  }
}
