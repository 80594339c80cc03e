// linear_backward_data: dx[k,b,i] = Σ_o gy[k,b,o] w[k,i,o]
//
// gy [K,B,O] in front of the ReLU, w [I,O] of slot k's weights, dx [K,B,I].
// Grid (⌈B/128⌉·⌈I/64⌉, K), block 128, smem 72 KB; wide: (⌈B/128⌉·⌈I/128⌉, K), 96 KB.
// Moves |gy| + |w| + |dx| elements of device memory, and ⌈I/64⌉|gy| + ⌈B/128⌉|w| from L2, wide ⌈I/128⌉|gy|.
// Deterministic: the order of the sum over O follows from the tiles.
#include "linear.cuh"

template <class P, class T>
DEV void linear_backward_data(const LinearArgs &a, unsigned char *shared) {
  typedef typename P::act act;
  typedef typename T::template A<P, true> A;
  typedef typename T::template Weights<P, true> B;
  const uint32_t k = blockIdx.y;
  const uint32_t down = (a.B + T::BM - 1) / T::BM; // neighbouring blocks share a tile of w
  const uint32_t m0 = blockIdx.x % down * T::BM, n0 = blockIdx.x / down * T::BN;

  typename T::Sums acc = {};
  float unused = 0;
  multiply_tile<P, T, A, B>(acc, unused, false, shared, source<act>(a.gy, size_t(k) * a.B * a.O, a.B, a.O),
                            source<act>(a.work->slots[k].weights, a.w_offset, a.I, a.O), m0, n0, 0, a.O);

  constexpr int WIDTH = store_width<P>;
  act *dx = static_cast<act *>(a.dx) + size_t(k) * a.B * a.I;
  const bool aligned = vectors_fit<WIDTH>(dx, a.I, sizeof(act));
  store_tile<P, T, A, B>(
      acc, place<T>(), [](uint32_t) {},
      [&](uint32_t m, uint32_t n, const float(&v)[WIDTH]) {
        if (m0 + m < a.B) store_act<P>(dx + size_t(m0 + m) * a.I, n0 + n, a.I, aligned, v);
      });
}

template <class P>
DEV void linear_backward_data(const LinearArgs &a) {
  DYNAMIC_SHARED(unsigned char, shared);
  if (blockIdx.y >= a.work->clients) return;
  if constexpr (by_mma<P>) {
    if (wide<P>(a)) return linear_backward_data<P, WideTile<P>>(a, shared);
  }
  linear_backward_data<P, BackwardTile<P>>(a, shared);
}

extern "C" __global__ void __launch_bounds__(128, 3) linear_backward_data_fp32(const LinearArgs a) {
  linear_backward_data<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(128, 2) linear_backward_data_tf32(const LinearArgs a) {
  linear_backward_data<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(128, 2) linear_backward_data_bf16(const LinearArgs a) {
  linear_backward_data<BF16>(a);
}
