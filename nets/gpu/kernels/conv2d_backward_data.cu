// conv2d_backward_data: dx[k,b,i,j,c] = Σ_r Σ_s Σ_o w[k,r,s,c,o] gy[k,b,(i+pad-r)/U,(j+pad-s)/U,o]
//   over the taps (r,s) where U divides i+pad-r and j+pad-s
//
// gy [K,B,OH,OW,O], w [R,S,C,O] of slot k's weights, dx [K,B,H,W,C].
// Pixels with the same i+pad and j+pad modulo U are a class. They have the same taps, and see gy as with U = 1: the
// kernel multiplies no zeros between the pixels of gy. A tile is of one class. A class without taps, as three of four
// with a window of 1×1 and U = 2, is filled with zeros.
// With M the pixels of a class: grid (Σ over classes of ⌈M/128⌉·⌈C/128⌉, K), block 128, smem 97 KB; U > 1:
// ⌈M/256⌉·⌈C/128⌉, block 256, 98 KB; C ≤ 64: ⌈M/256⌉, block 128, 82 KB; C ≤ 32: ⌈M/128⌉, 61 KB. fp32, C > 32:
// ⌈M/128⌉·⌈C/64⌉, 73 KB.
// Moves |gy| + |w| + |dx| elements of device memory. From L2 it reads about ⌈C/128⌉U²|gy| + ⌈M/128⌉|w|, U > 1:
// ⌈M/256⌉|w|, as conv2d_forward. Deterministic: the order of the sum is Depth of conv2d.cuh.
#include "conv2d.cuh"

// ClassAxis is a class along one axis.
struct ClassAxis {
  uint32_t p;              // (pixel + pad) mod U: the taps are p, p+U …
  uint32_t first, pixels;  // the first pixel, and how many there are
  uint32_t taps;
  int32_t begin;           // where in gy the window of the first pixel begins
};

// class_axis returns class p of an axis with `size` pixels and `window` taps.
DEV ClassAxis class_axis(uint32_t p, uint32_t size, uint32_t window, uint32_t U, uint32_t pad) {
  const uint32_t first = (p + (U - 1) * pad) % U;
  return {p, first, first < size ? (size - first + U - 1) / U : 0, p < window ? (window - p + U - 1) / U : 0,
          (int32_t)((first + pad) / U)};
}

// copy_filter begins to copy a stage of the weights of the channels from n0 on: of each, this thread's chunk, which is
// the outputs from `at` on.
template <class O>
DEV void copy_filter(unsigned char *to, const typename O::act *w, const Conv2DArgs &a, const ClassAxis &i,
                     const ClassAxis &j, const Depth &d, Spot at, uint32_t n0, bool chunks) {
  typedef typename O::act act;
  constexpr uint32_t STEP = O::THREADS / O::ROW_CHUNKS;
  const uint32_t row = threadIdx.x / O::ROW_CHUNKS, chunk = threadIdx.x % O::ROW_CHUNKS,
                 place = kept(O::at(row, chunk));
  for (uint32_t e = 0;;) {
    const uint32_t tap = (i.p + a.U * at.r) * a.S + j.p + a.U * at.s, rows = at.first < d.C ? a.C : 0;
    const act *from = w + size_t(tap * a.C + n0 + row) * a.O + at.first + at.c;
    if (chunks) return copy_rows<O>(to, place, from, a.O * sizeof(act), rows - n0 - row);
#pragma unroll 1
    for (uint32_t n = 0; n < O::ROWS; n += STEP)
      copy_element(to + O::at(row + n, chunk), e, from + size_t(n) * a.O, n0 + row + n < rows);
    if (++e == O::CHUNK) return;
    advance(at, d, 1);
  }
}

