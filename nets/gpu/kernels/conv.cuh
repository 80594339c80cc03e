// What the kernels of convolutions with bias, ReLU and pooling share: their arguments, the pixels below a tile of windows in
// shared memory, and the product of these pixels with weights.
//
// A window is the 2×2 pixels of a convolution that are pooled into one. A word is four bytes along the dimension that is
// summed over: one float, or two bf16. A patch is the pixels of x, in shared memory, that the windows of a unit of work
// need: [images][height][width][pitch] words, with zeros outside the image.
//
// conv_forward and conv_backward_data compute the same product: out[pixel, n] = Σ over taps and depth of
// patch[pixel + tap, depth] w[tap, depth, n]. They cut it in units of up to 64 windows × 32 outputs. A warp owns 16 windows,
// so that the four pixels of a window meet in the registers of one thread.
#pragma once
#include "precision.cuh"
#include "work.cuh"

// How a kernel cuts a convolution. ConvTile of conv.go computes it once per launch from sizes and precision; here it lies
// among the parameters, in constant memory, and costs no registers.
struct ConvTile {
  uint32_t depth, pitch;           // words of a pixel: those that are summed over, and those in memory
  uint32_t images, rows, columns;  // of windows in a unit
  uint32_t height, width, patch;   // pixels of a patch, and its words
  uint32_t bands, strips, units;   // units down, units across, and all units of a slot
  uint32_t tiles;                  // of 32 outputs
  // conv_forward and conv_backward_data:
  uint32_t steps, resident;        // steps of 8 words: in all, and those whose weights are in shared memory at a time
  uint32_t stages;                 // patches in shared memory: 1 or 2
  // conv_backward_filter:
  uint32_t words;                  // of pixels in a unit, in whole steps of 8
  uint32_t warp_tiles;             // tiles of 32 rows of dw that a warp owns: 1 or 3
  uint32_t groups, parts;          // groups of warps, each with rows of its own, and warps that share the pixels of a group
  uint32_t runs;                   // blocks that all rows take
};

//   y[k,b,i,j,o] = max(0, bias[k,o] + max over {2i,2i+1}×{2j,2j+1} of Σ w[k,r,s,c,o] x[k,b,·+r-pad,·+s-pad,c])
struct ConvArgs {
  const Work *work;
  const void *x;                // [K,B,H,W,C] act
  void *y;                      // [K,B,HP,WP,O] act; backward: not read
  uint8_t *arg;                 // [K,B,HP,WP,O] place 0 … 3 of the maximum in its window, row by row; 4: the ReLU is shut
  const void *gy;               // [K,B,HP,WP,O] act, gradient of y
  void *dx;                     // [K,B,H,W,C] act
  float *partial;               // [K,chunks,R·S·C·O+O] sums of dw, then of db, over `images` images each
  uint32_t w_offset, b_offset;  // of w [R,S,C,O] and of bias [O] in a row
  uint32_t B, H, W, C, R, S, O, pad;
  uint32_t HP, WP;              // HP = (H+2·pad-R+1)/2, WP likewise
  uint32_t images, chunks;      // images of a chunk, chunks of a slot
  ConvTile tile;
};

// conv.go has the same numbers.
constexpr uint32_t CONV_THREADS = 128, CONV_OUTPUTS = 32;
constexpr uint32_t CONV_LD = CONV_OUTPUTS + 4;  // words of a row of weights: rows 2t and 2t+2 start 8 banks apart

// Elements per word.
template <class P> constexpr uint32_t conv_per_word = sizeof(uint32_t) / sizeof(typename P::act);

// Whether products run on tensor cores.
template <class P> constexpr bool conv_tensor = true;
template <> constexpr bool conv_tensor<FP32> = false;

DEV uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

// Walk counts through [n][r][c][v] in steps of one size without dividing. A Path is where it starts and what its steps are: divided
// out once for all units, and in two registers until it is walked.
struct Walk {
  uint32_t n, r, c, v, dn, dr, dc, dv, height, width, vectors;
};

struct Path {
  uint32_t height, width, vectors;
  uint32_t start, step;  // n, r, c and v in 8 bits each: none is larger than a block has threads
};

