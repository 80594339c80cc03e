// The walk of a block of conv_forward or conv_backward_data over its units.
#pragma once
#include "conv_sums.cuh"

// conv_place returns the place of unit u.
DEV ConvPlace conv_place(const ConvTile &t, uint32_t u) {
  const uint32_t band = u / t.strips;
  return ConvPlace{band / t.bands * t.images, band % t.bands * t.rows, u % t.strips * t.columns};
}

// conv_next returns the place of the unit behind the one at p.
DEV ConvPlace conv_next(const ConvTile &t, ConvPlace p) {
  p.j += t.columns;
  if (p.j == t.strips * t.columns) p.j = 0, p.i += t.rows;
  if (p.i == t.bands * t.rows) p.i = 0, p.b += t.images;
  return p;
}

// ConvWindows are the windows of a thread in a unit: image, row and column, in 8 bits each, and how many elements of the
// result they lie behind the first window of the unit.
template <class P> struct ConvWindows {
  uint32_t place[ConvSums<P>::WINDOWS], at[ConvSums<P>::WINDOWS];
};

// conv_unpack returns the image, the row and the column of a window of ConvWindows.
DEV ConvPlace conv_unpack(uint32_t window) { return {window % 256, window / 256 % 256, window / 65536}; }

// conv_whole says whether all 64 windows of the unit at p exist, of so many images, rows and columns.
DEV bool conv_whole(const ConvTile &t, const ConvPlace &p, uint32_t images, uint32_t rows, uint32_t columns) {
  return t.images * t.rows * t.columns == CONV_WINDOWS && p.b + t.images <= images && p.i + t.rows <= rows &&
         p.j + t.columns <= columns;
}

// conv_inside says whether a window of the unit at p exists.
DEV bool conv_inside(const ConvTile &t, const ConvPlace &p, uint32_t window, uint32_t images, uint32_t rows,
                     uint32_t columns) {
  const ConvPlace w = conv_unpack(window);
  return w.b < t.images && p.b + w.b < images && p.i + w.i < rows && p.j + w.j < columns;
}

// ConvRow is a row of weights: word d of a tap.
struct ConvRow {
  uint32_t tap, d;
};
DEV ConvRow conv_row(const ConvTile &t, uint32_t word) { return {word / t.depth, word % t.depth}; }

// conv_row_on goes on by so many words.
DEV void conv_row_on(const ConvTile &t, ConvRow &row, const ConvRow &step) {
  row.tap += step.tap, row.d += step.d;
  if (row.d >= t.depth) row.d -= t.depth, row.tap++;
}

// ConvKind is a kind of filters: any, those of 3×3 taps with a depth of whole slices, or those of few steps. The weights
// of the last two stay in shared memory.
enum ConvKind { CONV_ANY, CONV_3X3, CONV_FEW };

