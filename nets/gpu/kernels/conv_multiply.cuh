// The walk of a block of conv_forward or conv_backward_data over its units.
#pragma once
#include "conv_sums.cuh"

// conv_place returns the place of unit u.
DEV ConvPlace conv_place(const ConvTile &t, uint32_t u) {
  const uint32_t band = u / t.strips;
  return ConvPlace{band / t.bands * t.images, band % t.bands * t.rows, u % t.strips * t.columns};
}

// conv_run is the body of conv_forward and conv_backward_data. Op has the parts in which they differ:
//   bias(a,o)                   the number that store adds to output o
//   tap(a,r,s)                  the place of tap (r,s) in the patch, in pixels behind the first tap
//   weights(w,a,word,words,o)   fills w with so many words of the weights of outputs o … o+31, from `word` on
//   path(a)                     the Path of a thread that loads a patch
//   load(patch,a,path,place)    fills a patch
//   store(sums,a,place,own,bias,o)  writes the results. own[q] is the q-th window of a thread in its unit: image, row
//                               and column, in 8 bits each
template <class P, class Op> DEV void conv_run(const ConvArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  typedef ConvSums<P> Sums;
  const ConvTile &t = a.tile;
  uint32_t *w = shared, *offset = w + t.resident * Sums::STEP;
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
  uint32_t window[2], own[Sums::WINDOWS];
#pragma unroll
  for (uint32_t q = 0; q < 2; q++) {
    const uint32_t v = warp * 16 + q * 8 + g, row = v / t.columns, n = row / t.rows;
    window[q] = n < t.images ? ((n * t.height + 2 * (row % t.rows)) * t.width + 2 * (v % t.columns)) * t.pitch : 0;
  }
#pragma unroll
  for (uint32_t q = 0; q < Sums::WINDOWS; q++) {
    const uint32_t v = warp * 16 + Sums::window(q), row = v / t.columns;
    own[q] = row / t.rows | row % t.rows << 8 | v % t.columns << 16;
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
    Sums sums = {};
    for (uint32_t s = 0; s < t.steps; s += t.resident) {
      const uint32_t steps = t.steps - s < t.resident ? t.steps - s : t.resident;
      if (streamed) {
        if (s > 0) __syncthreads();
        Op::weights(w, a, 8 * s, 8 * steps, o);
        __syncthreads();
      }
      conv_multiply(sums, patch + window[0], patch + window[1], right, down, w, offset + 4 * s, steps);
    }
    Op::store(sums, a, here, own, bias, o);
    __syncthreads();
    if (t.stages == 2) {
      stage ^= 1;
    } else if (next < t.units) {
      Op::load(patches, a, path, there);
      cp_async_commit();
    }
  }
}
