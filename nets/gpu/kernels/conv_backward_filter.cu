// conv_backward_filter: partial[k,chunk] = Σ over the chunk's images of dw[r,s,c,o] = Σ_i Σ_j x[k,b,i+r-pad,j+s-pad,c] dY[k,b,i,j,o]
// and, behind it, of db[o] = Σ_i Σ_j dY[k,b,i,j,o], where dY is gy at the place arg of every window and 0 elsewhere
//
// x [K,B,H,W,C], gy, arg [K,B,HP,WP,O] → partial [K,chunks,R·S·C·O+O]; conv_reduce adds the chunks. Grid
// (chunks × ⌈rows/(32·tiles·groups)⌉ × ⌈O/32⌉, K), block 192: 6 warps, each owns `tiles` × 32 rows (r,s,c) × 32 outputs of dw and
// every parts-th step of 8 words of pixels; the parts are added in order at the end. Shared memory: a patch of x and dY of up
// to 64 windows, at most 99 KB. Moves (act(|x|·halo + |gy|) + |arg|)·grid/chunks + 4·|partial| bytes; deterministic.
#include "conv.cuh"

constexpr uint32_t FILTER_WARPS = 6, FILTER_THREADS = 32 * FILTER_WARPS;

// A word of x is one pixel of a channel, or two that are next to each other in bf16, and each word of a patch starts at its own pixel.
// A thread multiplies words first() and second() of a step: with a pitch of 4 mod 8 they lie in different banks for all lanes.
template <class P> struct Filter {
  typedef typename P::act act;
  static constexpr uint32_t per = conv_per_word<P>;
  static constexpr uint32_t ld = per == 2 ? 40 : 36;  // words of a row of dY

  DEV uint32_t first(uint32_t t) { return per == 2 ? t : 2 * t; }
  DEV uint32_t second(uint32_t t) { return per == 2 ? t + 4 : 2 * t + 1; }
};

struct FilterTile {
  ConvTile t;
  uint32_t steps;          // of 8 words of pixels
  uint32_t tiles;          // of 32 rows for a warp
  uint32_t groups, parts;  // warps beside each other, and warps that share a group's pixels
  uint32_t blocks;         // for all rows
};

template <class P> DEV FilterTile filter_tile(const ConvArgs &a) {
  const uint32_t HP = (a.H + 2 * a.pad - a.R + 1) / 2, WP = (a.W + 2 * a.pad - a.S + 1) / 2;
  const uint32_t tiles = ceil_div(a.R * a.S * a.C, 32);
  FilterTile f;
  f.tiles = tiles == 1 ? 1 : 3;
  const uint32_t groups = ceil_div(tiles, f.tiles);
  f.groups = groups >= FILTER_WARPS ? FILTER_WARPS : groups < 3 ? groups : 3;
  f.parts = FILTER_WARPS / f.groups;
  f.blocks = ceil_div(groups, f.groups);
  f.t.depth = (a.C + 1) / 2 * 2;
  f.t.pitch = conv_pitch(f.t.depth);
  // Beside the patch: of every window 4/per rows of dY, of every step, begun or not, 8 offsets and rows of dY.
  const uint32_t row = 4 * (Filter<P>::ld + 1), fixed = 8 * row;
  conv_shrink(f.t, a, HP, WP, a.images < a.B ? a.images : a.B, fixed, 4 / Filter<P>::per * row);
  f.steps = ceil_div(f.t.images * f.t.rows * f.t.columns * 4, 8 * Filter<P>::per);
  return f;
}

// filter_load_pairs fills a patch with pairs of bf16: word (i,j,c) is x at (i,j,c) and (i,j+1,c).
DEV void filter_load_pairs(uint32_t *patch, const uint16_t *x, const ConvArgs &a, const ConvTile &t, const Path &path, uint32_t b0, uint32_t i0, uint32_t j0) {
  const bool wide = conv_vector(a.C, 1) == 4;
  const uint32_t words = wide ? 4 : 1, n = t.images * t.height * t.width * path.vectors;
  Walk w = walk(path);
  for (uint32_t i = threadIdx.x; i < n; i += FILTER_THREADS, walk_on(w)) {
    const uint32_t row = i0 + w.r, column = j0 + w.c, b = b0 + w.n;
    const bool image = row < a.H && b < a.B, here = image && column < a.W, next = image && column + 1 < a.W;
    const size_t at = ((size_t)b * a.H + row) * a.W;
    const uint16_t *left = x + (at + column) * a.C + w.v * words, *right = x + (at + (column + 1)) * a.C + w.v * words;
    uint32_t *dst = patch + ((w.n * t.height + w.r) * t.width + w.c) * t.pitch + w.v * words;
    if (wide) {
      uint2 lo = {0, 0}, hi = {0, 0};
      if (here) lo = read_vector<uint2>(left);
      if (next) hi = read_vector<uint2>(right);
      write_vector(dst, uint4{(lo.x & 0xffff) | hi.x << 16, lo.x >> 16 | (hi.x & 0xffff0000u),
                              (lo.y & 0xffff) | hi.y << 16, lo.y >> 16 | (hi.y & 0xffff0000u)});
    } else {
      *dst = (here ? *left : 0) | (next ? (uint32_t)*right : 0) << 16;
    }
  }
}

