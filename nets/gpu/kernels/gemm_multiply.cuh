// The arithmetic of a tile product: 16 of the depth, from shared memory to the sums of a warp.
//
// mma.sync multiplies an operand of 16 rows by one of 8 columns, and wants the four and the two words of a lane in
// neighbouring registers. Loads that leave them there need no moves:
//   - ldmatrix reads 8 rows of 16 bytes with k fastest, and lane (g,t) receives word t of row g: what mma wants, with
//     bf16 and with tf32. With bf16 it also transposes rows with k slowest.
//   - tf32 with k slowest: two neighbours of a row of memory are rows g and g+8 of the operand of 16 rows, so that a
//     read of 8 bytes is half of it. The operand of 8 columns is read word by word.
// The first operand is a, but in tf32 where only b has k slowest: then b is read by 8 bytes, and the sums are those of
// the transposed product.
#pragma once
#include "gemm_multiply_fp32.cuh"

// in_pairs says whether rows g and g+8 of a first operand are neighbours 2g and 2g+1 of the tile, else they are g and
// g+8.
template <class O> constexpr bool in_pairs = sizeof(typename O::act) == 4 && !O::K_FASTEST;
// transposed says whether b is the first operand.
template <class A, class B> constexpr bool transposed = in_pairs<B> && !in_pairs<A>;

// first_origin returns where a lane begins to read a first operand, from row m of the tile and from k on; second_origin
// is the same for a second operand, from column n on. m, n and k are multiples of 16.
template <class O>
DEV uint32_t first_origin(uint32_t m, uint32_t k) {
  const uint32_t lane = threadIdx.x % 32;
  if constexpr (O::K_FASTEST) return O::at(m + lane % 16, k / O::CHUNK + lane / 16);
  if constexpr (in_pairs<O>) return O::at(k + lane % 4, m / 4 + lane / 8) + lane / 4 % 2 * 8;
  return O::at(k + lane / 16 * 8 + lane % 8, m / 8 + lane / 8 % 2);
}

template <class O>
DEV uint32_t second_origin(uint32_t n, uint32_t k) {
  const uint32_t lane = threadIdx.x % 32;
  if constexpr (O::K_FASTEST) return O::at(n + lane / 16 * 8 + lane % 8, k / O::CHUNK + lane / 8 % 2);
  if constexpr (in_pairs<O>) return O::at(k + lane % 4, n / 4 + lane / 16) + lane / 4 % 4 * 4;
  return O::at(k + lane % 16, n / 8 + lane / 16);
}

// origin returns the Origin in the tile of a warp at (m,n), from k on. m, n and k are multiples of the sizes of the
// tile.
template <class P, class T, class A, class B>
DEV Origin origin(uint32_t m, uint32_t n, uint32_t k) {
  if constexpr (!by_mma<P>)
    return origin_fp32<T, A, B>(m, n, k);
  else if constexpr (transposed<A, B>)
    return {second_origin<A>(m, k), first_origin<B>(n, k)};
  else
    return {first_origin<A>(m, k), second_origin<B>(n, k)};
}

// round_words rounds what was read of an operand, if it is not rounded in memory.
template <class O>
DEV void round_words(uint32_t (&to)[4]) {
  if constexpr (O::ROUND && sizeof(typename O::act) == 4) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = cvt_tf32(bits_float(to[i]));
  }
}

// read_first reads 16 rows of a first operand, from row m on, for one mma, and read_second 16 columns of a second one,
// for two.
template <class O>
DEV void read_first(uint32_t (&to)[4], const unsigned char *shared, uint32_t at, uint32_t m, uint32_t k) {
  if constexpr (O::K_FASTEST) {
    ldmatrix_x4(to, smem_u32(shared) + O::beside(at, m, k / O::CHUNK));
  } else if constexpr (in_pairs<O>) {
    const uint2 lo = read_vector<uint2>(shared + O::beside(at, k, m / 4)),
                hi = read_vector<uint2>(shared + O::beside(at, k + 4, m / 4));
    to[0] = lo.x, to[1] = lo.y, to[2] = hi.x, to[3] = hi.y;
  } else {
    ldmatrix_x4_trans(to, smem_u32(shared) + O::beside(at, k, m / 8));
  }
  round_words<O>(to);
}

template <class O>
DEV void read_second(uint32_t (&to)[4], const unsigned char *shared, uint32_t at, uint32_t n, uint32_t k) {
  if constexpr (O::K_FASTEST) {
    ldmatrix_x4(to, smem_u32(shared) + O::beside(at, n, k / O::CHUNK));
  } else if constexpr (in_pairs<O>) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      to[i] = *reinterpret_cast<const uint32_t *>(shared + O::beside(at, k + i % 2 * 4, n / 4 + i / 2 * 2));
  } else {
    ldmatrix_x4_trans(to, smem_u32(shared) + O::beside(at, k, n / 8));
  }
  round_words<O>(to);
}

// mma multiplies fragments of operands whose elements are stored as act.
template <class act>
DEV void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (sizeof(act) == 4)
    mma_tf32_16x8x8(d, a, b);
  else
    mma_bf16_16x8x16(d, a, b);
}

// multiply_blocks adds the product of the depth of one mma, from k on, to I×J blocks of sums: I + J/2 reads of 16 bytes
// or their like for I·J mma.
template <class First, class Second, int I, int J, int N>
DEV void multiply_blocks(float (&acc)[N][4], const unsigned char *shared, uint32_t first, uint32_t second, uint32_t k) {
  typedef typename First::act act;
  uint32_t columns[J / 2][4];
#pragma unroll
  for (int j = 0; j < J / 2; j++) read_second<Second>(columns[j], shared, second, 16 * j, k);
#pragma unroll
  for (int i = 0; i < I; i++) {
    uint32_t rows[4];
    read_first<First>(rows, shared, first, 16 * i, k);
#pragma unroll
    for (int j = 0; j < J; j++)
      mma<act>(acc[i * J + j], rows, {columns[j / 2][j % 2 * 2], columns[j / 2][j % 2 * 2 + 1]});
  }
}

// multiply adds the product of 16 of the depth, from k on, to acc.
template <class P, class T, class A, class B>
DEV void multiply(typename T::Sums &acc, const unsigned char *shared, const Origin &from, uint32_t k) {
  if constexpr (!by_mma<P>) {
    multiply_fp32<T, A, B>(acc, shared, from, k);
  } else {
    const uint32_t a = kept(from.a), b = kept(from.b);
#pragma unroll
    for (uint32_t e = k; e < k + 16; e += 2 * A::CHUNK) {
      if constexpr (transposed<A, B>)
        multiply_blocks<B, A, T::WN / 16, T::WM / 8>(acc, shared, b, a, e);
      else
        multiply_blocks<A, B, T::WM / 16, T::WN / 8>(acc, shared, a, b, e);
    }
  }
}
