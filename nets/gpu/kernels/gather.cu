// gather: y[k,b,i,j,c] = table[c, images[s, i+row-4, j'+col-4, c]], 0 outside of the image
//
// Brings the batch of a step from the data set: s = index[k,step,b] is the sample, (row, col) the corner of its crop,
// and j' = W-1-j if the sample is flipped, else j, so that the crop is mirrored. table normalises the bytes of a
// channel. Without images, y[k,b] = features[s] as it is. Without a sample (s < 0), y[k,b] = 0. labels[k,b] =
// classes[s], or -1. images [n,H,W,C], table [C,256], y [K,B,H,W,pixel] act, labels [K,B].
// Grid (⌈BHW·pixel/4096⌉, K), block 256: 16 elements per thread, four at a time. Dynamic shared memory: 1024·C bytes for the
// table, none for more than 32 channels. Moves BHW(C + pixel act) bytes per slot; deterministic.
#include "elements.cuh"
#include "work.cuh"

struct GatherArgs {
  const Work *work;
  const uint8_t *images;   // [n,H,W,C], or null
  const float *features;   // [n,H,W,C] if images is null
  const uint8_t *classes;  // [n]
  const float *table;      // [C,256] the value of each byte of a channel
  void *y;                 // [K,B,H,W,pixel] act
  int32_t *labels;         // [K,B]; -1: the sample does not count
  uint32_t step, E, B, H, W, C;
  uint32_t pixel, unused;  // elements of a pixel of y: C, or more, of which those behind C are 0
};

// STAGED is the largest number of channels whose table goes to shared memory; gather.go has the same number.
constexpr uint32_t STAGED = 32;
constexpr uint32_t BORDER = 4;  // of zeros around an image: plan.Pad

// Where a sample of the batch begins, and which crop of it is read. none: there is no sample.
struct Sample {
  size_t first;
  bool none;
  uint32_t row, col;
  bool flip;
};

// sample_at returns the sample at a place of [K,E,B]; a sample has `size` elements.
DEV Sample sample_at(const Work *work, size_t at, uint32_t size) {
  const uint8_t *crop = work->crop, *flip = work->flip;
  const int32_t index = work->index[at];
  return {(size_t)index * size, index < 0, crop ? crop[2 * at] : BORDER, crop ? crop[2 * at + 1] : BORDER,
          flip && flip[at] != 0};
}

// value_at returns element (i,j,c) of y for a sample.
DEV float value_at(const GatherArgs &a, const float *table, const Sample &s, uint32_t i, uint32_t j, uint32_t c) {
  if (s.none) return 0;
  if (!a.images) return a.features[s.first + ((i * a.W + j) * a.C + c)];
  const uint32_t y = i + s.row - BORDER,
                 x = (s.flip ? a.W - 1 - j : j) + s.col - BORDER;  // a number below 0 is large as unsigned
  if (y >= a.H || x >= a.W) return 0;
  return table[c * 256 + a.images[s.first + ((y * a.W + x) * a.C + c)]];
}

template <class P> DEV void gather(const GatherArgs &a) {
  typedef typename P::act act;
  DYNAMIC_SHARED(float, staged);
  const Work *work = a.work;
  const uint32_t k = blockIdx.y;
  if (k >= work->clients) return;
  const float *table = a.table;
  if (a.images && a.C <= STAGED) {
    for (uint32_t i = threadIdx.x; i < 256 * a.C; i += 256) staged[i] = a.table[i];
    __syncthreads();
    table = staged;
  }
  const uint32_t line = a.W * a.pixel, size = a.H * line, total = a.B * size, image = a.H * a.W * a.C;
  const size_t batch = ((size_t)k * a.E + a.step) * a.B;
  act *out = (act *)a.y + (size_t)k * total;
  for (uint32_t e = 4 * (blockIdx.x * 256 + threadIdx.x); e < total; e += 4 * 256 * gridDim.x) {
    uint32_t b = e / size, within = e - b * size, i = within / line, rest = within - i * line, j = rest / a.pixel,
             c = rest - j * a.pixel;
    Sample s = sample_at(work, batch + b, image);
    float v[4] = {};
    if (a.pixel == 4) {
#pragma unroll
      for (uint32_t u = 0; u < 4; u++)
        if (u < a.C) v[u] = value_at(a, table, s, i, j, u);
      store4<P>(out + e, {v[0], v[1], v[2], v[3]});
      continue;
    }
#pragma unroll
    for (int u = 0; u < 4; u++) {
      v[u] = b < a.B && c < a.C ? value_at(a, table, s, i, j, c) : 0;
      if (++c < a.pixel) continue;
      c = 0;
      if (++j < a.W) continue;
      j = 0;
      if (++i < a.H) continue;
      i = 0;
      if (++b < a.B) s = sample_at(work, batch + b, image);
    }
    if (total % 4 == 0) {
      store4<P>(out + e, {v[0], v[1], v[2], v[3]});
      continue;
    }
#pragma unroll
    for (int u = 0; u < 4; u++) {
      if (e + u < total) out[e + u] = P::store(v[u]);
    }
  }
  if (blockIdx.x > 0) return;
  for (uint32_t b = threadIdx.x; b < a.B; b += 256) {
    const int32_t index = work->index[batch + b];
    a.labels[(size_t)k * a.B + b] = index < 0 ? -1 : a.classes[index];
  }
}

extern "C" __global__ void __launch_bounds__(256) gather_fp32(const GatherArgs a) { gather<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) gather_tf32(const GatherArgs a) { gather<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) gather_bf16(const GatherArgs a) { gather<BF16>(a); }
