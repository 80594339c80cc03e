// The product of conv_backward_filter on tensor cores, of dY with pixels of x, and where its sums lie.
//
// A step takes four windows. Lane 4g+t has outputs 4g … 4g+3 of window t: of gy and arg it makes the words of dY in
// registers, as operand a of mma. dY is gy at the place arg of a window, and 0 at its other three places. The pixels of
// x are b. A word is one pixel; in bf16 it is two neighbours of a row.
#pragma once
#include "conv_patch.cuh"

// conv.go has the same numbers. With FILTER_FEW channels or fewer, a tile has 8 taps.
constexpr uint32_t FILTER_WARPS = 6, FILTER_THREADS = 32 * FILTER_WARPS, FILTER_FEW = 3;

// FilterKind says how a lane reads the rows (r,s,c) of dw that it multiplies, for a tile of 32 rows.
enum FilterKind {
  FILTER_TAPS,      // few channels: those of the g-th of 8 taps at once, and one of 8 rows of the taps left over
  FILTER_CHANNELS,  // the g-th four neighbouring channels at once, of one tap
  FILTER_TILE,      // 32 channels of one tap; in bf16 a word of x is two of them, and ldmatrix pairs the pixels
};

// FilterSums has the sums of a lane. Row g of product m is output 4g+2m, row g+8 output 4g+2m+1; column n of product j
// is a row of dw: d[j][m][2r+c] is column 2t+c, output 4g+2m+r.
template <FilterKind KIND, int TILES> struct FilterSums {
  static constexpr uint32_t ROWS = 8 * TILES, OUTPUTS = 4;  // of a lane
  float d[4 * TILES][2][4];

  // row_of returns the row of dw of column n of product j, not below R·S·C if there is none. first is the first tile of
  // the warp, all the number of tiles of all warps.
  DEV uint32_t row_of(const ConvArgs &a, uint32_t first, uint32_t all, uint32_t j, uint32_t n) {
    const uint32_t tile = first + j / 4, none = a.R * a.S * a.C;
    if constexpr (KIND == FILTER_TILE) return 32 * tile + j % 4 * 8 + n;
    if constexpr (KIND == FILTER_TAPS) {
      if (j % 4 == 3) return 8 * all * a.C + 8 * tile + n;
      return j % 4 < a.C ? (8 * tile + n) * a.C + j % 4 : none;
    }
    const uint32_t fours = ceil_div(a.C, 4), four = 8 * tile + n, channel = four % fours * 4 + j % 4;
    return channel < a.C ? four / fours * a.C + channel : none;
  }
  // row returns the i-th row of dw of a lane, output its first output. word returns which float has the n-th output of
  // the i-th row: the sum of one that depends on i and one on n.
  DEV uint32_t row(const ConvArgs &a, uint32_t first, uint32_t all, uint32_t i) {
    return row_of(a, first, all, i / 2, threadIdx.x % 4 * 2 + i % 2);
  }
  DEV uint32_t output() { return threadIdx.x % 32 / 4 * 4; }
  DEV uint32_t word(uint32_t i, uint32_t n) { return i / 2 * 8 + i % 2 + n * 2; }
};

// filter_matrix says whether x is read by ldmatrix.
template <class P, FilterKind KIND> constexpr bool filter_matrix = KIND == FILTER_TILE && conv_per_word<P> == 2;
// filter_pairs says whether a word of x is a channel of two neighbouring pixels.
template <class P, FilterKind KIND>
constexpr bool filter_pairs = conv_per_word<P> == 2 && !filter_matrix<P, KIND>;

