// conv_backward_filter: partial[k,chunk] = the sum over the images of a chunk of
//   dw[r,s,c,o] = Σ_i Σ_j x[k,b,i+r-pad,j+s-pad,c] dY[k,b,i,j,o] and, behind it, db[o] = Σ_i Σ_j dY[k,b,i,j,o]
//
// dY is gy at the place arg of every window, and 0 elsewhere; it exists in shared memory alone.
// x [K,B,H,W,C], gy, arg [K,B,HP,WP,O] → partial [K,chunks,R·S·C·O+O]; conv_reduce adds the chunks.
// Grid (chunks × ⌈rows/(32·tiles·groups)⌉ × ⌈O/32⌉, K), block 192: 6 warps. A warp owns `tiles` × 32 rows (r,s,c) × 32
// outputs of dw, and every parts-th step of 8 words of pixels; at the end the parts are added in order. Shared memory:
// dY of up to 64 windows, and twice, if there is room, gy, arg and a patch of x: the next unit is copied while this one
// is multiplied. At most 99 KB.
// Moves (act(|x|·halo + |gy|) + |arg|)·grid/chunks + 4·|partial| bytes per slot; deterministic.
#include "filter_load.cuh"

// filter_first returns the first row of dw of a warp.
template <int TILES> DEV uint32_t filter_first(const ConvTile &t) {
  const uint32_t warp = kept(threadIdx.x) / 32, run = kept(blockIdx.x) / t.tiles % t.runs;
  return (run * t.groups + warp % t.groups) * 32 * TILES;
}

// FilterShared says where everything lies in shared memory, in words: stages of a patch of x, gy and arg, then dY, then
// where the pixels of words lie in a patch.
template <class P> struct FilterShared {
  uint32_t stage, dY, offset;

  DEV FilterShared of(const ConvTile &t) {
    const uint32_t stage = t.patch + t.images * t.rows * t.columns * FilterRaw<P>::WORDS, dY = t.stages * stage;
    return {stage, dY, dY + t.words / 8 * FilterGradient<P>::STEP};
  }
};