// filter_load_gradient fills dY [pixels/per][ld] with outputs o … o+31; a thread has 4 of them always, and adds them to db.
template <class P>
DEV void filter_load_gradient(uint32_t *dY, float (&db)[4], const ConvArgs &a, const ConvTile &t, const Path &path, ConvPlace p, uint32_t end, uint32_t o) {
  typedef Filter<P> F;
  const uint32_t HP = pooled(a, a.H, a.R), WP = pooled(a, a.W, a.S), quad = kept(threadIdx.x) % 8 * 4;
  const size_t slot = (size_t)blockIdx.y * a.B * HP * WP * a.O;
  const typename P::act *gy = static_cast<const typename P::act *>(a.gy) + slot;
  const uint8_t *arg = a.arg + slot;
  const uint32_t n = t.images * t.rows * t.columns;
  o = kept(o) + quad;
  Walk w = walk(path);
  w.v = w.dv = 0;  // windows have one part
  for (uint32_t v = threadIdx.x / 8; v < n; v += FILTER_THREADS / 8, walk_on(w)) {
    const uint32_t b = p.b + w.n, i = p.i + w.r, j = p.j + w.c;
    float g[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    uint32_t where[4] = {4, 4, 4, 4};
    if (b < end && i < HP && j < WP && o < a.O) {
      const uint32_t at = ((b * HP + i) * WP + j) * a.O + o;
      if (a.O % 4 == 0) {
        const uint32_t all = *reinterpret_cast<const uint32_t *>(arg + at);
        where[0] = all & 0xff, where[1] = all >> 8 & 0xff, where[2] = all >> 16 & 0xff, where[3] = all >> 24;
        if constexpr (F::per == 2) {
          const uint2 pair = read_vector<uint2>(gy + at);
          g[0] = bf16_lo(pair.x), g[1] = bf16_hi(pair.x), g[2] = bf16_lo(pair.y), g[3] = bf16_hi(pair.y);
        } else {
          const float4 all4 = read_vector<float4>(gy + at);
          g[0] = all4.x, g[1] = all4.y, g[2] = all4.z, g[3] = all4.w;
        }
      } else {
#pragma unroll
        for (uint32_t c = 0; c < 4; c++)
          if (kept(o) + c < a.O) g[c] = P::load(gy[at + c]), where[c] = arg[at + c];
      }
#pragma unroll
      for (uint32_t c = 0; c < 4; c++)
        if (where[c] < 4) db[c] = db[c] + g[c];
    }
    const uint32_t row = 2 * (w.n * t.rows + w.r);
    if constexpr (F::per == 2) {
#pragma unroll
      for (uint32_t k = 0; k < 4; k += 2) {
        uint32_t word[4];
#pragma unroll
        for (uint32_t c = 0; c < 4; c++) {
          const uint32_t bits = float_bits(g[c]);
          word[c] = where[c] == k ? bits >> 16 : where[c] == k + 1 ? bits : 0;
        }
        write_vector(dY + ((row + k / 2) * t.columns + w.c) * F::ld + quad, uint4{word[0], word[1], word[2], word[3]});
      }
    } else {
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) {
        const float4 all = {where[0] == k ? g[0] : 0.0f, where[1] == k ? g[1] : 0.0f, where[2] == k ? g[2] : 0.0f, where[3] == k ? g[3] : 0.0f};
        write_vector(dY + ((row + k / 2) * 2 * t.columns + 2 * w.c + k % 2) * F::ld + quad, all);
      }
    }
  }
}

