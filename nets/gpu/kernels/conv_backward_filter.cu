// conv_backward_filter: partial[k,chunk] = the sum over the images of a chunk of
//   dw[r,s,c,o] = Σ_i Σ_j x[k,b,i+r-pad,j+s-pad,c] dY[k,b,i,j,o] and, behind it, db[o] = Σ_i Σ_j dY[k,b,i,j,o]
//
// dY is gy at the place arg of every window, and 0 elsewhere; it exists in registers alone, in fp32 in shared memory.
// x [K,B,H,W,C], gy, arg [K,B,HP,WP,O] → partial [K,chunks,R·S·C·O+O]; conv_reduce adds the chunks.
// Grid (chunks × ⌈rows/(32·tiles·groups)⌉ × ⌈O/32⌉, K), block 192: 6 warps. A warp owns `tiles` × 32 rows (r,s,c) × 32
// outputs of dw, and every parts-th step of four windows, in fp32 of 8 pixels; at the end the parts are added in order.
// Shared memory: gy, arg and a patch of x, twice if there is room: the next unit is copied while this one is
// multiplied. At most 99 KB.
// Moves (act(|x|·halo + |gy|) + |arg|)·grid/chunks + 4·|partial| bytes per slot; deterministic.
#include "filter_fp32.cuh"

// filter_run computes rows of dw on tensor cores, for 32 outputs and one chunk of images, TILES × 32 rows per warp.
// Shared memory has stages of a patch of x, gy and arg, then the table of windows.
template <class P, FilterKind KIND, int TILES> DEV void filter_run(const ConvArgs &a, uint32_t *shared) {
  const ConvTile &t = a.tile;
  const uint32_t stage = t.patch + t.windows * FilterRaw<P>::WORDS;
  uint32_t *pixel = shared + t.stages * stage;
  filter_windows(pixel, a);
  conv_clear(shared, t.stages * stage, FILTER_THREADS);  // columns beside the image are not copied
  const auto share = FilterShare::of(a, filter_piece<P, KIND>(a), filter_pairs<P, KIND>);
  const auto rows = FilterRows<P, KIND, TILES>::at(a, filter_first(t), t.runs * t.groups * t.warp_tiles);
  FilterPlan plan = FilterPlan::of(a);
  FilterSums<KIND, TILES> sums = {};
  float db[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const uint32_t first = 4 * (kept(threadIdx.x) / 32 / t.groups);  // the warp's first window in a unit
  __syncthreads();  // the table is there, and shared memory is cleared
  filter_units(
      a, shared, stage, plan,
      [&](uint32_t *to) INLINE {
        const ConvPlace from = {plan.p.b, 2 * plan.p.i - a.pad, 2 * plan.p.j - a.pad};
        const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.H * a.W * kept(a.pixel));
        filter_load<P, KIND, TILES>(to, static_cast<const typename P::act *>(a.x) + slot, a, share.lane, from);
        filter_copy_gradient<P>(to + t.patch, a, share.window, plan.p, plan.end, plan.o);
      },
      [&](uint32_t *from) INLINE {
        filter_multiply<P, KIND, TILES>(sums, db, from, from + t.patch, pixel, rows, kept(first), t);
      });
  // Every group of warps has the same db.
  const uint32_t lane = kept(threadIdx.x) % 32, warp = kept(threadIdx.x) / 32;
  const uint32_t row = warp % t.groups == 0 ? first + lane % 4 : 4 * t.parts;
  filter_store(a, sums, db, reinterpret_cast<float *>(shared), row, lane / 4 * 4, 4 * t.parts, plan.o);
}

// filter_tensor chooses the kind of tiles, of which a warp has three. FILTER_TAPS is first: if it is last, ptxas spills
// its registers on sm_80.
template <class P> DEV void filter_tensor(const ConvArgs &a, uint32_t *shared) {
  if (a.C <= FILTER_FEW) filter_run<P, FILTER_TAPS, 3>(a, shared);
  else if (a.C % 32 > 0) filter_run<P, FILTER_CHANNELS, 3>(a, shared);
  else filter_run<P, FILTER_TILE, 3>(a, shared);
}

extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_fp32(const ConvArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  filter_run32<3>(a, shared);
}
extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_tf32(const ConvArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  filter_tensor<TF32>(a, shared);
}
extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_bf16(const ConvArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  filter_tensor<BF16>(a, shared);
}

// conv_backward_filter_few is for few rows of dw: a warp has one tile of them. It takes fewer registers, so that a
// multiprocessor holds more blocks.
extern "C" __global__ void __launch_bounds__(192, 3) conv_backward_filter_few_fp32(const ConvArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  filter_run32<1>(a, shared);
}
extern "C" __global__ void __launch_bounds__(192, 3) conv_backward_filter_few_tf32(const ConvArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  filter_run<TF32, FILTER_TAPS, 1>(a, shared);
}
extern "C" __global__ void __launch_bounds__(192, 3) conv_backward_filter_few_bf16(const ConvArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  filter_run<BF16, FILTER_TAPS, 1>(a, shared);
}
