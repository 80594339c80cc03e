// gather: y[k,b,i,j,c] = table[c, images[s, i+row-4, j'+col-4, c]], 0 outside of the image
//
// Brings the batch of a step from the data set: s = index[k,step,b] is the sample, (row, col) the corner of its crop,
// and j' = W-1-j if the sample is flipped, else j, so that the crop is mirrored. table normalises the bytes of a
// channel. Without images, y[k,b] = features[s] as it is. Without a sample (s < 0), y[k,b] = 0. labels[k,b] =
// classes[s], or -1. images [n,H,W,C], table [C,256], y [K,B,H,W,pixel] act, labels [K,B].
// Grid (⌈BHW·pixel/4096⌉, K), block 256: 16 elements per thread, four at a time. Dynamic shared memory: 1024·C bytes
// for the table, none for more than 32 channels. Moves BHW(C + pixel act) bytes per slot; deterministic.
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
  // From four elements of a thread to its next four: 1024 elements, as samples, rows, columns and channels.
  uint32_t stride_b, stride_i, stride_j, stride_c;
};

// STAGED is the largest number of channels whose table goes to shared memory; gather.go has the same number.
constexpr uint32_t STAGED = 32;
constexpr uint32_t BORDER = 4;  // of zeros around an image: plan.Pad
constexpr uint32_t FOURS = 4;   // of elements that a thread writes

// Element is channel c of pixel (i,j) of sample b.
struct Element {
  uint32_t b, i, j, c;
};

// element_at returns element e of y [B,H,W,pixel].
DEV Element element_at(const GatherArgs &a, uint32_t e, uint32_t pixel) {
  const uint32_t pixels = e / pixel, rows = pixels / a.W, b = rows / a.H;
  return {b, rows - b * a.H, pixels - rows * a.W, e - pixels * pixel};
}

// pixel_on goes on by the stride, a whole number of pixels. Divisions are slow, so it has none.
DEV void pixel_on(const GatherArgs &a, Element &e) {
  e.b += a.stride_b, e.i += a.stride_i, e.j += a.stride_j;
  if (e.j >= a.W) e.j -= a.W, e.i++;
  if (e.i >= a.H) e.i -= a.H, e.b++;
}

// element_on goes on by the stride, where it is no whole number of pixels.
DEV void element_on(const GatherArgs &a, Element &e) {
  e.c += a.stride_c;
  if (e.c >= a.pixel) e.c -= a.pixel, e.j++;
  pixel_on(a, e);
}

// Sample is a sample of the batch: pixel (i,j) of y is its pixel (i+row, column+j), or (i+row, column-j) if it is
// mirrored. Numbers below 0 are large as unsigned.
struct Sample {
  size_t first;  // element of the data set
  uint32_t row, column, turn;
};

// sample_at returns the sample at a place of [K,E,B].
DEV Sample sample_at(const GatherArgs &a, size_t at) {
  const Work *work = a.work;
  const int32_t index = work->index[at];
  Sample s = {(size_t)(uint32_t)index * (a.H * a.W * a.C), 0, 0, 1};
  if (index < 0) {
    s.row = a.H;  // of an image that is not there, all rows are beyond the last
  } else if (a.images) {
    const uint8_t *crop = work->crop, *flip = work->flip;
    if (crop) s.row = crop[2 * at] - BORDER, s.column = crop[2 * at + 1] - BORDER;
    if (flip && kept(uint32_t(flip[at])) != 0) s.column += a.W - 1, s.turn = -1u;
  }
  return s;
}

// Output is where a thread writes: its elements from `first` on, of `total` of a slot.
template <class P> struct Output {
  typename P::act *y;
  size_t batch;  // place of the batch's first sample in [K,E,B]
  uint32_t first, total;
};

// gather_colours writes pixels of four elements, of which three are channels of an image.
template <class P> DEV void gather_colours(const GatherArgs &a, const float *table, const Output<P> &out) {
  Element at = element_at(a, out.first, 4);
  uint32_t b = -1u;  // the image of s
  Sample s = {};
  for (uint32_t n = 0, e = out.first; n < FOURS && e < out.total; n++, e += 4 * 256) {
    if (at.b != b) b = at.b, s = sample_at(a, out.batch + b);
    const uint32_t i = at.i + s.row, j = s.column + s.turn * at.j;
    float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
    if (i < a.H && j < a.W) {
      const uint8_t *pixel = a.images + s.first + (i * a.W + j) * 3;
      v.x = table[pixel[0]], v.y = table[256 + pixel[1]], v.z = table[512 + pixel[2]];
    }
    store4<P>(out.y + e, v);
    pixel_on(a, at);
  }
}

// gather_elements writes any pixels.
template <class P> DEV void gather_elements(const GatherArgs &a, const float *table, const Output<P> &out) {
  Element at = element_at(a, out.first, a.pixel);
  uint32_t b = -1u;  // the sample of s
  Sample s = {};
  for (uint32_t n = 0, e = out.first; n < FOURS && e < out.total; n++, e += 4 * 256, element_on(a, at)) {
    Element one = at;
    float v[4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
      v[u] = 0.0f;
      if (e + u >= out.total) continue;
      if (one.b != b) b = one.b, s = sample_at(a, out.batch + b);
      const uint32_t i = one.i + s.row, j = s.column + s.turn * one.j;
      if (i < a.H && j < a.W && one.c < a.C) {
        const size_t from = s.first + ((i * a.W + j) * a.C + one.c);
        v[u] = a.images ? table[one.c * 256 + a.images[from]] : a.features[from];
      }
      if (++one.c < a.pixel) continue;
      one.c = 0;
      if (++one.j < a.W) continue;
      one.j = 0;
      if (++one.i < a.H) continue;
      one.i = 0, one.b++;
    }
    if (out.total % 4 == 0) {
      store4<P>(out.y + e, {v[0], v[1], v[2], v[3]});
      continue;
    }
#pragma unroll
    for (int u = 0; u < 4; u++) {
      if (e + u < out.total) out.y[e + u] = P::store(v[u]);
    }
  }
}

template <class P> DEV void gather(const GatherArgs &a) {
  DYNAMIC_SHARED(float, staged);
  const Work *work = a.work;
  const uint32_t k = blockIdx.y;
  if (k >= work->clients) return;
  const bool stage = a.images && a.C <= STAGED;
  if (stage) {
#pragma unroll 1
    for (uint32_t i = 4 * threadIdx.x; i < 256 * a.C; i += 4 * 256)
      write_vector(staged + i, read_vector<float4>(a.table + i));
    __syncthreads();
  }
  const uint32_t total = a.B * a.H * a.W * a.pixel;
  const Output<P> out = {static_cast<typename P::act *>(a.y) + (size_t)k * total,
                         ((size_t)k * a.E + a.step) * a.B, 4 * (blockIdx.x * (256 * FOURS) + threadIdx.x), total};
  if (stage && a.C == 3 && a.pixel == 4) gather_colours<P>(a, staged, out);
  else gather_elements<P>(a, stage ? staged : a.table, out);
  if (blockIdx.x > 0) return;
  for (uint32_t b = threadIdx.x; b < a.B; b += 256) {
    const int32_t index = work->index[out.batch + b];
    a.labels[(size_t)k * a.B + b] = index < 0 ? -1 : a.classes[index];
  }
}

extern "C" __global__ void __launch_bounds__(256, 6) gather_fp32(const GatherArgs a) { gather<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256, 6) gather_tf32(const GatherArgs a) { gather<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256, 6) gather_bf16(const GatherArgs a) { gather<BF16>(a); }