// filter_step adds step s of 8 words. acc[i][j][2h+n] is row 16i+8h+g of the warp, output 8t+4n+j; rows[2i+h] is where the row's
// channel lies from a pixel on.
template <class P, int TILES>
DEV void filter_step(float (&acc)[2 * TILES][4][4], const uint32_t *patch, const uint32_t (&rows)[4 * TILES], const uint32_t *dY, const uint32_t *offset) {
  typedef Filter<P> F;
  const uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  if constexpr (conv_tensor<P>) {
    const uint32_t *x0 = patch + offset[F::first(t)], *x1 = patch + offset[F::second(t)];
    const uint4 b0 = read_vector<uint4>(dY + F::first(t) * F::ld + 4 * g);
    const uint4 b1 = read_vector<uint4>(dY + F::second(t) * F::ld + 4 * g);
    const uint32_t b[4][2] = {{b0.x, b1.x}, {b0.y, b1.y}, {b0.z, b1.z}, {b0.w, b1.w}};
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
      const uint32_t m[4] = {x0[rows[2 * i]], x0[rows[2 * i + 1]], x1[rows[2 * i]], x1[rows[2 * i + 1]]};
#pragma unroll
      for (int j = 0; j < 4; j++) conv_mma<P>(acc[i][j], m, b[j]);
    }
  } else {
#pragma unroll 1
    for (uint32_t k = 0; k < 8; k++) {
      const uint32_t *x = patch + offset[k];
      const float4 b0 = read_vector<float4>(dY + k * F::ld + 8 * t), b1 = read_vector<float4>(dY + k * F::ld + 8 * t + 4);
      const float b[4][2] = {{b0.x, b1.x}, {b0.y, b1.y}, {b0.z, b1.z}, {b0.w, b1.w}};
#pragma unroll
      for (int i = 0; i < 4 * TILES; i++) {
        const float v = bits_float(x[rows[i]]);
#pragma unroll
        for (int j = 0; j < 8; j++) {
          float &d = acc[i / 2][j % 4][2 * (i % 2) + j / 4];
          d = fmaf_(v, b[j % 4][j / 4], d);
        }
      }
    }
  }
}

// filter_row is the first of the rows of dw that a thread has in every eighth; found twice, since registers are dearer than divisions.
template <int TILES> DEV uint32_t filter_row(const FilterTile &f, uint32_t tiles) {
  const uint32_t thread = kept(threadIdx.x), block = kept(blockIdx.x) / tiles % f.blocks;
  return (block * f.groups + thread / 32 % f.groups) * 32 * TILES + thread % 32 / 4;
}