DEV uint32_t path_split(uint32_t i, uint32_t height, uint32_t width, uint32_t vectors) {
  const uint32_t pixel = i / vectors, row = pixel / width;
  return i % vectors | pixel % width << 8 | row % height << 16 | row / height << 24;
}

DEV Path path_from(uint32_t start, uint32_t step, uint32_t height, uint32_t width, uint32_t vectors) {
  return {height, width, vectors, path_split(start, height, width, vectors), path_split(step, height, width, vectors)};
}

DEV Walk walk(const Path &p) {
  const uint32_t at = kept(p.start), by = kept(p.step);
  return {at >> 24, at >> 16 & 0xff, at >> 8 & 0xff, at & 0xff, by >> 24, by >> 16 & 0xff, by >> 8 & 0xff, by & 0xff, p.height, p.width, p.vectors};
}

DEV void walk_on(Walk &w) {
  w.v += w.dv, w.c += w.dc, w.r += w.dr, w.n += w.dn;
  if (w.v >= w.vectors) w.v -= w.vectors, w.c++;
  if (w.c >= w.width) w.c -= w.width, w.r++;
  if (w.r >= w.height) w.r -= w.height, w.n++;
}

// conv_clear writes zeros into shared memory, four words at a time.
DEV void conv_clear(uint32_t *at, uint32_t words, uint32_t threads) {
  for (uint32_t i = threadIdx.x; i < words / 4; i += threads) write_vector(at + 4 * i, uint4{0, 0, 0, 0});
}

// conv_path is that of the threads through a patch, by the vectors in which conv_load_pixels copies pixels of C channels.
DEV uint32_t conv_vector(uint32_t C, uint32_t per) { return C % (4 * per) == 0 ? 4 * per : per; }
DEV Path conv_path(const ConvArgs &a, uint32_t threads, uint32_t per) {
  return path_from(threadIdx.x, threads, a.tile.height, a.tile.width, ceil_div(a.C, conv_vector(a.C, per)));
}

// conv_load_pixels copies [images][height][width] pixels of x [B,H,W,C] from (b0,i0,j0) on, zeros outside, into a patch:
// asynchronously, but for bf16 with an odd number of channels.
template <class P>
DEV void conv_load_pixels(uint32_t *patch, const typename P::act *x, const ConvArgs &a, const Path &path, uint32_t b0,
                          int32_t i0, int32_t j0) {
  const ConvTile &t = a.tile;
  constexpr uint32_t per = conv_per_word<P>;
  const bool wide = conv_vector(a.C, per) == 4 * per, even = a.C % per == 0;
  const uint32_t words = wide ? 4 : 1;
  for (Walk w = walk(path); w.n < t.images; walk_on(w)) {
    const uint32_t row = (uint32_t)i0 + w.r, column = (uint32_t)j0 + w.c, b = b0 + w.n;
    const bool inside = row < a.H && column < a.W && b < a.B;  // what is above or left of the image is large as unsigned
    const typename P::act *src = x + (inside ? ((b * a.H + row) * a.W + column) * a.C + w.v * words * per : 0);
    uint32_t *dst = patch + ((w.n * t.height + w.r) * t.width + w.c) * t.pitch + w.v * words;
    if (wide) {
      cp_async16(smem_u32(dst), src, inside);
    } else if (even) {
      cp_async4(smem_u32(dst), src, inside);
    } else {
      uint32_t v = 0;
      if (inside) {
        v = src[0];
        if (w.v * per + 1 < a.C) v |= (uint32_t)src[1] << 16;
      }
      *dst = v;
    }
  }
}

// conv_store8 writes 8 outputs next to each other, of which `room` exist; `aligned` if every row is a multiple of 8.
template <class P> DEV void conv_store8(typename P::act *dst, const float (&v)[8], uint32_t room, bool aligned) {
  if (!aligned) {
#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
      if (i < room) dst[i] = P::store(v[i]);
    return;
  }
  if (room == 0) return;
  if constexpr (conv_per_word<P> == 2) {
    write_vector(dst, uint4{pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3]), pack_bf16(v[4], v[5]), pack_bf16(v[6], v[7])});
  } else {
    write_vector(dst, float4{P::store(v[0]), P::store(v[1]), P::store(v[2]), P::store(v[3])});
    write_vector(dst + 4, float4{P::store(v[4]), P::store(v[5]), P::store(v[6]), P::store(v[7])});
  }
}

