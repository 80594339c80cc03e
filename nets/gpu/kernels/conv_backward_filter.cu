// conv_backward_filter: partial[k,chunk] = the sum over the images of a chunk of
//   dw[r,s,c,o] = Σ_i Σ_j x[k,b,i+r-pad,j+s-pad,c] dY[k,b,i,j,o] and, behind it, db[o] = Σ_i Σ_j dY[k,b,i,j,o]
//
// dY is gy at the place arg of every window, and 0 elsewhere; it exists in shared memory alone.
// x [K,B,H,W,C], gy, arg [K,B,HP,WP,O] → partial [K,chunks,R·S·C·O+O]; conv_reduce adds the chunks.
// Grid (chunks × ⌈rows/(32·tiles·groups)⌉ × ⌈O/32⌉, K), block 192: 6 warps. A warp owns `tiles` × 32 rows (r,s,c) × 32
// outputs of dw, and every parts-th step of 8 words of pixels; at the end the parts are added in order. Shared memory:
// a patch of x, and dY of up to 64 windows, at most 99 KB.
// Moves (act(|x|·halo + |gy|) + |arg|)·grid/chunks + 4·|partial| bytes per slot; deterministic.
#include "conv_patch.cuh"

constexpr uint32_t FILTER_WARPS = 6, FILTER_THREADS = 32 * FILTER_WARPS;  // conv.go has the same numbers

// Filter says how pixels, the dimension of this sum, lie in words. A word of x is one pixel of a channel; with bf16 it
// is two neighbours, and a word of a patch begins at every pixel. A thread multiplies word first() of a step and the
// word `apart` behind it: with a pitch of 4 mod 8 they lie in different banks for all lanes.
template <class P> struct Filter {
  typedef typename P::act act;
  static constexpr uint32_t per = conv_per_word<P>;
  static constexpr uint32_t ld = per == 2 ? 40 : 36;  // words of a row of dY
  static constexpr uint32_t apart = per == 2 ? 4 : 1;

  DEV uint32_t first(uint32_t t) { return per == 2 ? t : 2 * t; }
};

// filter_load_pairs fills a patch with pairs of bf16: word (i,j,c) has x at (i,j,c) and at (i,j+1,c).
DEV void filter_load_pairs(uint32_t *patch, const uint16_t *x, const ConvArgs &a, const Path &path, uint32_t b0,
                           uint32_t i0, uint32_t j0) {
  const ConvTile &t = a.tile;
  const bool wide = conv_vector(a.C, 1) == 4;
  const uint32_t words = wide ? 4 : 1;
  for (Walk w = walk(path); w.n < t.images; walk_on(w)) {
    const uint32_t row = i0 + w.r, column = j0 + w.c, b = b0 + w.n;
    const bool image = row < a.H && b < a.B, here = image && column < a.W, next = image && column + 1 < a.W;
    const uint32_t at = ((b * a.H + row) * a.W + column) * a.C + w.v * words;
    uint32_t *dst = patch + ((w.n * t.height + w.r) * t.width + w.c) * t.pitch + w.v * words;
    if (wide) {
      uint2 lo = {0, 0}, hi = {0, 0};
      if (here) lo = read_vector<uint2>(x + at);
      if (next) hi = read_vector<uint2>(x + (at + a.C));
      write_vector(dst, uint4{(lo.x & 0xffff) | hi.x << 16, lo.x >> 16 | (hi.x & 0xffff0000u),
                              (lo.y & 0xffff) | hi.y << 16, lo.y >> 16 | (hi.y & 0xffff0000u)});
    } else {
      *dst = (here ? x[at] : 0) | (next ? (uint32_t)x[at + a.C] : 0) << 16;
    }
  }
}

// filter_load_gradient fills dY [pixels/per][ld] with the 32 outputs of the block, for the windows of a unit, of images
// before `end`. A thread has the same 4 outputs all the time, and adds them to db.
template <class P>
DEV void filter_load_gradient(uint32_t *dY, float (&db)[4], const ConvArgs &a, const Path &path, ConvPlace p,
                              uint32_t end, uint32_t o) {
  typedef Filter<P> F;
  const ConvTile &t = a.tile;
  const uint32_t O = kept(a.O), quad = kept(threadIdx.x) % 8 * 4;
  o = kept(o) + quad;
  const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.HP * a.WP * O);
  const typename P::act *gy = static_cast<const typename P::act *>(a.gy) + slot;
  const uint8_t *arg = a.arg + slot;
  Walk w = walk(path);
  w.v = w.dv = 0;  // a window is one vector
  for (; w.n < t.images; walk_on(w)) {
    const uint32_t b = p.b + w.n, i = p.i + w.r, j = p.j + w.c;
    float g[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    uint32_t where[4] = {4, 4, 4, 4};
    if (b < end && i < a.HP && j < a.WP && o < a.O) {
      const uint32_t at = ((b * a.HP + i) * a.WP + j) * a.O + o;
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
          const uint32_t bits = kept(float_bits(g[c]));
          word[c] = where[c] == k ? bits >> 16 : where[c] == k + 1 ? bits : 0;
        }
        write_vector(dY + ((row + k / 2) * t.columns + w.c) * F::ld + quad, uint4{word[0], word[1], word[2], word[3]});
      }
    } else {
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) {
        const float4 all = {where[0] == k ? g[0] : 0.0f, where[1] == k ? g[1] : 0.0f, where[2] == k ? g[2] : 0.0f,
                            where[3] == k ? g[3] : 0.0f};
        write_vector(dY + ((row + k / 2) * 2 * t.columns + 2 * w.c + k % 2) * F::ld + quad, all);
      }
    }
  }
}

