// The arithmetic of a tile product in fp32: multiply-adds in the order of k.
//
// Which rows and columns of the tile the sums of a lane stand for is free, and is chosen so that a lane reads 16 bytes
// at a time. With MI×NJ blocks of 4 sums, lane (g,t) has 2·MI rows, 8r+g, or 4g + r%4 + 32(r/4) if a has its rows along
// memory, and 2·NJ neighbouring columns from 2·NJ·t on. The sum of row r and column c is
// acc[r/2·NJ + c%NJ][r%2·2 + c/NJ].
#pragma once
#include "gemm_stage.cuh"

// Origin is where a lane begins to read a and b, in bytes. Operand::beside finds all other places from it.
struct Origin {
  uint32_t a, b;
};

template <class T, class A, class B>
DEV Origin origin_fp32(uint32_t m, uint32_t n, uint32_t k) {
  constexpr uint32_t own = T::WN / 4; // columns of a lane
  const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  return {A::K_FASTEST ? A::at(m + g, k / 4) : A::at(k, m / 4 + g),
          B::K_FASTEST ? B::at(n + own * t, k / 4) : B::at(k, n / 4 + own / 4 * t)};
}

// read_row sets to[0 … 3] to the words of a chunk, read_column to[first … first+3][e].
DEV void read_row(uint32_t (&to)[4], const uint4 &v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; }
template <int N>
DEV void read_column(uint32_t (&to)[N][4], int first, int e, const uint4 &v) {
  to[first][e] = v.x, to[first + 1][e] = v.y, to[first + 2][e] = v.z, to[first + 3][e] = v.w;
}

// multiply_fp32 adds the product of 16 of the depth, from k on, to acc: 4·(2·MI + 2·NJ) reads of 16 bytes for 64·MI·NJ
// multiply-adds.
template <class T, class A, class B>
DEV void multiply_fp32(typename T::Sums &acc, const unsigned char *shared, const Origin &from, uint32_t k) {
  constexpr int MI = T::WM / 16, NJ = T::WN / 8;
  static_assert(NJ <= 4, "columns of a lane are neighbours");
  auto chunk = [&](uint32_t at) INLINE { return read_vector<uint4>(shared + at); };
#pragma unroll 1 // registers for one q, not for four
  for (uint32_t q = k / 4; q < k / 4 + 4; q++) {
    uint32_t fa[2 * MI][4], fb[2 * NJ][4]; // [row][k - 4q], [column][k - 4q]
    if constexpr (A::K_FASTEST) {
#pragma unroll
      for (int r = 0; r < 2 * MI; r++) read_row(fa[r], chunk(A::beside(from.a, 8 * r, q)));
    } else {
#pragma unroll
      for (int r = 0; r < 2 * MI; r += 4)
#pragma unroll
        for (int e = 0; e < 4; e++) read_column(fa, r, e, chunk(A::beside(from.a, 4 * q + e, 2 * r)));
    }
    if constexpr (B::K_FASTEST) {
#pragma unroll
      for (int c = 0; c < 2 * NJ; c++) read_row(fb[c], chunk(B::beside(from.b, c, q)));
    } else {
#pragma unroll
      for (int c = 0; c < 2 * NJ; c += 4)
#pragma unroll
        for (int e = 0; e < 4; e++) read_column(fb, c, e, chunk(B::beside(from.b, 4 * q + e, c / 4)));
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
      for (int r = 0; r < 2 * MI; r++)
#pragma unroll
        for (int c = 0; c < 2 * NJ; c++) {
          float &sum = acc[r / 2 * NJ + c % NJ][r % 2 * 2 + c / NJ];
          sum = fmaf_(bits_float(fa[r][e]), bits_float(fb[c][e]), sum);
        }
  }
}

// store_tile_fp32 is store_tile for these sums.
template <class T, class A, class Column, class Row>
DEV void store_tile_fp32(const typename T::Sums &acc, uint32_t m0, uint32_t n0, Column column, Row row) {
  constexpr int MI = T::WM / 16, NJ = T::WN / 8;
  const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int c = 0; c < 2 * NJ; c += 4) {
    const uint32_t n = n0 + 2 * NJ * t + c;
    column(n);
#pragma unroll
    for (int r = 0; r < 2 * MI; r++) {
      float v[4];
#pragma unroll
      for (int x = 0; x < 4; x++) v[x] = acc[r / 2 * NJ + (c + x) % NJ][r % 2 * 2 + (c + x) / NJ];
      row(m0 + (A::K_FASTEST ? 8 * r + g : r / 4 * 32 + 4 * g + r % 4), n, v);
    }
  }
}