// filter_run computes a run of rows of dw, for 32 outputs and one chunk of images, with TILES × 32 rows per warp.
template <class P, int TILES> DEV void filter_run(const ConvArgs &a, uint32_t *shared) {
  constexpr bool pairs = conv_per_word<P> == 2;
  const ConvTile &t = a.tile;
  // What a thread keeps from unit to unit is packed, and unpacked where it is used: beside 100 sums there is room for
  // 68 registers.
  uint32_t start[2], step[2];  // of the paths through pixels and windows
  uint32_t turn;               // the warp's first word of pixels in a unit
  constexpr int BASES = FilterSums<P, TILES>::BASES;
  uint32_t packed[(BASES + 1) / 2];  // where rows lie from a pixel on, in words, in 16 bits each
  uint32_t o, end;             // the block's first output, and the image behind its last
  ConvPlace p = {0, 0, 0};     // of the unit that is copied
  {
    const uint32_t thread = threadIdx.x;
    const FilterShared<P> at = FilterShared<P>::of(t);
    // Words between pixels, and pixels behind the last, meet zeros in the product, and must not be NaN.
    conv_clear(shared, at.offset, FILTER_THREADS);
    for (uint32_t i = thread; i < t.words; i += FILTER_THREADS) {
      const uint32_t pixel = pairs ? 2 * i : i, row = pixel / (2 * t.columns), image = row / (2 * t.rows);
      const uint32_t line = image * t.height + row % (2 * t.rows);
      shared[at.offset + i] = image < t.images ? (line * t.width + pixel % (2 * t.columns)) * t.pitch : 0;
    }
    const uint32_t first = filter_first<TILES>(t) + thread % 32 / 4;
#pragma unroll
    for (uint32_t i = 0; i < BASES; i++) {
      const uint32_t m = first + 32 * TILES / BASES * i, tap = m / a.C;
      const uint32_t row = m < a.R * a.S * a.C ? (tap / a.S * t.width + tap % a.S) * t.pitch + m % a.C : 0;
      packed[i / 2] = i % 2 ? packed[i / 2] | row << 16 : row;
    }
    const Path pixels = conv_path(a, FILTER_THREADS, filter_piece<P>(a));
    const Path windows = path_from(FilterRaw<P>::window(), FilterRaw<P>::STEP, t.rows, t.columns);
    start[0] = pixels.start, step[0] = pixels.step, start[1] = windows.start, step[1] = windows.step;
    turn = 8 * (thread / 32 / t.groups), o = blockIdx.x % t.tiles * CONV_OUTPUTS;
    p.b = blockIdx.x / t.tiles / t.runs * a.images;
    end = p.b + a.images < a.B ? p.b + a.images : a.B;
  }
  // copy begins to copy the unit at p, if there is one, and moves p on.
  auto copy = [&](uint32_t *to) INLINE {
    const bool there = p.b < end;
    if (there) {
      const ConvPlace first = {p.b, 2 * p.i - a.pad, 2 * p.j - a.pad};
      const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.H * a.W * kept(a.pixel));
      const typename P::act *x = static_cast<const typename P::act *>(a.x) + slot;
      const Path path = {t.height, t.width, start[0], step[0]};
      if constexpr (pairs) filter_load_pairs(to, x, a, path, first);
      else conv_load_pixels<P>(to, x, a, path, first, FILTER_THREADS);
      filter_copy_gradient<P>(to + t.patch, a, Path{t.rows, t.columns, start[1], step[1]}, p, end, o);
      p.j += t.columns;
      if (p.j >= a.WP) p.j = 0, p.i += t.rows;
      if (p.i >= a.HP) p.i = 0, p.b += t.images;
    }
    cp_async_commit();
    return there;
  };

  FilterSums<P, TILES> sums = {};
  float db[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  __syncthreads();  // shared memory is cleared
  uint32_t stage = 0;
  for (bool more = copy(shared); more;) {
    uint32_t *here = shared;
    cp_async_wait<0>();
    __syncthreads();  // everyone's copies have arrived, everyone has multiplied the last unit
    const FilterShared<P> at = FilterShared<P>::of(t);
    if (t.stages == 2) {
      here += stage * at.stage, stage ^= 1;
      more = copy(shared + stage * at.stage);
    }
    filter_make_gradient<P>(shared + at.dY, db, here + t.patch, t, Path{t.rows, t.columns, start[1], step[1]});
    __syncthreads();  // everyone's part of dY is there
    uint32_t rows[BASES];
#pragma unroll
    for (uint32_t i = 0; i < BASES; i++) rows[i] = (i % 2 ? packed[i / 2] >> 16 : packed[i / 2] & 0xffff) << 2;
    filter_multiply(sums, here, shared + at.dY, shared + at.offset, rows, kept(turn), t.words, 8 * t.parts, t.pitch);
#pragma unroll
    for (uint32_t i = 0; i < BASES; i++)
      packed[i / 2] = i % 2 ? packed[i / 2] | kept(rows[i]) << 14 : kept(rows[i]) >> 2;
    if (t.stages == 1) {
      __syncthreads();  // everyone has multiplied
      more = copy(shared);
    }
  }

  // The first warp of a group adds up the parts, in order, by way of shared memory; then db, in the order of the
  // threads.
  float *room = reinterpret_cast<float *>(shared), *sum = reinterpret_cast<float *>(&sums);
  const uint32_t thread = kept(threadIdx.x), part = thread / 32 / t.groups;
  for (uint32_t k = 1; k < t.parts; k++) {
    __syncthreads();
    float *slot = room + thread / 32 % t.groups * (1024 * TILES) + thread % 32;
#pragma unroll
    for (int i = 0; i < 32 * TILES; i++)
      if (part == k) slot[32 * i] = sum[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32 * TILES; i++)
      if (part == 0) sum[i] = sum[i] + slot[32 * i];
  }
  const uint32_t block = kept(blockIdx.x), chunk = block / t.tiles / t.runs, n = a.R * a.S * a.C;
  float *partial = a.partial + ((size_t)blockIdx.y * a.chunks + chunk) * (n * a.O + a.O);
  if (part == 0) {
    typedef FilterSums<P, TILES> Sums;
    constexpr uint32_t N = Sums::OUTPUTS;
    const uint32_t from = o + Sums::output(), left = from < a.O ? a.O - from : 0, first = filter_first<TILES>(t);
#pragma unroll
    for (uint32_t i = 0; i < Sums::ROWS; i++) {
      const uint32_t m = first + Sums::row(i);
      if (m >= n) continue;
      float v[N];
#pragma unroll
      for (uint32_t c = 0; c < N; c++) v[c] = Sums::of(sums, i, c);
      conv_store<FP32>(partial + m * a.O + from, v, left, a.O % N == 0);
    }
  }
  if (block / t.tiles % t.runs > 0) return;  // all threads of the block
  __syncthreads();
  const uint32_t window = FilterRaw<P>::window(), quad = FilterRaw<P>::quad();
#pragma unroll
  for (uint32_t c = 0; c < 4; c++) room[window * CONV_OUTPUTS + quad + c] = db[c];
  __syncthreads();
  if (thread < CONV_OUTPUTS && o + thread < a.O) {
    float total = 0.0f;
    for (uint32_t i = 0; i < FILTER_THREADS / 8; i++) total = total + room[i * CONV_OUTPUTS + thread];
    partial[n * a.O + o + thread] = total;
  }
}

template <class P> DEV void filter_main(const ConvArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  if (a.tile.warp_tiles == 1) filter_run<P, 1>(a, shared);
  else filter_run<P, 3>(a, shared);
}

extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_fp32(const ConvArgs a) {
  filter_main<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_tf32(const ConvArgs a) {
  filter_main<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_bf16(const ConvArgs a) {
  filter_main<BF16>(a);
}