// filter_word reads the word so many bytes behind x.
DEV uint32_t filter_word(const uint32_t *x, uint32_t bytes) {
  return *reinterpret_cast<const uint32_t *>(reinterpret_cast<const char *>(x) + bytes);
}

// filter_step adds the products of a step of 8 words of pixels. acc[i][j][2h+n] is row 16i+8h+g of the warp, output
// 8t+4n+j; rows[2i+h] is where that row's channel and tap lie behind a pixel, in bytes. dY and offset begin at the
// first word of the thread.
template <class P, int TILES>
DEV void filter_step(float (&acc)[2 * TILES][4][4], const uint32_t *patch, const uint32_t (&rows)[4 * TILES],
                     const uint32_t *dY, const uint32_t *offset) {
  typedef Filter<P> F;
  if constexpr (conv_tensor<P>) {
    const uint32_t *x0 = patch + offset[0], *x1 = patch + offset[F::apart];
    const uint4 b0 = read_vector<uint4>(dY), b1 = read_vector<uint4>(dY + F::apart * F::ld);
    const uint32_t b[4][2] = {{b0.x, b1.x}, {b0.y, b1.y}, {b0.z, b1.z}, {b0.w, b1.w}};
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
      const uint32_t m[4] = {filter_word(x0, rows[2 * i]), filter_word(x0, rows[2 * i + 1]),
                             filter_word(x1, rows[2 * i]), filter_word(x1, rows[2 * i + 1])};
#pragma unroll
      for (int j = 0; j < 4; j++) conv_mma<P>(acc[i][j], m, b[j]);
    }
  } else {
#pragma unroll 1
    for (uint32_t k = 0; k < 8; k++) {
      const uint32_t *x = patch + offset[k];
      const float4 b0 = read_vector<float4>(dY + k * F::ld), b1 = read_vector<float4>(dY + k * F::ld + 4);
      const float b[4][2] = {{b0.x, b1.x}, {b0.y, b1.y}, {b0.z, b1.z}, {b0.w, b1.w}};
#pragma unroll
      for (int i = 0; i < 4 * TILES; i++) {
        const float v = bits_float(filter_word(x, rows[i]));
#pragma unroll
        for (int j = 0; j < 8; j++) {
          float &d = acc[i / 2][j % 4][2 * (i % 2) + j / 4];
          d = fmaf_(v, b[j % 4][j / 4], d);
        }
      }
    }
  }
}

// filter_first returns the first row of dw of a thread, which has every eighth row from there on.
template <int TILES> DEV uint32_t filter_first(const ConvTile &t) {
  const uint32_t thread = kept(threadIdx.x), run = kept(blockIdx.x) / t.tiles % t.runs;
  return (run * t.groups + thread / 32 % t.groups) * 32 * TILES + thread % 32 / 4;
}