// FilterRows is where the rows of dw of a lane lie behind a pixel, in bytes: of every tile, and with FILTER_TAPS of its
// row of the taps left over. For ldmatrix it is where the row of a matrix lies that the lane gives.
template <class P, FilterKind KIND, int TILES> struct FilterRows {
  uint32_t of[TILES], left[KIND == FILTER_TAPS ? TILES : 1];

  DEV FilterRows at(const ConvArgs &a, uint32_t first, uint32_t all) {
    typedef FilterSums<KIND, TILES> Sums;
    const uint32_t lane = kept(threadIdx.x) % 32, last = a.R * a.S * a.C - 1;
    constexpr bool matrix = filter_matrix<P, KIND>;
    const uint32_t n = matrix ? 0 : lane / 4, per = matrix ? 2 : 1;
    // Lanes without a row read at the last one. What is read at once is aligned.
    auto bytes = [&](uint32_t j, uint32_t words) INLINE {
      const uint32_t m = Sums::row_of(a, first, all, j, n), row = m < last ? m : last, tap = row / a.C;
      const uint32_t channel = row % a.C / per / words * words;
      return 4 * ((tap / a.S * a.tile.width + tap % a.S) * a.tile.pitch + channel);
    };
    FilterRows rows;
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      rows.of[i] = bytes(4 * i, KIND == FILTER_TILE && !matrix ? 1 : 4);
      if constexpr (KIND == FILTER_TAPS) rows.left[i] = bytes(4 * i + 3, 1);
      if constexpr (matrix)  // the lower pixels of windows, and the next 8 channels
        rows.of[i] += 4 * ((kept(lane / 8 % 2) * a.tile.width + kept(lane % 2)) * a.tile.pitch + lane / 16 * 4);
    }
    return rows;
  }
};

// FilterRaw is gy and arg of a unit in shared memory: WORDS words for a window, gy of 32 outputs and then arg. The
// reads of a warp meet no bank twice.
template <class P> struct FilterRaw {
  static constexpr uint32_t GY = CONV_OUTPUTS / conv_per_word<P>, WORDS = GY + CONV_OUTPUTS / 4;
};

// filter_gradient makes the words of dY of one output of a window, all its pixels: it shifts g to its place. `all` has
// arg in byte n; where it is 4, nothing is left.
DEV void filter_gradient(TF32, uint32_t (&y)[4], float g, uint32_t all, uint32_t n) {
  const uint32_t bits = (all << 5 >> 8 * n) & 0xff;
  const uint64_t upper = shift_left(float_bits(g), bits), lower = shift_left(float_bits(g), bits - 64);
  y[0] = (uint32_t)upper, y[1] = (uint32_t)(upper >> 32), y[2] = (uint32_t)lower, y[3] = (uint32_t)(lower >> 32);
}
DEV void filter_gradient(BF16, uint32_t (&y)[2], float g, uint32_t all, uint32_t n) {
  const uint32_t bits = ((all << 4 ^ 0x30303030) >> 8 * n) & 0xff;  // from place 3 down; 4 is far beyond 64
  const uint64_t both = shift_right((uint64_t)float_bits(g) << 32, bits);
  y[0] = (uint32_t)both, y[1] = (uint32_t)(both >> 32);
}

// read_word reads a word at any byte that is a multiple of 4.
DEV uint32_t read_word(const char *p) { return *reinterpret_cast<const uint32_t *>(p); }

// filter_read reads operand b of the four products of a tile: words of x at `from` and `apart` bytes behind. left is at
// the lane's row of the taps left over.
template <class P, FilterKind KIND>
DEV void filter_read(uint32_t (&b)[4][2], const char *from, const char *left, uint32_t apart) {
  if constexpr (filter_matrix<P, KIND>) {
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      uint32_t r[4];
      ldmatrix_x4_trans(r, smem_u32(from) + 16 * j);
      b[j][0] = r[0], b[j][1] = r[1], b[j + 1][0] = r[2], b[j + 1][1] = r[3];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 2; i++, from += apart, left += apart) {
    if constexpr (KIND == FILTER_TILE) {
#pragma unroll
      for (int j = 0; j < 4; j++) b[j][i] = read_word(from + 32 * j);
    } else {
      const uint4 v = read_vector<uint4>(from);
      b[0][i] = v.x, b[1][i] = v.y, b[2][i] = v.z, b[3][i] = v.w;
      if constexpr (KIND == FILTER_TAPS) {
        kept(v.w);  // otherwise clang reads three words, in two instructions that meet banks twice
        b[3][i] = read_word(left);
      }
    }
  }
}

