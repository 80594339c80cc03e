// linear_backward_filter: dw[k,i,o] = Σ_b x[k,b,i] gy[k,b,o], db[k,o] = Σ_b gy[k,b,o]
//
// x [K,B,I], gy [K,B,O] in front of the ReLU; dw [I,O] and db [O] go to grad [K,P] at w_offset and b_offset, in float.
// Without grad they update the weights there at once. A slot whose batch has no sample that counts is left out.
// Grid (⌈I/128⌉·⌈O/64⌉, K), block 128, smem 72 KB; wide: (⌈I/128⌉·⌈O/128⌉, K), 96 KB; O ≤ 16: (⌈I/32⌉, K), 36 KB (bf16
// 18 KB).
// Moves |x| + |gy| + |dw| + |db| elements of device memory, or in place of the last two what sgd moves beside
// gradients; and ⌈O/64⌉|x| + ⌈I/128⌉|gy| from L2, wide ⌈O/128⌉|x|. Deterministic: the order of the sums over B follows
// from the tiles. The blocks of the first rows of dw sum db from the tiles of gy in shared memory.
#include "gemm_update.cuh"
#include "linear.cuh"

template <class P, class T>
DEV void linear_backward_filter(const LinearArgs &a, unsigned char *shared) {
  typedef typename P::act act;
  typedef typename T::template A<P, false> A;
  typedef typename T::template B<P, false> B;
  const uint32_t k = blockIdx.y, across = (a.O + T::BN - 1) / T::BN; // neighbouring blocks share a tile of x
  const uint32_t m0 = blockIdx.x / across * T::BM, n0 = blockIdx.x % across * T::BN;

  typename T::Sums acc = {};
  float sum = 0;
  multiply_tile<P, T, A, B>(acc, sum, m0 == 0, shared, source<act>(a.x, size_t(k) * a.B * a.I, a.B, a.I),
                            source<act>(a.gy, size_t(k) * a.B * a.O, a.B, a.O), m0, n0, 0, a.B);
  const Sink<P> to = sink_of<P>(a.work, a.grad, a.P);
  if (m0 == 0) {
    float *sums = reinterpret_cast<float *>(shared); // [THREADS/BN][BN]
    __syncthreads();
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < T::BN && n0 + threadIdx.x < a.O) {
#pragma unroll
      for (uint32_t i = T::BN; i < T::THREADS; i += T::BN) sum += sums[threadIdx.x + i];
      to.take({a.b_offset + n0 + threadIdx.x}, {{sum}});
    }
  }
  add_slices<T>(acc, shared);
  take_tile<P, T, A, B>(to, acc, shared, {a.w_offset, m0, n0, a.I, a.O}, [](uint32_t i) INLINE { return i; });
}

template <class P>
DEV void linear_backward_filter(const LinearArgs &a) {
  DYNAMIC_SHARED(unsigned char, shared);
  if (!trains(a.work, a.step, a.E)) return;
  if (a.O <= NarrowTile<P>::BN)
    return linear_backward_filter<P, NarrowTile<P>>(a, shared);
  if constexpr (by_mma<P>) {
    if (wide<P>(a)) return linear_backward_filter<P, WideTile<P>>(a, shared);
  }
  linear_backward_filter<P, BackwardTile<P>>(a, shared);
}

extern "C" __global__ void __launch_bounds__(128, 3) linear_backward_filter_fp32(const LinearArgs a) {
  linear_backward_filter<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(128, 2) linear_backward_filter_tf32(const LinearArgs a) {
  linear_backward_filter<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(128, 2) linear_backward_filter_bf16(const LinearArgs a) {
  linear_backward_filter<BF16>(a);
}
