// The product that conv_forward and conv_backward_data share, and the walk of a block over its units.
#pragma once
#include "conv_patch.cuh"

// The sums of a thread, lane = 4g+t. Column n of product j is output 4n+j of the 32, so that a thread reads 16 bytes of
// weights at a time and owns outputs 8t … 8t+7: acc[2q+p/2][j][2(p%2)+h] is output 8t+4h+j at place p of window 8q+g of
// the warp.
typedef float ConvAcc[4][4][4];

// conv_pair_at reads two words at once. Without `kept` clang would take the pair apart into two loads, and these would
// meet in one bank.
DEV uint2 conv_pair_at(const uint32_t *x) {
  const uint64_t pair = kept(*reinterpret_cast<const uint64_t *>(x));
  return {(uint32_t)pair, (uint32_t)(pair >> 32)};
}

// conv_step adds the products of 8 words on the tensor cores. Words 2t and 2t+1 stand for columns t and t+4 of the
// operands of the instruction, so that a thread reads both at once. x0 and x1 are the words of the thread at the first
// pixel of its two windows; the next pixel is `right` words behind, the pixel below `down` words.
template <class P>
DEV void conv_step(ConvAcc &acc, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down,
                   const uint32_t *w) {
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

// conv_pair adds the products of 2 words on the ordinary cores. w is their first row of weights, from output 8t on.
DEV void conv_pair(ConvAcc &acc, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down,
                   const uint32_t *w) {
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

// conv_multiply adds the products of `steps` steps of 8 words. Pair p of the words of a window lies offset[p] words
// behind its first pixel.
template <class P>
DEV void conv_multiply(ConvAcc &acc, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down,
                       const uint32_t *w, const uint32_t *offset, uint32_t steps) {
  const uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  if constexpr (conv_tensor<P>) {
    w += 2 * t * CONV_LD + 4 * g;
    offset += t;
    uint32_t s = 0;
    for (; s + 2 <= steps; s += 2, w += 16 * CONV_LD, offset += 8) {  // in twos: clang unrolls no loop with assembly
      named<64, 32>();
      const uint32_t o0 = offset[0], o1 = offset[4];
      conv_step<P>(acc, x0 + o0, x1 + o0, right, down, w);
      conv_step<P>(acc, x0 + o1, x1 + o1, right, down, w + 8 * CONV_LD);
    }
    if (s < steps) conv_step<P>(acc, x0 + offset[0], x1 + offset[0], right, down, w);
  } else {
    w += 8 * t;
    for (uint32_t p = 0; p < 4 * steps; p++, w += 2 * CONV_LD) {
      named<64, 32>();
      const uint32_t o = offset[p];
      conv_pair(acc, x0 + o, x1 + o, right, down, w);
    }
  }
}

// conv_place returns the place of unit u.
DEV ConvPlace conv_place(const ConvTile &t, uint32_t u) {
  const uint32_t band = u / t.strips;
  return ConvPlace{band / t.bands * t.images, band % t.bands * t.rows, u % t.strips * t.columns};
}

// conv_run is the body of conv_forward and conv_backward_data. Op has the parts in which they differ:
//   bias(a,o)                   the number that store adds to output o
//   tap(a,r,s)                  the place of tap (r,s) in the patch, in pixels behind the first tap
//   weights(w,a,word,words,o)   fills w [words][CONV_LD] with the weights of outputs o … o+31, from `word` on
//   path(a)                     the Path of a thread that loads a patch
//   load(patch,a,path,place)    fills a patch
//   store(acc,a,place,own,bias,o)  writes the results. own[q] is the q-th window of a thread in its unit: image, row
//                               and column, in 8 bits each
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
    offset[i] =
        r < a.R ? Op::tap(a, r, tap % a.S) * t.pitch + 2 * i % t.depth : 0;  // behind the last tap: its weights are 0
  }
  if (threadIdx.x < CONV_OUTPUTS) bias[threadIdx.x] = Op::bias(a, o + threadIdx.x);
  // The words between pixels are never loaded. They meet weights of zero, and must not be NaN.
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
