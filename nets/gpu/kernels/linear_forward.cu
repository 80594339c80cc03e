// linear_forward: y[k,b,o] = bias[k,o] + Σ_i x[k,b,i] w[k,i,o], clamped at 0 if relu
//
// x [K,B,I], w [I,O] of slot k's weights, bias [O] of its row, y [K,B,O], float if y_float.
// Grid (⌈B/64⌉·⌈O/64⌉, K), block 128, smem 48 KB; O ≤ 16: (⌈B/32⌉, K), 36 KB (bf16 18 KB).
// Moves |x| + |w| + |y| elements of device memory, and ⌈O/64⌉|x| + ⌈B/64⌉|w| from L2. Deterministic: the order of the
// sum over I follows from the tiles.
//
// With parts > 1, the sum over I is cut into parts of as many stages, so that there are blocks enough for wide tiles.
// linear_forward then writes partial[k,part,b,o] alone, and linear_reduce adds the parts in order:
//   y[k,b,o] = bias[k,o] + Σ over parts of partial[k,part,b,o], clamped at 0 if relu
// linear_forward: grid (⌈B/128⌉·⌈O/128⌉·parts, K), block 128, smem 96 KB; ⌈O/128⌉|x| + ⌈B/128⌉|w| from L2.
// linear_reduce: grid (⌈B·O/1024⌉, K), block 256: four elements per thread; O is a multiple of 4. Moves 4·parts·B·O
// bytes and |y| elements.
#include "elements.cuh"
#include "linear.cuh"

template <class P, class T>
DEV void linear_forward(const LinearArgs &a, unsigned char *shared) {
  typedef typename P::act act;
  typedef typename T::template A<P, true> A;
  typedef typename T::template Weights<P, false> B;
  const uint32_t k = blockIdx.y, down = (a.B + T::BM - 1) / T::BM; // neighbouring blocks share a tile of w
  const uint32_t m0 = blockIdx.x % down * T::BM, n0 = blockIdx.x / down * T::BN;
  const Slot &slot = a.work->slots[k];
  const float *bias = slot.row + a.b_offset;

  typename T::Sums acc = {};
  float unused = 0;
  multiply_tile<P, T, A, B>(acc, unused, false, shared, source<act>(a.x, size_t(k) * a.B * a.I, a.B, a.I),
                            source<act>(slot.weights, a.w_offset, a.I, a.O), m0, n0, 0, a.I);
  add_slices<T>(acc, shared);
  const Place at = place<T>();
  if (at.slice > 0) return;

  constexpr int WIDTH = store_width<P>;
  const size_t first = size_t(k) * a.B * a.O;
  act *y = static_cast<act *>(a.y) + first;
  float *logits = static_cast<float *>(a.y) + first;
  const bool aligned = a.y_float ? vectors_fit<WIDTH>(logits, a.O, 4) : vectors_fit<WIDTH>(y, a.O, sizeof(act));
  float add[WIDTH];
  store_tile<P, T, A, B>(
      acc, at,
      [&](uint32_t n) {
#pragma unroll
        for (uint32_t x = 0; x < WIDTH; x++) add[x] = n0 + n + x < a.O ? bias[n0 + n + x] : 0.0f;
      },
      [&](uint32_t m, uint32_t n, float(&v)[WIDTH]) {
        if (m0 + m >= a.B) return;
#pragma unroll
        for (int x = 0; x < WIDTH; x++) {
          v[x] += add[x];
          if (a.relu) v[x] = fmax_nan(v[x], 0.0f);
        }
        const size_t row = size_t(m0 + m) * a.O;
        if (a.y_float)
          store_row(logits + row, n0 + n, a.O, aligned, v);
        else
          store_act<P>(y + row, n0 + n, a.O, aligned, v);
      });
}

// linear_forward_part writes the sums of a part of the inputs.
template <class P, class T>
DEV void linear_forward_part(const LinearArgs &a, unsigned char *shared) {
  typedef typename P::act act;
  typedef typename T::template A<P, true> A;
  typedef typename T::template Weights<P, false> B;
  const uint32_t k = blockIdx.y, down = (a.B + T::BM - 1) / T::BM, across = (a.O + T::BN - 1) / T::BN;
  const uint32_t tile = blockIdx.x % (down * across), part = blockIdx.x / (down * across);
  const uint32_t m0 = tile % down * T::BM, n0 = tile / down * T::BN; // neighbouring blocks share a tile of w
  const uint32_t stages = (a.I + T::BK - 1) / T::BK, share = (stages + a.parts - 1) / a.parts * T::BK,
                 first = part * share;

  typename T::Sums acc = {};
  float unused = 0;
  if (first < a.I)
    multiply_tile<P, T, A, B>(acc, unused, false, shared, source<act>(a.x, size_t(k) * a.B * a.I, a.B, a.I),
                              source<act>(a.work->slots[k].weights, a.w_offset, a.I, a.O), m0, n0, first,
                              a.I - first < share ? a.I - first : share);

  constexpr int WIDTH = store_width<P>;
  float *partial = a.partial + (size_t(k) * a.parts + part) * a.B * a.O;
  const bool aligned = vectors_fit<WIDTH>(partial, a.O, 4);
  store_tile<P, T, A, B>(
      acc, place<T>(), [](uint32_t) {},
      [&](uint32_t m, uint32_t n, const float(&v)[WIDTH]) {
        if (m0 + m < a.B) store_row(partial + size_t(m0 + m) * a.O, n0 + n, a.O, aligned, v);
      });
}

template <class P>
DEV void linear_reduce(const LinearArgs &a) {
  const uint32_t k = blockIdx.y, n = a.B * a.O;
  const uint32_t i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= a.work->clients || i >= n) return;
  const float *partial = a.partial + size_t(k) * a.parts * n + i;
  float4 sum = load4<FP32>(a.work->slots[k].row + a.b_offset + i % a.O);
#pragma unroll 8
  for (uint32_t part = 0; part < a.parts; part++) sum = add4(sum, load4<FP32>(partial + size_t(part) * n));
  if (a.relu)
    sum = {fmax_nan(sum.x, 0.0f), fmax_nan(sum.y, 0.0f), fmax_nan(sum.z, 0.0f), fmax_nan(sum.w, 0.0f)};
  const size_t at = size_t(k) * n + i;
  if (a.y_float)
    store4<FP32>(static_cast<float *>(a.y) + at, sum);
  else
    store4<P>(static_cast<typename P::act *>(a.y) + at, sum);
}

template <class P>
DEV void linear_forward(const LinearArgs &a) {
  DYNAMIC_SHARED(unsigned char, shared);
  if (blockIdx.y >= a.work->clients) return;
  if constexpr (by_mma<P>) {
    if (a.parts > 1) return linear_forward_part<P, WideTile<P>>(a, shared);
  }
  if (a.O <= NarrowTile<P>::BN)
    linear_forward<P, NarrowTile<P>>(a, shared);
  else
    linear_forward<P, ForwardTile<P>>(a, shared);
}

extern "C" __global__ void __launch_bounds__(128, 3) linear_forward_fp32(const LinearArgs a) { linear_forward<FP32>(a); }
extern "C" __global__ void __launch_bounds__(128, 2) linear_forward_tf32(const LinearArgs a) { linear_forward<TF32>(a); }
extern "C" __global__ void __launch_bounds__(128, 2) linear_forward_bf16(const LinearArgs a) { linear_forward<BF16>(a); }

extern "C" __global__ void __launch_bounds__(256) linear_reduce_tf32(const LinearArgs a) { linear_reduce<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) linear_reduce_bf16(const LinearArgs a) { linear_reduce<BF16>(a); }
