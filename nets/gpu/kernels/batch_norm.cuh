// What the kernels of batch normalisation share: their arguments, which rows and channels a thread takes, and two sums
// over the rows.
//
// The maps of a slot are rows [C], one for each pixel of each sample. A thread takes V channels of 32 rows that lie
// `step` rows apart. `lanes` threads lie side by side over the channels, so that warps read whole lines, and 256/lanes
// = step threads take rows below each other. A block takes one tile of V·lanes channels and one of `chunks` runs of
// 32·step rows.
#pragma once
#include "elements.cuh"
#include "work.cuh"

// The arguments of all kernels of batch normalisation. NormArgs.Split of batch_norm.go sets lanes and chunks.
//   y[k,b,p,c] = max(0, weight[k,c]·(x[k,b,p,c] − mean[k,c])/√(variance[k,c] + 1e-5) + bias[k,c] + add[k,b,p,c])
struct NormArgs {
  const Work *work;
  const void *x;          // [K,B,pixels,C] act
  const void *add;        // [K,B,pixels,C] act, or null
  void *y;                // [K,B,pixels,C] act; backward: read if something was added and relu, else null
  const int32_t *labels;  // [K,B]; -1: the sample does not count. norm_evaluate does not read them
  double *partial;        // [K,chunks,2,C] two sums of every channel
  float *stats;           // [K,8,C]: see SCALE … DX_1
  const void *gy;         // [K,B,pixels,C] act, gradient of y
  const void *gy2;        // [K,B,pixels,C] act, to be added to gy, or null
  void *d;                // [K,B,pixels,C] act, gradient of y behind the ReLU and of add; null without add and gy2
  void *dx;               // [K,B,pixels,C] act
  float *grad;            // [K,P-first] of the elements from `first` on of a row
  uint32_t w_offset, b_offset, mean_offset, variance_offset;  // of weight, bias and running statistics [C] in a row
  uint32_t B, pixels, C, P;
  uint32_t relu;          // 1: max(0, ·), 0: without
  uint32_t lanes, chunks;
  uint32_t step, E, first;
};

constexpr uint32_t NORM_THREADS = 256, NORM_ROWS = 32;  // batch_norm.go has the same numbers
constexpr double NORM_EPSILON = 1e-5;  // added to variances: PyTorch's default

// The statistics of each channel of a slot. Forward: y = SCALE·x + SHIFT, from MEAN, INVERSE = 1/√(variance + 1e-5),
// and the UNBIASED variance for the running statistics. Backward: dx = DX_D·d + DX_X·x + DX_1.
enum { SCALE, SHIFT, MEAN, INVERSE, UNBIASED, DX_D, DX_X, DX_1, NORM_STATS };

DEV float *norm_stats(const NormArgs &a, uint32_t which) {
  return a.stats + ((size_t)blockIdx.y * NORM_STATS + which) * a.C;
}

// Place is where a thread is: V channels from c on, at `row`, which is `pixel` of `image`. It takes the rows row,
// row+step … below end.
struct Place {
  uint32_t c, row, end, step, image, pixel;
};

template <uint32_t V> DEV Place place(const NormArgs &a) {
  const uint32_t tile = blockIdx.x / a.chunks, chunk = blockIdx.x % a.chunks, rows = a.B * a.pixels;
  Place p;
  p.c = (tile * a.lanes + threadIdx.x % a.lanes) * V;
  p.step = NORM_THREADS / a.lanes;
  const uint32_t first = chunk * NORM_ROWS * p.step;
  p.row = first + threadIdx.x / a.lanes;
  p.end = first + NORM_ROWS * p.step < rows ? first + NORM_ROWS * p.step : rows;
  if (p.c >= a.C) p.end = 0;  // behind the last channel: no rows
  p.image = p.row / a.pixels;
  p.pixel = p.row % a.pixels;
  return p;
}

// element returns the index of the first channel at p. Behind the last row it is an index in that row, so that a thread
// may read without asking.
DEV size_t element(const NormArgs &a, const Place &p) {
  return (size_t)(p.row < p.end ? p.row : p.end - 1) * a.C + p.c;
}

// next moves p to the next row, and returns whether the sample of the present row counts. With labels null all do.
DEV bool next(const NormArgs &a, const int32_t *labels, Place &p) {
  const bool counts = p.row < p.end && (!labels || labels[p.image] >= 0);
  p.row += p.step;
  p.pixel += p.step;
  while (p.pixel >= a.pixels) {
    p.pixel -= a.pixels;
    p.image++;
  }
  return counts;
}

// put_sums writes the two sums of a chunk: it adds up the sums of the threads of a block, in double and in order. All
// threads must call it.
template <uint32_t V> DEV void put_sums(const NormArgs &a, const float (&first)[V], const float (&second)[V]) {
  SHARED(float, room, [2][4 * NORM_THREADS]);
  store_channels<FP32, V>(&room[0][V * threadIdx.x], first);
  store_channels<FP32, V>(&room[1][V * threadIdx.x], second);
  __syncthreads();
  const uint32_t width = V * a.lanes, which = threadIdx.x / width, column = threadIdx.x % width;
  const uint32_t tile = blockIdx.x / a.chunks, chunk = blockIdx.x % a.chunks, c = tile * width + column;
  if (which > 1 || c >= a.C) return;
  double sum = 0;
#pragma unroll 8
  for (uint32_t i = column; i < V * NORM_THREADS; i += width) sum += room[which][i];
  a.partial[(((size_t)blockIdx.y * a.chunks + chunk) * 2 + which) * a.C + c] = sum;
}

struct Sums {
  double first, second;
};

// chunk_sums returns the two sums of channel 32·blockIdx.x + threadIdx.x over all chunks, in threads 0 … 31 of a block
// of 256. Each of its eight warps adds every eighth chunk; then the eight sums are added in order. All threads must
// call it.
DEV Sums chunk_sums(const NormArgs &a) {
  SHARED(double, room, [2][NORM_THREADS]);
  const uint32_t c = 32 * blockIdx.x + threadIdx.x % 32;
  const double *partial = a.partial + (size_t)blockIdx.y * a.chunks * 2 * a.C + c;
  Sums s = {0, 0};
  if (c < a.C) {
#pragma unroll 4
    for (uint32_t j = threadIdx.x / 32; j < a.chunks; j += NORM_THREADS / 32) {
      s.first += partial[(size_t)2 * j * a.C];
      s.second += partial[((size_t)2 * j + 1) * a.C];
    }
  }
  room[0][threadIdx.x] = s.first;
  room[1][threadIdx.x] = s.second;
  __syncthreads();
  if (threadIdx.x >= 32) return s;
  for (uint32_t i = threadIdx.x + 32; i < NORM_THREADS; i += 32) {
    s.first += room[0][i];
    s.second += room[1][i];
  }
  return s;
}
