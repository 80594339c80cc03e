// The arithmetic of a tile product: 16 of the depth, from shared memory to the sums of a warp.
//
// In every precision the sums of a warp lie as mma.sync leaves them: lane 4g+t has in acc[i][j][2h+c] row g of half h
// of row block i (r = 2i+h) and column 2t+c of column block j. Which rows and columns of the tile these stand for is
// free, and is chosen so that the float precisions read 16 bytes at a time:
//   - column 2t+c of block j is column NJ(2t+c)+j, so that a lane has 2NJ neighbours; with eight blocks, the last four
//     lie 32 columns behind the first;
//   - row r of lane g is 8r+g, or 4g + r%4 + 32(r/4) if a has its rows along memory;
//   - within 16 of the depth, k = 4t … 4t+3 are the four that mma wants of lane t.
#pragma once
#include "gemm_stage.cuh"

// Lanes says which rows and columns a lane has: row(r) and column(q), WIDTH neighbouring columns at a time.
template <class P>
struct Lanes {
  static constexpr int WIDTH = 4;
  template <class A>
  DEV uint32_t row(uint32_t r) {
    const uint32_t g = threadIdx.x % 32 / 4;
    return A::K_FASTEST ? 8 * r + g : 32 * (r / 4) + 4 * g + r % 4;
  }
  template <int NJ>
  DEV uint32_t column(uint32_t q) {
    constexpr uint32_t own = NJ == 8 ? 8 : 2 * NJ; // neighbours of a lane
    return 4 * q / own * 32 + own * (threadIdx.x % 4) + 4 * q % own;
  }
};

template <>
struct Lanes<BF16> {
  static constexpr int WIDTH = 2;
  template <class A>
  DEV uint32_t row(uint32_t r) { return 8 * r + threadIdx.x % 32 / 4; }
  template <int NJ>
  DEV uint32_t column(uint32_t q) { return 8 * q + 2 * (threadIdx.x % 4); }
};

// read_row sets to[0 … 3] to the words of a chunk, read_column to[first … first+3][e].
DEV void read_row(uint32_t (&to)[4], const uint4 &v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; }
template <int N>
DEV void read_column(uint32_t (&to)[N][4], int first, int e, const uint4 &v) {
  to[first][e] = v.x, to[first + 1][e] = v.y, to[first + 2][e] = v.z, to[first + 3][e] = v.w;
}

// Origin is the first chunk of a and of b that a lane reads in a stage. Operand::beside finds all others from it.
struct Origin {
  uint32_t a, b;
};

// origin returns the Origin in the tile of a warp at (m,n), from k on. k, m and n are multiples of the sizes of the
// tile.
template <class A, class B, int NJ>
DEV Origin origin(TF32, uint32_t m, uint32_t n, uint32_t k) {
  const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  return {
      A::K_FASTEST ? A::at(m + g, k / 4 + t) : A::at(k + 4 * t, m / 4 + g),
      B::K_FASTEST ? B::at(n + (NJ == 8 ? 4 : NJ) * g, k / 4 + t) : B::at(k + 4 * t, n / 4 + (NJ == 2 ? g / 2 : g))};
}

template <class A, class B, int NJ>
DEV Origin origin(FP32, uint32_t m, uint32_t n, uint32_t k) {
  const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  return {A::K_FASTEST ? A::at(m + g, k / 4) : A::at(k, m / 4 + g),
          B::K_FASTEST ? B::at(n + 2 * NJ * t, k / 4) : B::at(k, n / 4 + NJ / 2 * t)};
}

template <class A, class B, int NJ>
DEV Origin origin(BF16, uint32_t m, uint32_t n, uint32_t k) {
  const uint32_t row = threadIdx.x % 8, lo = threadIdx.x / 8 % 2,
                 hi = threadIdx.x / 16 % 2;  // a lane gives row `row` of matrix 2·hi + lo
  return {A::K_FASTEST ? A::at(m + 8 * lo + row, k / 8 + hi) : A::at(k + 8 * hi + row, m / 8 + lo),
          B::K_FASTEST ? B::at(n + 8 * hi + row, k / 8 + lo) : B::at(k + 8 * lo + row, n / 8 + hi)};
}

// multiply adds the product of 16 of the depth, from k on, to acc.
//
// tf32: 2·MI + NJ reads of 16 bytes for 2·MI·NJ mma.
template <class A, class B, int MI, int NJ>
DEV void multiply(TF32, float (&acc)[MI][NJ][4], const unsigned char *stage_a, const unsigned char *stage_b, Origin at,
                  uint32_t k) {
  const uint4 *a = reinterpret_cast<const uint4 *>(stage_a), *b = reinterpret_cast<const uint4 *>(stage_b);
  const uint32_t at_a = kept(at.a), at_b = kept(at.b);
  uint32_t fb[NJ][4]; // [column block][k - 4t]
  if constexpr (B::K_FASTEST) {
#pragma unroll
    for (int j = 0; j < NJ; j++) read_row(fb[j], b[B::beside(at_b, NJ == 8 ? 32 * (j / 4) + j % 4 : j, k / 4)]);
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      if constexpr (NJ % 4 == 0) {
#pragma unroll
        for (int j = 0; j < NJ; j += 4) read_column(fb, j, e, b[B::beside(at_b, k + e, 2 * j)]);
      } else {
        static_assert(NJ == 2, "columns of a lane are one vector");
        const uint2 v = reinterpret_cast<const uint2 *>(b)[2 * B::beside(at_b, k + e, 0) + threadIdx.x / 4 % 2];
        fb[0][e] = v.x, fb[1][e] = v.y;
      }
    }
  }
  constexpr int BLOCKS = A::K_FASTEST ? 1 : 2; // of rows at a time: few registers