template <class P> DEV void conv_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (conv_per_word<P> == 2) mma_bf16_16x8x16(d, a, b);
  else mma_tf32_16x8x8(d, a, b);
}

// The accumulators of a thread, lane = 4g+t. Column n of product j is output 4n+j of the 32, so that a thread reads its weights
// by 16 bytes and owns outputs 8t … 8t+7: acc[2q+p/2][j][2(p%2)+h] is output 8t+4h+j at place p of window 8q+g of the warp.
typedef float ConvAcc[4][4][4];

// conv_pair_at is two words that are read at once: kept, since clang takes an uint2 apart into two loads, which meet in one bank.
DEV uint2 conv_pair_at(const uint32_t *x) {
  const uint64_t pair = kept(*reinterpret_cast<const uint64_t *>(x));
  return {(uint32_t)pair, (uint32_t)(pair >> 32)};
}

// conv_step adds 8 words on the tensor cores. Words 2t and 2t+1 stand for columns t and t+4 of the instruction's operands, so
// that a thread reads both at once; x0, x1 are its words at the first pixel of its two windows.
template <class P> DEV void conv_step(ConvAcc &acc, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down, const uint32_t *w) {
  const uint4 b0 = read_vector<uint4>(w), b1 = read_vector<uint4>(w + CONV_LD);
  const uint32_t b[4][2] = {{b0.x, b1.x}, {b0.y, b1.y}, {b0.z, b1.z}, {b0.w, b1.w}};
#pragma unroll
  for (int q = 0; q < 2; q++) {
    const uint32_t *x = q ? x1 : x0;
#pragma unroll
    for (int p = 0; p < 2; p++, x += down) {
      const uint2 left = conv_pair_at(x), next = conv_pair_at(x + right);
      const uint32_t a[4] = {left.x, next.x, left.y, next.y};
#pragma unroll
      for (int j = 0; j < 4; j++) conv_mma<P>(acc[2 * q + p][j], a, b[j]);
    }
  }
}

// conv_pair adds 2 words on the ordinary cores; w is row 0 of the weights from output 8t on.
DEV void conv_pair(ConvAcc &acc, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down, const uint32_t *w) {
  uint2 x[8];
#pragma unroll
  for (int q = 0; q < 2; q++) {
    const uint32_t *p = q ? x1 : x0;
    x[4 * q] = conv_pair_at(p);
    x[4 * q + 1] = conv_pair_at(p + right);
    x[4 * q + 2] = conv_pair_at(p + down);
    x[4 * q + 3] = conv_pair_at(p + down + right);
  }
#pragma unroll
  for (int k = 0; k < 2; k++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float4 v = read_vector<float4>(w + k * CONV_LD + 4 * h);
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const float xi = bits_float(k ? x[i].y : x[i].x);
        const int at = 2 * (i % 2) + h;
        float(&d)[4][4] = acc[i / 2];
        d[0][at] = fmaf_(xi, v.x, d[0][at]);
        d[1][at] = fmaf_(xi, v.y, d[1][at]);
        d[2][at] = fmaf_(xi, v.z, d[2][at]);
        d[3][at] = fmaf_(xi, v.w, d[3][at]);
      }
    }
}

// conv_multiply adds `steps` steps of 8 words; word pair p of a window lies offset[p] behind its first pixel.
template <class P>
DEV void conv_multiply(ConvAcc &acc, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down, const uint32_t *w, const uint32_t *offset, uint32_t steps) {
  const uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  if constexpr (conv_tensor<P>) {
    w += 2 * t * CONV_LD + 4 * g;
    offset += t;
    uint32_t s = 0;
    for (; s + 2 <= steps; s += 2, w += 16 * CONV_LD, offset += 8) {  // in twos by hand: clang unrolls no loop with assembly
      const uint32_t o0 = offset[0], o1 = offset[4];
      conv_step<P>(acc, x0 + o0, x1 + o0, right, down, w);
      conv_step<P>(acc, x0 + o1, x1 + o1, right, down, w + 8 * CONV_LD);
    }
    if (s < steps) conv_step<P>(acc, x0 + offset[0], x1 + offset[0], right, down, w);
  } else {
    w += 8 * t;
    for (uint32_t p = 0; p < 4 * steps; p++, w += 2 * CONV_LD) {
      const uint32_t o = offset[p];
      conv_pair(acc, x0 + o, x1 + o, right, down, w);
    }
  }
}