// conv_run is the body of conv_forward and conv_backward_data. Op has the parts in which they differ:
//   bias(a,o)                   the number that store adds to output o
//   tap(a,r,s)                  the place of tap (r,s) in the patch, in pixels behind the first tap
//   weights(w,a,word,words,o)   fills w with so many words of the weights of outputs o … o+31, from `word` on
//   gaps(a)                     whether load leaves words of a patch as they are
//   lane(a)                     where a thread copies in a patch
//   load(patch,a,lane,place,from)   fills a patch, or with AHEAD begins to, with the elements of a pixel from one on
//   holds(a), hold(next,a,lane,place,from), put(patch,a,lane,place,next)   load in two steps, if it can be done so
//   at(a,n,i,j)                 the first element of window (n,i,j) in the result
//   store(sums,a,place,own,bias,o)  writes the results of the windows `own`
template <class P, class Op, ConvKind KIND = CONV_ANY> DEV void conv_run(const ConvArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  typedef ConvSums<P> Sums;
  const ConvTile &t = a.tile;
  uint32_t *w = shared, *offset = w + t.resident * Sums::STEP;
  float *bias = reinterpret_cast<float *>(offset + t.steps * 4);
  uint32_t *patches = offset + t.steps * 4 + CONV_OUTPUTS;
  const uint32_t o = blockIdx.x % t.tiles * CONV_OUTPUTS, each = ceil_div(t.units, gridDim.x / t.tiles);
  const bool streamed = KIND == CONV_ANY && t.resident < t.steps;

  for (uint32_t i = threadIdx.x; KIND != CONV_3X3 && i < 4 * t.steps; i += CONV_THREADS) {
    const uint32_t tap = 2 * i / t.depth, r = tap / a.S;
    offset[i] =
        r < a.R ? Op::tap(a, r, tap % a.S) * t.pitch + 2 * i % t.depth : 0;  // behind the last tap: its weights are 0
  }
  if (threadIdx.x < CONV_OUTPUTS) bias[threadIdx.x] = Op::bias(a, o + threadIdx.x);
  // Words that are never loaded are 0 beside an image; those of a pixel meet weights of zero, and must not be NaN.
  if (Op::gaps(a)) conv_clear(patches, t.stages * t.patch, CONV_THREADS);
  if (!streamed) Op::weights(w, a, 0, t.steps * 8, o);
  __syncthreads();

  // A thread divides for one of the 16 windows of its warp, and gets the others from the threads beside it.
  const uint32_t thread = kept(threadIdx.x), right = t.pitch, down = t.width * t.pitch;
  uint32_t window[2];
  ConvWindows<P> own;
  {
    const uint32_t v = thread / 32 * 16 + thread % 16, row = v / t.columns, n = row / t.rows;
    const uint32_t i = row - n * t.rows, j = v - row * t.columns, all = 0xffffffffu;
    const uint32_t pixel = n < t.images ? ((n * t.height + 2 * i) * t.width + 2 * j) * t.pitch : 0;
#pragma unroll
    for (uint32_t q = 0; q < 2; q++) window[q] = __shfl_sync(all, pixel, q * 8 + thread % 32 / 4);
#pragma unroll
    for (uint32_t q = 0; q < Sums::WINDOWS; q++) {
      own.place[q] = __shfl_sync(all, n | i << 8 | j << 16, Sums::window(q));
      own.at[q] = __shfl_sync(all, Op::at(a, n, i, j), Sums::window(q));
    }
  }
  const uint32_t lane = Op::lane(a);

  uint32_t u = blockIdx.x / t.tiles * each, stage = 0;
  const uint32_t first = u, end = u + each < t.units ? u + each : t.units;
  ConvPlace here = conv_place(t, u);
  const bool held = Op::holds(a);
  typename Op::Held next;
  constexpr uint32_t per = conv_per_word<P>;
  for (; u < end; u++) {
    Sums sums = {};
    for (uint32_t slice = 0;;) {
      const bool two = Op::AHEAD && t.stages == 2, begins = u == first && slice == 0;
      if (held && !begins) {
        Op::put(patches, a, lane, here, next);
      } else if (!two || begins) {
        Op::load(patches, a, lane, here, slice * per);
        cp_async_commit();
      }
      // What comes next: the slice behind this one, or the first one of the next unit.
      const uint32_t on = KIND == CONV_3X3 && slice + CONV_SLICE < t.depth ? slice + CONV_SLICE : 0;
      const ConvPlace there = on > 0 ? here : conv_next(t, here);
      const bool more = on > 0 || u + 1 < end;
      if (two) {
        if (more) Op::load(patches + (stage ^ 1) * t.patch, a, lane, there, on * per);
        cp_async_commit();
        cp_async_wait<1>();
      } else {
        cp_async_wait<0>();
      }
      __syncthreads();
      if (held && more) Op::hold(next, a, lane, there, on * per);
      const uint32_t *patch = patches + stage * t.patch;
      if constexpr (KIND == CONV_3X3) {
        conv_multiply_3x3<Op::TURNED>(sums, patch + window[0], patch + window[1], w + slice / 8 * Sums::STEP, t);
      } else if constexpr (KIND == CONV_FEW) {
        conv_multiply_few(sums, patch + window[0], patch + window[1], right, down, w, offset, t.steps);
      } else {
        uint32_t s = 0;
        do {
          const uint32_t steps = t.steps - s < t.resident ? t.steps - s : t.resident;
          if (streamed) {
            if (s > 0) __syncthreads();
            Op::weights(w, a, 8 * s, 8 * steps, o);
            __syncthreads();
          }
          conv_multiply(sums, patch + window[0], patch + window[1], right, down, w, offset + 4 * s, steps);
          s += steps;
        } while (s < t.steps);
      }
      if (on == 0) Op::store(sums, a, here, own, bias, o);
      __syncthreads();
      if (two) stage ^= 1;
      here = there, slice = on;
      if (on == 0) break;
    }
  }
}