template <class P, class T>
DEV void conv2d_backward_data(const Conv2DArgs &a, unsigned char *shared) {
  typedef typename P::act act;
  typedef typename T::template A<P, true> A;
  typedef typename T::template Weights<P, true> B;
  const uint32_t k = blockIdx.y, OH = a.OH, OW = a.OW;
  const uint32_t across = (a.C + T::BN - 1) / T::BN,
                 n0 = blockIdx.x % across * T::BN;  // neighbouring blocks share windows

  ClassAxis i = {}, j = {};
  uint32_t block = blockIdx.x / across;
  for (uint32_t c = 0; c < a.U * a.U; c++) { // finds the class of this block
    i = class_axis(c / a.U, a.H, a.R, a.U, a.pad), j = class_axis(c % a.U, a.W, a.S, a.U, a.pad);
    const uint32_t tiles = (a.B * i.pixels * j.pixels + T::BM - 1) / T::BM;
    if (block < tiles) break;
    block -= tiles;
  }
  const uint32_t m0 = block * T::BM, M = a.B * i.pixels * j.pixels;

  const Map<act> gy = map_of<act>(a.gy, k, a.B, OH, OW, a.O);
  Window *windows = reinterpret_cast<Window *>(shared + T::STAGES * (A::BYTES + B::BYTES)); // [BM]
  for (uint32_t m = threadIdx.x; m < T::BM; m += T::THREADS)
    windows[m] = window(gy, pixel_at(m0 + m, i.pixels, j.pixels), a.B, 1, i.begin, j.begin);
  __syncthreads(); // everyone's windows are there

  const Depth d = Depth::in_stages(i.taps, j.taps, a.O, T::BK);
  const act *w = static_cast<const act *>(a.work->slots[k].weights) + a.w_offset;
  const Window *mine = windows + threadIdx.x / A::ROW_CHUNKS;
  const uint32_t depth = i.taps * j.taps * a.O;
  Spot spot = depth == 0 ? Spot{} : spot_at(d, threadIdx.x % A::ROW_CHUNKS * A::CHUNK);
  typename T::Sums acc = {};
  multiply_stages<P, T, A, B>(
      acc, shared, (depth + T::BK - 1) / T::BK,
      [&](unsigned char *to_a, unsigned char *to_b, uint32_t) INLINE {
        copy_windows<A, -1>(to_a, gy, d, spot,
                            [&](uint32_t n) INLINE { return mine[n * (T::THREADS / A::ROW_CHUNKS)]; });
        copy_filter<B>(to_b, w, a, i, j, d, spot, n0, gy.chunks);
        advance(spot, d, T::BK);
      },
      [](const unsigned char *) INLINE {});

  // Finding the pixels of a class in dx takes divisions, so it is done once for all threads. The pixels overwrite the
  // windows: nobody reads these behind the last barrier of multiply_stages.
  int32_t *pixels = reinterpret_cast<int32_t *>(windows);
  for (uint32_t m = threadIdx.x; m < T::BM; m += T::THREADS) {
    const uint32_t n = m0 + m, line = n / j.pixels, image = line / i.pixels;
    pixels[m] =
        n < M ? (int32_t)((image * a.H + i.first + a.U * (line % i.pixels)) * a.W + j.first + a.U * (n % j.pixels))
              : -1;
  }
  __syncthreads(); // everyone's pixels are there

  constexpr int WIDTH = store_width<P>;
  act *dx = static_cast<act *>(a.dx) + size_t(k) * a.B * a.H * a.W * a.C;
  const bool aligned = vectors_fit<WIDTH>(dx, a.C, sizeof(act));
  store_tile<P, T, A, B>(
      acc, place<T>(), [](uint32_t) INLINE {},
      [&](uint32_t m, uint32_t n, const float(&v)[WIDTH]) {
        const int32_t pixel = pixels[m];
        if (pixel >= 0) store_act<P>(dx + size_t(pixel) * a.C, n0 + n, a.C, aligned, v);
      });
}

template <class P>
DEV void conv2d_backward_data(const Conv2DArgs &a) {
  DYNAMIC_SHARED(unsigned char, shared);
  if (blockIdx.y >= a.work->clients) return;
  pixel_tile_of<P>(a.C, a.U, [&](auto tile) INLINE { conv2d_backward_data<P, decltype(tile)>(a, shared); });
}

extern "C" __global__ void __launch_bounds__(128, 2) conv2d_backward_data_fp32(const Conv2DArgs a) {
  conv2d_backward_data<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) conv2d_backward_data_tf32(const Conv2DArgs a) {
  conv2d_backward_data<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) conv2d_backward_data_bf16(const Conv2DArgs a) {
  conv2d_backward_data<BF16>(a);
}
