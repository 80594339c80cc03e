// The arithmetic of a tile product: 16 of the depth, from shared memory to a warp's sums.
//
// The sums of a warp lie as mma.sync leaves them, in every precision: lane 4g+t has in acc[i][j][2h+c] row g of half h of row block i
// (r = 2i+h) and column 2t+c of column block j. Which rows and columns of the tile these are is free, and chosen so that the float
// precisions read 16 bytes at a time: column 2t+c of block j is column NJ(2t+c)+j, so that a lane has 2NJ neighbours, and of eight blocks
// the last four lie 32 columns behind the first; rows are 8r+g, or 4g + r%4 + 32(r/4) where a has its rows along memory; and within 16 of
// the depth, k = 4t … 4t+3 are the four that mma wants of lane t.
#pragma once
#include "gemm_stage.cuh"

// Lanes says which rows and columns a lane has; WIDTH neighbours at a time.
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

// read_row: to[0 … 3] = the words of a chunk; read_column: to[first … first+3][e] = the words of a chunk.
DEV void read_row(uint32_t (&to)[4], const uint4 &v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; }
template <int N>
DEV void read_column(uint32_t (&to)[N][4], int first, int e, const uint4 &v) {
  to[first][e] = v.x, to[first + 1][e] = v.y, to[first + 2][e] = v.z, to[first + 3][e] = v.w;
}

// tf32: 2·MI + NJ reads of 16 bytes for 2·MI·NJ mma.
template <class A, class B, int MI, int NJ>
DEV void multiply(TF32, float (&acc)[MI][NJ][4], const unsigned char *stage_a, const unsigned char *stage_b, uint32_t m, uint32_t n,
                  uint32_t k) {
  const uint4 *a = reinterpret_cast<const uint4 *>(stage_a), *b = reinterpret_cast<const uint4 *>(stage_b);
  const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  uint32_t fa[2 * MI][4], fb[NJ][4]; // [row][k - 4t], [column block][k - 4t]
  if constexpr (A::K_FASTEST) {
#pragma unroll
    for (int r = 0; r < 2 * MI; r++) read_row(fa[r], a[A::at(m + 8 * r + g, k / 4 + t)]);
  } else {
#pragma unroll
    for (int r = 0; r < 2 * MI; r += 4)
#pragma unroll
      for (int e = 0; e < 4; e++) read_column(fa, r, e, a[A::at(k + 4 * t + e, m / 4 + 2 * r + g)]);
  }
  if constexpr (B::K_FASTEST) {
#pragma unroll
    for (int j = 0; j < NJ; j++) read_row(fb[j], b[B::at(n + (NJ == 8 ? 32 * (j / 4) + 4 * g + j % 4 : NJ * g + j), k / 4 + t)]);
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      if constexpr (NJ % 4 == 0) {
#pragma unroll
        for (int j = 0; j < NJ; j += 4) read_column(fb, j, e, b[B::at(k + 4 * t + e, n / 4 + 2 * j + g)]);
      } else {
        static_assert(NJ == 2, "columns of a lane are one vector");
        const uint2 v = reinterpret_cast<const uint2 *>(b)[2 * B::at(k + 4 * t + e, n / 4 + g / 2) + g % 2];
        fb[0][e] = v.x, fb[1][e] = v.y;
      }
    }
  }
#pragma unroll
  for (int h = 0; h < 4; h += 2)
#pragma unroll
    for (int i = 0; i < MI; i++)
#pragma unroll
      for (int j = 0; j < NJ; j++)
        mma_tf32_16x8x8(acc[i][j], {fa[2 * i][h], fa[2 * i + 1][h], fa[2 * i][h + 1], fa[2 * i + 1][h + 1]}, {fb[j][h], fb[j][h + 1]});
}

// fp32: 4·(2·MI + 2·NJ) reads of 16 bytes for 64·MI·NJ multiply-adds, k upwards.
template <class A, class B, int MI, int NJ>
DEV void multiply(FP32, float (&acc)[MI][NJ][4], const unsigned char *stage_a, const unsigned char *stage_b, uint32_t m, uint32_t n,
                  uint32_t k) {
  static_assert(NJ <= 4, "columns of a lane are neighbours");
  const uint4 *a = reinterpret_cast<const uint4 *>(stage_a), *b = reinterpret_cast<const uint4 *>(stage_b);
  const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (uint32_t q = k / 4; q < k / 4 + 4; q++) {
    uint32_t fa[2 * MI][4], fb[2 * NJ][4]; // [row][k - 4q], [column][k - 4q]
    if constexpr (A::K_FASTEST) {
#pragma unroll
      for (int r = 0; r < 2 * MI; r++) read_row(fa[r], a[A::at(m + 8 * r + g, q)]);
    } else {
#pragma unroll
      for (int r = 0; r < 2 * MI; r += 4)
#pragma unroll
        for (int e = 0; e < 4; e++) read_column(fa, r, e, a[A::at(4 * q + e, m / 4 + 2 * r + g)]);
    }
    if constexpr (B::K_FASTEST) {
#pragma unroll
      for (int c = 0; c < 2 * NJ; c++) read_row(fb[c], b[B::at(n + 2 * NJ * t + c, q)]);
    } else {
#pragma unroll
      for (int c = 0; c < 2 * NJ; c += 4)
#pragma unroll
        for (int e = 0; e < 4; e++) read_column(fb, c, e, b[B::at(4 * q + e, n / 4 + NJ / 2 * t + c / 4)]);
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

// bf16: MI + NJ/2 reads of four 8×8 matrices for MI·NJ mma; rows, columns and k as mma has them.
template <class A, class B, int MI, int NJ>
DEV void multiply(BF16, float (&acc)[MI][NJ][4], const unsigned char *stage_a, const unsigned char *stage_b, uint32_t m, uint32_t n,
                  uint32_t k) {
  const uint32_t a = smem_u32(stage_a), b = smem_u32(stage_b);
  const uint32_t lane = threadIdx.x % 32, row = lane % 8, q = lane / 8; // the row of matrix q that this lane names
  uint32_t fa[MI][4], fb[NJ / 2][4];
#pragma unroll
  for (int i = 0; i < MI; i++) { // matrices: rows 0-7 and 8-15 of k 0-7, then of k 8-15
    if constexpr (A::K_FASTEST)
      ldmatrix_x4(fa[i], a + 16 * A::at(m + 16 * i + q % 2 * 8 + row, k / 8 + q / 2));
    else
      ldmatrix_x4_trans(fa[i], a + 16 * A::at(k + q / 2 * 8 + row, m / 8 + 2 * i + q % 2));
  }
#pragma unroll
  for (int j = 0; j < NJ / 2; j++) { // matrices: k 0-7 and 8-15 of columns 0-7, then of columns 8-15
    if constexpr (B::K_FASTEST)
      ldmatrix_x4(fb[j], b + 16 * B::at(n + 16 * j + q / 2 * 8 + row, k / 8 + q % 2));
    else
      ldmatrix_x4_trans(fb[j], b + 16 * B::at(k + q % 2 * 8 + row, n / 8 + 2 * j + q / 2));
  }
#pragma unroll
  for (int i = 0; i < MI; i++)
#pragma unroll
    for (int j = 0; j < NJ; j++) mma_bf16_16x8x16(acc[i][j], fa[i], {fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]});
}
