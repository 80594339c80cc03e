// conv2d_forward: y[k,b,i,j,o] = Σ_r Σ_s Σ_c w[k,r,s,c,o] x[k,b,U·i+r-pad,U·j+s-pad,c], x being 0 outside of its images
//
// x [K,B,H,W,C], w [R,S,C,O] of slot k's weights, y [K,B,OH,OW,O].
// With M = B·OH·OW: grid (⌈M/128⌉·⌈O/128⌉, K), block 128, smem 97 KB; U > 1: (⌈M/256⌉·⌈O/128⌉, K), block 256, 98 KB;
// O ≤ 64: (⌈M/256⌉, K), block 128, 82 KB; O ≤ 32: (⌈M/128⌉, K), 61 KB. fp32, O > 32: (⌈M/128⌉·⌈O/64⌉, K), 73 KB.
// Moves |x| + |w| + |y| elements of device memory. From L2 it reads about ⌈O/128⌉|x| + ⌈M/128⌉|w|, U > 1: ⌈M/256⌉|w|:
// each window of x once for all its taps if C is cut in stages, else up to R·S times. Deterministic: the order of the
// sum is Depth of conv2d.cuh.
#include "conv2d.cuh"

template <class P, class T>
DEV void conv2d_forward(const Conv2DArgs &a, unsigned char *shared) {
  typedef typename P::act act;
  typedef typename T::template A<P, true> A;
  typedef typename T::template Weights<P, false> B;
  const uint32_t k = blockIdx.y, OH = a.OH, OW = a.OW;
  const uint32_t M = a.B * OH * OW, across = (a.O + T::BN - 1) / T::BN; // neighbouring blocks share windows
  const uint32_t m0 = blockIdx.x / across * T::BM, n0 = blockIdx.x % across * T::BN;

  const Map<act> x = map_of<act>(a.x, k, a.B, a.H, a.W, a.C);
  Window *windows = reinterpret_cast<Window *>(shared + T::STAGES * (A::BYTES + B::BYTES)); // [BM]
  for (uint32_t m = threadIdx.x; m < T::BM; m += T::THREADS)
    windows[m] = window(x, pixel_at(m0 + m, OH, OW), a.B, a.U, -(int32_t)a.pad, -(int32_t)a.pad);
  __syncthreads(); // everyone's windows are there

  const Depth d = Depth::in_stages(a.R, a.S, a.C, T::BK);
  const Source<act> w = source<act>(a.work->slots[k].weights, a.w_offset, a.R * a.S * a.C, a.O);
  const Window *mine = windows + threadIdx.x / A::ROW_CHUNKS;
  Spot spot = spot_at(d, threadIdx.x % A::ROW_CHUNKS * A::CHUNK), top = {0, 0, 0, 0}; // of the chunk, of the stage
  typename T::Sums acc = {};
  multiply_stages<P, T, A, B>(
      acc, shared, (a.R * a.S * a.C + T::BK - 1) / T::BK,
      [&](unsigned char *to_a, unsigned char *to_b, uint32_t) INLINE {
        copy_windows<A, 1>(to_a, x, d, spot, [&](uint32_t i) INLINE { return mine[i * (T::THREADS / A::ROW_CHUNKS)]; });
        copy_tile<B>(to_b, w, n0, (top.r * a.S + top.s) * a.C + top.first + top.c);
        advance(spot, d, T::BK);
        advance(top, d, T::BK);
      },
      [](const unsigned char *) INLINE {});

  constexpr int WIDTH = store_width<P>;
  act *y = static_cast<act *>(a.y) + size_t(k) * M * a.O;
  const bool aligned = vectors_fit<WIDTH>(y, a.O, sizeof(act));
  store_tile<P, T, A, B>(
      acc, place<T>(), [](uint32_t) INLINE {},
      [&](uint32_t m, uint32_t n, const float(&v)[WIDTH]) {
        if (m0 + m < M) store_act<P>(y + size_t(m0 + m) * a.O, n0 + n, a.O, aligned, v);
      });
}

template <class P>
DEV void conv2d_forward(const Conv2DArgs &a) {
  DYNAMIC_SHARED(unsigned char, shared);
  if (blockIdx.y >= a.work->clients) return;
  pixel_tile_of<P>(a.O, a.U, [&](auto tile) INLINE { conv2d_forward<P, decltype(tile)>(a, shared); });
}

extern "C" __global__ void __launch_bounds__(128, 2) conv2d_forward_fp32(const Conv2DArgs a) { conv2d_forward<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256, 1) conv2d_forward_tf32(const Conv2DArgs a) { conv2d_forward<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256, 1) conv2d_forward_bf16(const Conv2DArgs a) { conv2d_forward<BF16>(a); }