#pragma unroll
  for (int i0 = 0; i0 < MI; i0 += BLOCKS) {
    uint32_t fa[2 * BLOCKS][4]; // [row][k - 4t]
    if constexpr (A::K_FASTEST) {
#pragma unroll
      for (int r = 0; r < 2; r++) read_row(fa[r], a[A::beside(at_a, 16 * i0 + 8 * r, k / 4)]);
    } else {
#pragma unroll
      for (int e = 0; e < 4; e++) read_column(fa, 0, e, a[A::beside(at_a, k + e, 4 * i0)]);
    }
#pragma unroll
    for (int h = 0; h < 4; h += 2)
#pragma unroll
      for (int i = 0; i < BLOCKS; i++)
#pragma unroll
        for (int j = 0; j < NJ; j++)
          mma_tf32_16x8x8(acc[i0 + i][j], {fa[2 * i][h], fa[2 * i + 1][h], fa[2 * i][h + 1], fa[2 * i + 1][h + 1]},
                          {fb[j][h], fb[j][h + 1]});
  }
}

// fp32: 4·(2·MI + 2·NJ) reads of 16 bytes for 64·MI·NJ multiply-adds, in the order of k.
template <class A, class B, int MI, int NJ>
DEV void multiply(FP32, float (&acc)[MI][NJ][4], const unsigned char *stage_a, const unsigned char *stage_b, Origin at,
                  uint32_t k) {
  static_assert(NJ <= 4, "columns of a lane are neighbours");
  const uint4 *a = reinterpret_cast<const uint4 *>(stage_a), *b = reinterpret_cast<const uint4 *>(stage_b);
  const uint32_t at_a = at.a, at_b = at.b;
#pragma unroll 1 // registers for one q, not for four
  for (uint32_t q = k / 4; q < k / 4 + 4; q++) {
    uint32_t fa[2 * MI][4], fb[2 * NJ][4]; // [row][k - 4q], [column][k - 4q]
    if constexpr (A::K_FASTEST) {
#pragma unroll
      for (int r = 0; r < 2 * MI; r++) read_row(fa[r], a[A::beside(at_a, 8 * r, q)]);
    } else {
#pragma unroll
      for (int r = 0; r < 2 * MI; r += 4)
#pragma unroll
        for (int e = 0; e < 4; e++) read_column(fa, r, e, a[A::beside(at_a, 4 * q + e, 2 * r)]);
    }
    if constexpr (B::K_FASTEST) {
#pragma unroll
      for (int c = 0; c < 2 * NJ; c++) read_row(fb[c], b[B::beside(at_b, c, q)]);
    } else {
#pragma unroll
      for (int c = 0; c < 2 * NJ; c += 4)
#pragma unroll
        for (int e = 0; e < 4; e++) read_column(fb, c, e, b[B::beside(at_b, 4 * q + e, c / 4)]);
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
      for (int r = 0; r < 2 * MI; r++)
#pragma unroll
        for (int c = 0; c < 2 * NJ; c++) {
          float &sum = acc[r / 2][c % NJ][r % 2 * 2 + c / NJ];
          sum = fmaf_(bits_float(fa[r][e]), bits_float(fb[c][e]), sum);
        }
  }
}

// bf16: MI + NJ/2 reads of four 8×8 matrices for MI·NJ mma. Rows, columns and k are in the order of mma.
template <class A, class B, int MI, int NJ>
DEV void multiply(BF16, float (&acc)[MI][NJ][4], const unsigned char *stage_a, const unsigned char *stage_b, Origin at,
                  uint32_t k) {
  const uint32_t a = smem_u32(stage_a), b = smem_u32(stage_b), at_a = kept(at.a), at_b = kept(at.b);
  uint32_t fb[NJ / 2][4];
#pragma unroll
  for (int j = 0; j < NJ / 2; j++) { // matrices: k 0-7 and 8-15 of columns 0-7, then of columns 8-15
    if constexpr (B::K_FASTEST)
      ldmatrix_x4(fb[j], b + 16 * B::beside(at_b, 16 * j, k / 8));
    else
      ldmatrix_x4_trans(fb[j], b + 16 * B::beside(at_b, k, 2 * j));
  }
#pragma unroll
  for (int i = 0; i < MI; i++) {
    uint32_t fa[4]; // matrices: rows 0-7 and 8-15 of k 0-7, then of k 8-15
    if constexpr (A::K_FASTEST)
      ldmatrix_x4(fa, a + 16 * A::beside(at_a, 16 * i, k / 8));
    else
      ldmatrix_x4_trans(fa, a + 16 * A::beside(at_a, k, 2 * i));
#pragma unroll
    for (int j = 0; j < NJ; j++) mma_bf16_16x8x16(acc[i][j], fa, {fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]});
  }
}