// filter_step adds the products of four windows to sums, and gy to db. gy and arg are at the window and the outputs of
// the lane, x at the first pixel of its window or, for ldmatrix, of the window of its row. The pixel beside it is
// `pixel` bytes behind, the one below it `line` bytes.
template <class P, FilterKind KIND, int TILES>
DEV void filter_step(FilterSums<KIND, TILES> &sums, float (&db)[4], const uint32_t *gy, const uint32_t *arg,
                     const char *x, const FilterRows<P, KIND, TILES> &rows, uint32_t pixel, uint32_t line) {
  constexpr bool pairs = conv_per_word<P> == 2;
  float g[4];
  if constexpr (pairs) {
    const uint2 v = read_vector<uint2>(gy);
    g[0] = bf16_lo(v.x), g[1] = bf16_hi(v.x), g[2] = bf16_lo(v.y), g[3] = bf16_hi(v.y);
  } else {
    const float4 v = read_vector<float4>(gy);
    g[0] = v.x, g[1] = v.y, g[2] = v.z, g[3] = v.w;
  }
  const uint32_t all = *arg;
  uint32_t y[4][4 / conv_per_word<P>];
#pragma unroll
  for (uint32_t n = 0; n < 4; n++) {
    filter_gradient(P{}, y[n], g[n], all, n);
    if ((all >> 8 * n & 0xff) < 4) db[n] = db[n] + g[n];
  }
#pragma unroll
  for (int s = 0; s < (pairs ? 1 : 2); s++) {  // words 2s and 2s+1 of every window: 8 words of pixels
    const char *from = x + (s ? line : 0);
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      uint32_t b[4][2];
      filter_read<P, KIND>(b, from + rows.of[i], from + rows.left[KIND == FILTER_TAPS ? i : 0], pairs ? line : pixel);
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int m = 0; m < 2; m++)
          conv_mma<P>(sums.d[4 * i + j][m],
                      {y[2 * m][2 * s], y[2 * m + 1][2 * s], y[2 * m][2 * s + 1], y[2 * m + 1][2 * s + 1]}, b[j]);
    }
  }
}

// filter_multiply adds the products of a unit, four windows at a time, from the warp's first one on. place is where the
// pixels of windows lie in the patch, in bytes.
template <class P, FilterKind KIND, int TILES>
DEV void filter_multiply(FilterSums<KIND, TILES> &sums, float (&db)[4], const uint32_t *patch, const uint32_t *raw,
                         const uint32_t *place, const FilterRows<P, KIND, TILES> &rows, uint32_t first,
                         const ConvTile &t) {
  typedef FilterRaw<P> R;
  const uint32_t lane = kept(threadIdx.x) % 32, pitch = KIND == FILTER_TAPS ? 4 : t.pitch;
  const uint32_t stride = 4 * t.parts;
  const uint32_t *gy = raw + (first + lane % 4) * R::WORDS + lane / 4 * (4 / conv_per_word<P>);
  const uint32_t *arg = raw + (first + lane % 4) * R::WORDS + R::GY + lane / 4;
  const uint32_t *last = place + t.windows;
  place += first + (filter_matrix<P, KIND> ? lane % 8 / 2 : lane % 4);
  for (; place < last; place += stride) {
    named<32 * TILES, 32, KIND == FILTER_TAPS ? 3 : KIND == FILTER_CHANNELS ? 4 : 32>();
    const char *x = reinterpret_cast<const char *>(patch) + *place;
    filter_step<P, KIND, TILES>(sums, db, gy, arg, x, rows, 4 * pitch, 4 * t.width * pitch);
    gy += stride * R::WORDS, arg += stride * R::WORDS;
  }
}
