// bias_relu: y[k,b,i,j,c] = max(0, bias[k,c] + x[k,b,i,j,c]),
//   or max(0, bias[k,c] + max over the window {2i,2i+1}×{2j,2j+1} of x[k,b,·,·,c]) with side 2
// bias_relu_backward: dx = gy where the ReLU is open and, with side 2, x was the maximum; else 0. Σ dx of every chunk
//
// What follows a convolution without batch normalisation. x, dx [K,B,H,W,C] act; y, gy [K,B,⌊H/side⌋,⌊W/side⌋,C] act:
// with side 2 the last row and the last column of odd maps do not count. arg [K,B,⌊H/2⌋,⌊W/2⌋,C] is 0 … 3, the place of
// the first of the largest in its window, or of its last NaN, and 4 where y is 0; side 1 has none. A NaN in x is one in
// y, and lets the gradient through, as on the CPU.
//
// bias_relu: grid (⌈|y|/1024⌉, K), block 256: four channels per thread at a time, or one if C is no multiple of 4.
//   Moves (side² + 1)|y| act, and |y| bytes with side 2, per slot.
// bias_relu_backward: a thread takes V channels, 4 or 1, of every step-th pixel of y in a run of them. `lanes` threads
//   lie side by side over the channels, and 256/lanes = step threads take pixels below each other. A block takes one
//   tile of V·lanes channels and one of `chunks` runs. The sums are cut by the shape alone and added in order, in float
//   by a thread and in double by a block; conv_reduce adds the chunks.
//   Grid (tiles·chunks, K), block 256, smem 4 KB; moves (|y| + |dx|) act, |y| act or with side 2 |y| bytes, and
//   4·chunks·C bytes per slot.
// Both are deterministic.
#include "elements.cuh"
#include "work.cuh"

struct BiasReLUArgs {
  const Work *work;
  const void *x;      // [K,B,H,W,C] act
  void *y;            // [K,B,⌊H/side⌋,⌊W/side⌋,C] act; bias_relu_backward reads it with side 1
  uint8_t *arg;       // [K,B,⌊H/2⌋,⌊W/2⌋,C]; null with side 1
  const void *gy;     // gradient of y
  void *dx;           // [K,B,H,W,C] act
  float *partial;     // [K,chunks,C] sums of dx
  uint32_t b_offset;  // of bias [C] in a row
  uint32_t B, H, W, C;
  uint32_t side;  // of a window: 2 with pooling, 1 without
  uint32_t lanes, chunks;
};

constexpr uint32_t DEAD = 4;  // arg where y is 0

// Pixel is a pixel of y and the first pixel of its window in x.
struct Pixel {
  uint32_t i, j;
  size_t x;  // its index among the pixels of x
};

DEV Pixel pixel_of(const BiasReLUArgs &a, uint32_t pixel) {
  const uint32_t h = a.H / a.side, w = a.W / a.side, j = pixel % w, i = pixel / w % h, b = pixel / w / h;
  return {i, j, (size_t)(b * a.H + i * a.side) * a.W + j * a.side};
}

// load_places and store_places move V bytes of arg.
template <uint32_t V> DEV void load_places(uint32_t (&place)[V], const uint8_t *arg) {
  const uint32_t all = V == 4 ? *reinterpret_cast<const uint32_t *>(arg) : *arg;
#pragma unroll
  for (uint32_t c = 0; c < V; c++) place[c] = all >> 8 * c & 255;
}
template <uint32_t V> DEV void store_places(uint8_t *arg, const uint32_t (&place)[V]) {
  uint32_t all = 0;
#pragma unroll
  for (uint32_t c = 0; c < V; c++) all |= place[c] << 8 * c;
  if constexpr (V == 4)
    *reinterpret_cast<uint32_t *>(arg) = all;
  else
    *arg = (uint8_t)kept(all);  // kept, so that clang selects 32 bits and not 16
}

// open_maps is bias_relu for V channels at a time.
template <class P, uint32_t V> DEV void open_maps(const BiasReLUArgs &a) {
  typedef typename P::act act;
  const uint32_t n = a.B * (a.H / a.side) * (a.W / a.side) * a.C;
  const act *x = (const act *)a.x + (size_t)blockIdx.y * a.B * a.H * a.W * a.C;
  act *y = (act *)a.y + (size_t)blockIdx.y * n;
  const float *row = a.work->slots[blockIdx.y].row + a.b_offset;
  for (uint32_t at = V * (blockIdx.x * 256 + threadIdx.x); at < n; at += V * gridDim.x * 256) {
    const uint32_t c = at % a.C;
    const act *from = x + pixel_of(a, at / a.C).x * a.C + c;
    float v[V], bias[V], more[3][V];
    uint32_t place[V] = {};
    load_channels<FP32, V>(bias, row + c);
    load_channels<P, V>(v, from);
    if (a.side == 2) {
      load_channels<P, V>(more[0], from + a.C);
      load_channels<P, V>(more[1], from + (size_t)a.W * a.C);
      load_channels<P, V>(more[2], from + (size_t)(a.W + 1) * a.C);
#pragma unroll
      for (uint32_t q = 0; q < 3; q++) {
#pragma unroll
        for (uint32_t i = 0; i < V; i++) {
          if (more[q][i] > v[i] || more[q][i] != more[q][i]) v[i] = more[q][i], place[i] = q + 1;
        }
      }
    }
#pragma unroll
    for (uint32_t i = 0; i < V; i++) {
      v[i] += bias[i];
      if (v[i] <= 0) v[i] = 0, place[i] = DEAD;
    }
    store_channels<P, V>(y + at, v);
    if (a.side == 2) store_places<V>(a.arg + (size_t)blockIdx.y * n + at, place);
  }
}