// conv_run is the body of conv_forward and conv_backward_data. Op says what is special about each:
//   bias(a,o)                    what is added to output o in store
//   tap(a,r,s)                   where tap (r,s) lies in the patch, in pixels from the first tap's
//   weights(w,a,word0,words,o)   fills w [words][CONV_LD] with the weights of outputs o … o+31
//   path(a)                      how threads go through a patch to load it
//   load(patch,a,path,place)     fills a patch
//   store(acc,a,place,own,bias,o)    writes the results
// Unit u of a slot is a place: images from b, windows from (i,j) on. own[q] is which window of a unit thread row g has as its q-th:
// image, row and column, in 8 bits each.
struct ConvPlace {
  uint32_t b, i, j;
};

DEV ConvPlace conv_place(const ConvTile &t, uint32_t u) {
  const uint32_t band = u / t.strips;
  return ConvPlace{band / t.bands * t.images, band % t.bands * t.rows, u % t.strips * t.columns};
}

template <class P, class Op> DEV void conv_run(const ConvArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  const ConvTile &t = a.tile;
  uint32_t *w = shared, *offset = w + t.resident * 8 * CONV_LD;
  float *bias = reinterpret_cast<float *>(offset + t.steps * 4);
  uint32_t *patches = offset + t.steps * 4 + CONV_OUTPUTS;
  const uint32_t o = blockIdx.x % t.tiles * CONV_OUTPUTS, stride = gridDim.x / t.tiles;
  const bool streamed = t.resident < t.steps;

  for (uint32_t i = threadIdx.x; i < 4 * t.steps; i += CONV_THREADS) {
    const uint32_t tap = 2 * i / t.depth, r = tap / a.S;
    offset[i] = r < a.R ? Op::tap(a, r, tap % a.S) * t.pitch + 2 * i % t.depth : 0;  // beyond: weights 0
  }
  if (threadIdx.x < CONV_OUTPUTS) bias[threadIdx.x] = Op::bias(a, o + threadIdx.x);
  // Words of a pixel that nothing is loaded into meet weights of zero, and must not be NaN.
  conv_clear(patches, t.stages * t.patch, CONV_THREADS);
  if (!streamed) Op::weights(w, a, 0, t.steps * 8, o);
  __syncthreads();

  const uint32_t warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, right = t.pitch, down = t.width * t.pitch;
  uint32_t window[2], own[2];
#pragma unroll
  for (uint32_t q = 0; q < 2; q++) {
    const uint32_t v = warp * 16 + q * 8 + g, row = v / t.columns, n = row / t.rows;
    window[q] = n < t.images ? ((n * t.height + 2 * (row % t.rows)) * t.width + 2 * (v % t.columns)) * t.pitch : 0;
    own[q] = n | row % t.rows << 8 | v % t.columns << 16;
  }
  const Path path = Op::path(a);

  uint32_t u = blockIdx.x / t.tiles, stage = 0;
  ConvPlace here = conv_place(t, u), there = here;
  if (u < t.units) Op::load(patches, a, path, here);
  cp_async_commit();
  for (; u < t.units; u += stride, here = there) {
    const uint32_t next = u + stride;
    there = conv_place(t, next);
    if (t.stages == 2) {
      if (next < t.units) Op::load(patches + (stage ^ 1) * t.patch, a, path, there);
      cp_async_commit();
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();
    const uint32_t *patch = patches + stage * t.patch;
    ConvAcc acc = {};
    for (uint32_t s = 0; s < t.steps; s += t.resident) {
      const uint32_t steps = t.steps - s < t.resident ? t.steps - s : t.resident;
      if (streamed) {
        if (s > 0) __syncthreads();
        Op::weights(w, a, 8 * s, 8 * steps, o);
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
      }
      conv_multiply<P>(acc, patch + window[0], patch + window[1], right, down, w, offset + 4 * s, steps);
    }
    Op::store(acc, a, here, own, bias, o);
    __syncthreads();
    if (t.stages == 2) {
      stage ^= 1;
    } else if (next < t.units) {
      Op::load(patches, a, path, there);
      cp_async_commit();
    }
  }
}
