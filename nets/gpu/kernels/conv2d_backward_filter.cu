// conv2d_backward_filter: dw[k,r,s,c,o] = Σ_b Σ_i Σ_j x[k,b,U·i+r-pad,U·j+s-pad,c] gy[k,b,i,j,o]
//
// The sum over b is cut in chunks of `images` images; conv_reduce adds the chunks in order. The sum of a single chunk
// may go to the row of gradients at once, or without dw it updates the weights at w_offset. A slot whose batch has no
// sample that counts is left out. x [K,B,H,W,C], gy [K,B,OH,OW,O]; dw [chunks,R·S·C,O] float, dw_stride elements from
// slot to slot.
// With M = R·S·C: grid (⌈M/128⌉·⌈O/128⌉·chunks, K), block 128, smem 96 KB; O ≤ 64, and fp32: ⌈M/128⌉·⌈O/64⌉, 72 KB;
// O ≤ 32: ⌈M/128⌉, 60 KB. But for fp32, M ≤ 32: ⌈O/64⌉, 36 KB; and O > 64 with U > 1 and M ≥ 1024, or with 2²⁰
// weights: ⌈M/256⌉·⌈O/128⌉, block 256, 96 KB.
// Moves |x| + |gy| + |dw| elements of device memory, or in place of the last what sgd moves beside gradients; and at
// most ⌈O/128⌉R·S|x|/U² + ⌈M/128⌉|gy| from L2, of x a quarter where windows of 3×3 overlap. Deterministic: the sum has
// the order of the pixels, in the stages of the tiles.
#include "conv2d.cuh"
#include "gemm_update.cuh"

// PixelRows finds the windows of the rows that a thread copies. The rows are pixels of the output, other ones in every
// stage. Each lane computes one window that its warp needs, and a shuffle hands the windows out.
template <class O>
struct PixelRows {
  static constexpr uint32_t STEP = O::THREADS / O::ROW_CHUNKS, PASSES = O::ROWS / STEP;
  static constexpr uint32_t LANES = O::ROW_CHUNKS < 32 ? O::ROW_CHUNKS : 32,
                            ROWS = 32 / LANES;  // lanes on a row, rows of a warp in a pass
  static_assert(ROWS * PASSES <= 32, "a lane computes one window");

  // row returns the row of a stage whose window this lane computes.
  DEV uint32_t row() {
    const uint32_t thread = threadIdx.x, lane = thread % 32;
    return lane / ROWS * STEP + thread / 32 * 32 / O::ROW_CHUNKS + lane % ROWS;
  }

  // of returns the window of the i-th row that this lane copies; `computed` is the window that each lane has computed.
  DEV Window of(const Window &computed, uint32_t i) {
    const int lane = i * ROWS + threadIdx.x % 32 / LANES;
    return {__shfl_sync(~0u, computed.at, lane), __shfl_sync(~0u, computed.ij, lane)};
  }
};

// The rows of the product are the rows of w in groups of CHANNELS channels, if these divide C: of each group all taps,
// of each tap the channels of the group. So a block has several taps of a few channels, and what it reads of x for one
// of them lies in the first cache when it reads it again for the next.
constexpr uint32_t CHANNELS = 16;

// row_of returns the row of w [R·S·C,O] that row m of the product is.
DEV uint32_t row_of(const Depth &d, uint32_t m) {
  if (d.group == d.C) return m;
  const uint32_t tap = m / d.group, taps = d.R * d.S;
  return tap % taps * d.C + tap / taps * d.group + m % d.group;
}

template <class P, class T>
DEV void conv2d_backward_filter(const Conv2DArgs &a, unsigned char *shared) {
  typedef typename P::act act;
  typedef typename T::template A<P, false> A;
  typedef typename T::template B<P, false> B;
  const uint32_t k = blockIdx.y, OH = a.OH, OW = a.OW;
  const uint32_t M = a.R * a.S * a.C, across = (a.O + T::BN - 1) / T::BN, down = (M + T::BM - 1) / T::BM;
  const uint32_t n0 = blockIdx.x % across * T::BN,
                 m0 = blockIdx.x / across % down * T::BM;  // neighbouring blocks share pixels
  const uint32_t chunk = blockIdx.x / across / down, begin = chunk * a.images;
  const uint32_t images = a.B - begin < a.images ? a.B - begin : a.images;

  const Map<act> x =
      map_of<act>(static_cast<const act *>(a.x) + size_t(begin) * a.H * a.W * a.C, k, a.B, a.H, a.W, a.C);
  const Source<act> gy = source<act>(a.gy, (size_t(k) * a.B + begin) * OH * OW * a.O, images * OH * OW, a.O);
  const Depth d = Depth::in_stages(a.R, a.S, a.C, CHANNELS);
  const Spot column = spot_at(d, m0 + threadIdx.x % A::ROW_CHUNKS * A::CHUNK);
  const Pixel stage = pixel_at(T::BK, OH, OW);
  Pixel pixel = pixel_at(PixelRows<A>::row(), OH, OW); // whose window this lane computes
  typename T::Sums acc = {};
  multiply_stages<P, T, A, B>(
      acc, shared, (images * OH * OW + T::BK - 1) / T::BK,
      [&](unsigned char *to_a, unsigned char *to_b, uint32_t step) INLINE {
        const Window computed = window(x, pixel, images, a.U, -(int32_t)a.pad, -(int32_t)a.pad);
        advance(pixel, stage, OH, OW);
        copy_windows<A, 1>(to_a, x, d, column, [&](uint32_t i) INLINE { return PixelRows<A>::of(computed, i); });
        copy_tile<B>(to_b, gy, n0, step * T::BK);
      },
      [](const unsigned char *) INLINE {});
  add_slices<T>(acc, shared);

  const uint32_t first = a.dw ? chunk * M * a.O : a.w_offset;
  take_tile<P, T, A, B>(sink_of<P>(a.work, a.dw, a.dw_stride), acc, shared, {first, m0, n0, M, a.O},
                        [&](uint32_t m) INLINE { return row_of(d, m); });
}

template <class P>
DEV void conv2d_backward_filter(const Conv2DArgs &a) {
  DYNAMIC_SHARED(unsigned char, shared);
  if (!trains(a.work, a.step, a.E)) return;
  typedef Conv2DTiles<P> Tiles;
  auto run = [&](auto tile) INLINE { conv2d_backward_filter<P, decltype(tile)>(a, shared); };
  if constexpr (by_mma<P>) {
    const uint32_t M = a.R * a.S * a.C;
    if (M <= Tiles::FewFilter::BM) return run(typename Tiles::FewFilter{});
    if (a.O > Tiles::Middle::BN && (a.U > 1 ? M >= 1024 : M * a.O >= 1 << 20)) return run(typename Tiles::Tall{});
  }
  tile_of<Tiles, typename Tiles::MiddleFilter>(a.O, run);
}

extern "C" __global__ void __launch_bounds__(128, 2) conv2d_backward_filter_fp32(const Conv2DArgs a) {
  conv2d_backward_filter<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) conv2d_backward_filter_tf32(const Conv2DArgs a) {
  conv2d_backward_filter<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(256, 1) conv2d_backward_filter_bf16(const Conv2DArgs a) {
  conv2d_backward_filter<BF16>(a);
}