// close_maps is bias_relu_backward for V channels per thread. room [256·V] is shared memory.
template <class P, uint32_t V> DEV void close_maps(const BiasReLUArgs &a, float *room) {
  typedef typename P::act act;
  const uint32_t h = a.H / a.side, w = a.W / a.side, pixels = a.B * h * w, step = 256 / a.lanes;
  const uint32_t tile = blockIdx.x / a.chunks, chunk = blockIdx.x % a.chunks, width = V * a.lanes;
  const uint32_t c = tile * width + threadIdx.x % a.lanes * V, run = (pixels + a.chunks - 1) / a.chunks;
  const uint32_t end = (chunk + 1) * run < pixels ? (chunk + 1) * run : pixels;
  const size_t base = (size_t)blockIdx.y * pixels * a.C;
  const act *y = (const act *)a.y + base, *gy = (const act *)a.gy + base;
  act *dx = (act *)a.dx + (size_t)blockIdx.y * a.B * a.H * a.W * a.C;
  float sum[V] = {};
  for (uint32_t pixel = chunk * run + threadIdx.x / a.lanes; pixel < end && c < a.C; pixel += step) {
    const size_t at = (size_t)pixel * a.C + c;
    float g[V];
    uint32_t place[V];
    load_channels<P, V>(g, gy + at);
    if (a.side == 2) {
      load_places<V>(place, a.arg + base + at);
    } else {
      float open[V];
      load_channels<P, V>(open, y + at);
#pragma unroll
      for (uint32_t i = 0; i < V; i++) place[i] = open[i] <= 0 ? DEAD : 0;
    }
#pragma unroll
    for (uint32_t i = 0; i < V; i++) sum[i] += place[i] == DEAD ? 0 : g[i];
    // The last windows of a map also clear what no window of side 2 has: the third row, the third column.
    const Pixel p = pixel_of(a, pixel);
    const uint32_t rows = p.i + 1 < h ? a.side : a.H - p.i * a.side,
                   columns = p.j + 1 < w ? a.side : a.W - p.j * a.side;
    for (uint32_t r = 0; r < rows; r++) {
      for (uint32_t s = 0; s < columns; s++) {
        const uint32_t here = r < 2 && s < 2 ? 2 * r + s : DEAD + 1;
        float d[V];
#pragma unroll
        for (uint32_t i = 0; i < V; i++) d[i] = place[i] == here ? g[i] : 0;
        store_channels<P, V>(dx + (p.x + (size_t)r * a.W + s) * a.C + c, d);
      }
    }
  }
  store_channels<FP32, V>(&room[V * threadIdx.x], sum);
  __syncthreads();
  const uint32_t channel = tile * width + threadIdx.x;
  if (threadIdx.x >= width || channel >= a.C) return;
  double total = 0;
#pragma unroll 8
  for (uint32_t i = threadIdx.x; i < V * 256; i += width) total += room[i];
  a.partial[((size_t)blockIdx.y * a.chunks + chunk) * a.C + channel] = (float)total;
}

template <class P> DEV void bias_relu(const BiasReLUArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 ? open_maps<P, 4>(a) : open_maps<P, 1>(a);
}

template <class P> DEV void bias_relu_backward(const BiasReLUArgs &a) {
  SHARED(float, room, [4 * 256]);
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 ? close_maps<P, 4>(a, room) : close_maps<P, 1>(a, room);
}

extern "C" __global__ void __launch_bounds__(256) bias_relu_fp32(const BiasReLUArgs a) { bias_relu<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) bias_relu_tf32(const BiasReLUArgs a) { bias_relu<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) bias_relu_bf16(const BiasReLUArgs a) { bias_relu<BF16>(a); }
extern "C" __global__ void __launch_bounds__(256) bias_relu_backward_fp32(const BiasReLUArgs a) {
  bias_relu_backward<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(256) bias_relu_backward_tf32(const BiasReLUArgs a) {
  bias_relu_backward<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(256) bias_relu_backward_bf16(const BiasReLUArgs a) {
  bias_relu_backward<BF16>(a);
}