template <class P, int TILES> DEV void filter_run(const ConvArgs &a, const FilterTile &f, uint32_t *shared) {
  typedef Filter<P> F;
  const uint32_t words = f.steps * 8, tiles = ceil_div(a.O, CONV_OUTPUTS), n = a.R * a.S * a.C;
  uint32_t *patch = shared, *dY = shared + f.t.patch, *offset = dY + words * F::ld;
  const uint32_t o = blockIdx.x % tiles * CONV_OUTPUTS, part = threadIdx.x / 32 / f.groups;

  // Padding of pixels and pixels of padding meet zeros, and must not be NaN.
  const ConvTile &t = f.t;
  conv_clear(patch, t.patch + words * F::ld, FILTER_THREADS);
  for (uint32_t i = threadIdx.x; i < words; i += FILTER_THREADS) {
    const uint32_t pixel = i * F::per, row = pixel / (2 * t.columns), image = row / (2 * t.rows);
    offset[i] = image < t.images ? ((image * t.height + row % (2 * t.rows)) * t.width + pixel % (2 * t.columns)) * t.pitch : 0;
  }
  uint32_t pairs[2 * TILES];  // of rows, in 16 bits each
  const uint32_t first = filter_row<TILES>(f, tiles);
#pragma unroll
  for (uint32_t i = 0; i < 4 * TILES; i++) {
    const uint32_t m = first + 8 * i, tap = m / a.C;
    const uint32_t row = m < n ? (tap / a.S * t.width + tap % a.S) * t.pitch + m % a.C : 0;
    pairs[i / 2] = i % 2 ? pairs[i / 2] | row << 16 : row;
  }

  const Path pixels = conv_path(a, t, FILTER_THREADS, F::per == 2 ? 1 : conv_per_word<P>);
  const Path windows = path_from(threadIdx.x / 8, FILTER_THREADS / 8, t.rows, t.columns, 1);
  float acc[2 * TILES][4][4] = {}, db[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const uint32_t begin = blockIdx.x / tiles / f.blocks * a.images, end = begin + a.images < a.B ? begin + a.images : a.B;
  const typename P::act *x = static_cast<const typename P::act *>(a.x) + (size_t)blockIdx.y * a.B * a.H * a.W * a.C;
  const uint32_t units = ceil_div(end - begin, t.images) * t.bands * t.strips;
  for (uint32_t u = 0; u < units; u++) {
    ConvPlace p = conv_place(t, u);
    p.b += begin;
    __syncthreads();
    const uint32_t i0 = 2 * p.i - a.pad, j0 = 2 * p.j - a.pad;
    if constexpr (F::per == 2) filter_load_pairs(patch, x, a, t, pixels, p.b, i0, j0);
    else conv_load_pixels<P>(patch, x, a, t, pixels, p.b, (int32_t)i0, (int32_t)j0, FILTER_THREADS);
    cp_async_commit();
    filter_load_gradient<P>(dY, db, a, t, windows, p, end, o);
    cp_async_wait<0>();
    __syncthreads();
    uint32_t rows[4 * TILES];
#pragma unroll
    for (uint32_t i = 0; i < 4 * TILES; i++) rows[i] = i % 2 ? kept(pairs[i / 2]) >> 16 : kept(pairs[i / 2]) & 0xffff;
    for (uint32_t s = part; s < f.steps; s += f.parts) filter_step<P, TILES>(acc, patch, rows, dY + s * 8 * F::ld, offset + s * 8);
  }

  // The parts of a group are added in order by the first of its warps, through shared memory; db in the order of the threads.
  float *sums = reinterpret_cast<float *>(shared);
  const uint32_t thread = kept(threadIdx.x);
  for (uint32_t k = 1; k < f.parts; k++) {
    __syncthreads();
    float *slot = sums + thread / 32 % f.groups * (1024 * TILES) + thread % 32;
#pragma unroll
    for (int i = 0; i < 32 * TILES; i++) {
      float &v = acc[i / 16][i / 4 % 4][i % 4];
      if (part == k) slot[32 * i] = v;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32 * TILES; i++) {
      float &v = acc[i / 16][i / 4 % 4][i % 4];
      if (part == 0) v = v + slot[32 * i];
    }
  }
  const uint32_t chunks = ceil_div(a.B, a.images), chunk = kept(blockIdx.x) / tiles / f.blocks;
  float *partial = a.partial + ((size_t)blockIdx.y * chunks + chunk) * (n * a.O + a.O);
  if (part == 0) {
    const uint32_t first = o + thread % 4 * 8, room = first < a.O ? a.O - first : 0, row0 = filter_row<TILES>(f, tiles);
#pragma unroll
    for (uint32_t i = 0; i < 4 * TILES; i++) {
      const uint32_t m = row0 + 8 * i;
      if (m >= n) continue;
      float v[8];
#pragma unroll
      for (uint32_t c = 0; c < 8; c++) v[c] = acc[i / 2][c % 4][2 * (i % 2) + c / 4];
      conv_store8<FP32>(partial + m * a.O + first, v, room, a.O % 8 == 0);
    }
  }
  if (kept(blockIdx.x) / tiles % f.blocks > 0) return;  // all threads of the block
  __syncthreads();
#pragma unroll
  for (uint32_t c = 0; c < 4; c++) sums[threadIdx.x * 4 + c] = db[c];
  __syncthreads();
  if (threadIdx.x < CONV_OUTPUTS && o + threadIdx.x < a.O) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < FILTER_THREADS / 8; i++) sum = sum + sums[i * CONV_OUTPUTS + threadIdx.x];
    partial[n * a.O + o + threadIdx.x] = sum;
  }
}

template <class P> DEV void filter_main(const ConvArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  DYNAMIC_SHARED(uint32_t, shared);
  const FilterTile f = filter_tile<P>(a);
  if (f.tiles == 1) filter_run<P, 1>(a, f, shared);
  else filter_run<P, 3>(a, f, shared);
}

extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_fp32(const ConvArgs a) { filter_main<FP32>(a); }
extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_tf32(const ConvArgs a) { filter_main<TF32>(a); }
extern "C" __global__ void __launch_bounds__(192, 2) conv_backward_filter_bf16(const ConvArgs a) { filter_main<BF16>(a); }
