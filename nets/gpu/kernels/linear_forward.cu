// linear_forward: y[k,b,o] = bias[k,o] + Σ_i x[k,b,i] w[k,i,o], clamped at 0 if relu
//
// x [K,B,I], w [I,O] of slot k's weights, bias [O] of its row, y [K,B,O], float if y_float.
// Grid (⌈B/64⌉·⌈O/64⌉, K), block 128, smem 48 KB; O ≤ 16: (⌈B/32⌉, K), 128, 36 KB (bf16 18 KB).
// Moves |x| + |w| + |y| elements of device memory, and ⌈O/64⌉|x| + ⌈B/64⌉|w| from L2. Deterministic: the order of the
// sum over I follows from the tiles.
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
                            source<act>(slot.weights, a.w_offset, a.I, a.O), m0, n0, a.I);
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

template <class P>
DEV void linear_forward(const LinearArgs &a) {
  DYNAMIC_SHARED(unsigned char, shared);
  if (blockIdx.y >= a.work->clients) return;
  if (a.O <= NarrowTile<P>::BN)
    linear_forward<P, NarrowTile<P>>(a, shared);
  else
    linear_forward<P, ForwardTile<P>>(a, shared);
}

extern "C" __global__ void __launch_bounds__(128, 3) linear_forward_fp32(const LinearArgs a) { linear_forward<FP32>(a); }
extern "C" __global__ void __launch_bounds__(128, 3) linear_forward_tf32(const LinearArgs a) { linear_forward<TF32>(a); }
extern "C" __global__ void __launch_bounds__(128, 3) linear_forward_bf16(const LinearArgs a) { linear_forward<BF16>(a); }