// filter_run computes a run of rows of dw, for 32 outputs and one chunk of images, with TILES × 32 rows per warp.
template <class P, int TILES> DEV void filter_run(const ConvArgs &a, uint32_t *shared) {
  typedef Filter<P> F;
  constexpr uint32_t per = F::per == 2 ? 1 : conv_per_word<P>;  // elements of x in a word that is copied
  const ConvTile &t = a.tile;
  // What a thread keeps from unit to unit is packed, and unpacked where it is used: beside 100 sums there is room for
  // 68 registers.
  uint32_t start[2], step[2];  // of the paths through pixels and windows
  uint32_t turn;               // the warp's first word of pixels in a unit
  uint32_t pairs[2 * TILES];   // where rows lie from a pixel on, in words, in 16 bits each
  uint32_t o, end;             // the block's first output, and the image behind its last
  ConvPlace p = {0, 0, 0};
  {
    const uint32_t thread = threadIdx.x;
    uint32_t *dY = shared + t.patch, *offset = dY + t.words * F::ld;
    // Words between pixels, and pixels behind the last, meet zeros in the product, and must not be NaN.
    conv_clear(shared, t.patch + t.words * F::ld, FILTER_THREADS);
    for (uint32_t i = thread; i < t.words; i += FILTER_THREADS) {
      const uint32_t pixel = i * F::per, row = pixel / (2 * t.columns), image = row / (2 * t.rows);
      const uint32_t line = image * t.height + row % (2 * t.rows);
      offset[i] = image < t.images ? (line * t.width + pixel % (2 * t.columns)) * t.pitch : 0;
    }
    const uint32_t first = filter_first<TILES>(t);
#pragma unroll
    for (uint32_t i = 0; i < 4 * TILES; i++) {
      const uint32_t m = first + 8 * i, tap = m / a.C;
      const uint32_t row = m < a.R * a.S * a.C ? (tap / a.S * t.width + tap % a.S) * t.pitch + m % a.C : 0;
      pairs[i / 2] = i % 2 ? pairs[i / 2] | row << 16 : row;
    }
    const Path pixels = conv_path(a, FILTER_THREADS, per);
    const Path windows = path_from(thread / 8, FILTER_THREADS / 8, t.rows, t.columns, 1);
    start[0] = pixels.start, step[0] = pixels.step, start[1] = windows.start, step[1] = windows.step;
    turn = 8 * (thread / 32 / t.groups), o = blockIdx.x % t.tiles * CONV_OUTPUTS;
    p.b = blockIdx.x / t.tiles / t.runs * a.images;
    end = p.b + a.images < a.B ? p.b + a.images : a.B;
  }

  float acc[2 * TILES][4][4] = {}, db[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  while (p.b < end) {
    __syncthreads();
    {
      const uint32_t i0 = 2 * p.i - a.pad, j0 = 2 * p.j - a.pad, C = kept(a.C);
      const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.H * a.W * C);
      const typename P::act *x = static_cast<const typename P::act *>(a.x) + slot;
      const Path path = {t.height, t.width, ceil_div(C, conv_vector(C, per)), start[0], step[0]};
      if constexpr (F::per == 2) filter_load_pairs(shared, x, a, path, p.b, i0, j0);
      else conv_load_pixels<P>(shared, x, a, path, p.b, (int32_t)i0, (int32_t)j0);
      cp_async_commit();
      filter_load_gradient<P>(shared + t.patch, db, a, Path{t.rows, t.columns, 1, start[1], step[1]}, p, end, o);
      p.j += t.columns;
      if (p.j >= a.WP) p.j = 0, p.i += t.rows;
      if (p.i >= a.HP) p.i = 0, p.b += t.images;
    }
    cp_async_wait<0>();
    __syncthreads();
    {
      const uint32_t lane = kept(threadIdx.x) % 32, g = lane / 4, thread = lane % 4;
      const uint32_t *dY = shared + t.patch, *offset = dY + t.words * F::ld;
      dY += conv_tensor<P> ? F::first(thread) * F::ld + 4 * g : 8 * thread;
      offset += conv_tensor<P> ? F::first(thread) : 0;
      uint32_t rows[4 * TILES];
#pragma unroll
      for (uint32_t i = 0; i < 2 * TILES; i++)
        rows[2 * i] = (pairs[i] & 0xffff) << 2, rows[2 * i + 1] = pairs[i] >> 16 << 2;
      for (uint32_t w = kept(turn); w < t.words; w += 8 * t.parts) {
        named<32 * TILES, 32>();
        const uint32_t at = kept(w);  // otherwise clang counts three addresses up
        filter_step<P, TILES>(acc, shared, rows, dY + at * F::ld, offset + at);
      }
#pragma unroll
      for (uint32_t i = 0; i < 2 * TILES; i++) pairs[i] = kept(rows[2 * i]) >> 2 | kept(rows[2 * i + 1]) << 14;
    }
  }

  // The first warp of a group adds up the parts, in order, by way of shared memory; then db, in the order of the
  // threads.
  float *sums = reinterpret_cast<float *>(shared);
  const uint32_t thread = kept(threadIdx.x), part = thread / 32 / t.groups;
  for (uint32_t k = 1; k < t.parts; k++) {
    __syncthreads();
    float *slot = sums + thread / 32 % t.groups * (1024 * TILES) + thread % 32;
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
  const uint32_t block = kept(blockIdx.x), chunk = block / t.tiles / t.runs, n = a.R * a.S * a.C;
  float *partial = a.partial + ((size_t)blockIdx.y * a.chunks + chunk) * (n * a.O + a.O);
  if (part == 0) {
    const uint32_t from = o + thread % 4 * 8, room = from < a.O ? a.O - from : 0, first = filter_first<TILES>(t);
#pragma unroll
    for (uint32_t i = 0; i < 4 * TILES; i++) {
      const uint32_t m = first + 8 * i;
      if (m >= n) continue;
      float v[8];
#pragma unroll
      for (uint32_t c = 0; c < 8; c++) v[c] = acc[i / 2][c % 4][2 * (i % 2) + c / 4];
      conv_store<FP32>(partial + m * a.O + from, v, room, a.O % 8 == 0);
    }
  }
  if (block / t.tiles % t.runs > 0) return;  // all threads of the block
  __syncthreads();
#pragma unroll
  for (uint32_t c = 0; c < 4; c++) sums[thread * 4 + c] = db[c];
  __syncthreads();
  if (thread < CONV_OUTPUTS && o + thread < a.O) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < FILTER_THREADS / 8; i++) sum = sum + sums[i * CONV_OUTPUTS + thread];
    partial[n * a.O + o + thread] = sum;
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
