// The tile product, which fully connected layers and conv2d share: one block computes a BM×BN tile of c = a·b over the
// whole depth.
//
// a [M,depth] and b [depth,N] lie in global memory, either axis fastest. cp.async copies stages of BK along the depth
// to shared memory, STAGES − 1 ahead of the arithmetic. Warps of WM×WN share a stage. With SLICES > 1, groups of warps
// take a share of the depth of every stage each, and their sums are added in order at the end: for a long depth and few
// tiles. Shapes and precision alone decide all of it: the same bits on every card in fp32, else on cards of one sm_XX.
#pragma once
#include "gemm_multiply.cuh"
#include "gemm_stage.cuh"

template <int BM_, int BN_, int BK_, int WM_, int WN_, int SLICES_, int STAGES_>
struct Tile {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, SLICES = SLICES_, STAGES = STAGES_;
  static constexpr int THREADS = 32 * (BM / WM) * (BN / WN) * SLICES;
  // The sums of a thread: the blocks of mma, row by row of the first operand, or as multiply_fp32 has them.
  typedef float Sums[WM / 16 * (WN / 8)][4];
  // The stages of the operands: BM rows of a, BN columns of b. Weights are a b that is not rounded in memory.
  template <class P, bool K_FASTEST> using A = Operand<P, BM, BK, THREADS, K_FASTEST, false>;
  template <class P, bool K_FASTEST> using B = Operand<P, BN, BK, THREADS, K_FASTEST, false>;
  template <class P, bool K_FASTEST> using Weights = Operand<P, BN, BK, THREADS, K_FASTEST, true>;
  static_assert(BK / SLICES % 16 == 0, "a slice multiplies 16 of the depth at a time");
};

// Place is where the sums of a thread belong: the tile of its warp begins at (m,n) of the tile of the block.
struct Place {
  uint32_t slice, m, n;
};

template <class T>
DEV Place place() {
  constexpr uint32_t across = T::BN / T::WN, warps = T::BM / T::WM * across;
  uint32_t warp = threadIdx.x / 32, w = warp % warps;
  return {warp / warps, w / across * T::WM, w % across * T::WN};
}

// column_sum returns sum plus this thread's share of column threadIdx.x % BN of b: BK·BN/THREADS rows of a stage.
template <class P, class T, class B>
DEV float column_sum(float sum, const unsigned char *stage) {
  constexpr uint32_t rows = T::BK * T::BN / T::THREADS;
  const uint32_t column = threadIdx.x % T::BN, first = threadIdx.x / T::BN * rows;
#pragma unroll 16
  for (uint32_t i = 0; i < rows; i++) {
    const unsigned char *chunk = stage + B::at(first + i, column / B::CHUNK);
    sum += P::load(reinterpret_cast<const typename P::act *>(chunk)[column % B::CHUNK]);
  }
  return sum;
}

// multiply_stages adds the products of `steps` stages to acc. copy(to_a, to_b, step) must begin to copy a stage, and is
// called for each in turn; use(b) may read the stage of b that has arrived. When multiply_stages returns, other threads
// may still be reading the stages.
template <class P, class T, class A, class B, class Copy, class Use>
DEV void multiply_stages(typename T::Sums &acc, unsigned char *shared, uint32_t steps, Copy copy, Use use) {
  constexpr uint32_t STAGE = A::BYTES + B::BYTES;
  const Place at = place<T>();
  const Origin from = origin<P, T, A, B>(at.m, at.n, at.slice * (T::BK / T::SLICES));
#pragma unroll 1
  for (uint32_t ahead = 0; ahead < steps + T::STAGES - 1; ahead++) { // one loop: `copy` is inlined once
    named<T::BM, T::BN>();
    const bool begun = ahead >= T::STAGES - 1;
    if (begun) {
      cp_async_wait<T::STAGES - 2>();
      __syncthreads(); // everyone's copies have arrived, everyone has used the last stage
    }
    if (ahead < steps) {
      unsigned char *to = shared + ahead % T::STAGES * STAGE;
      copy(to, to + A::BYTES, ahead);
    }
    cp_async_commit();
    if (!begun) continue;
    const uint32_t stage = (ahead + 1) % T::STAGES * STAGE;
    const Origin first = {stage + from.a, stage + A::BYTES + from.b};
#pragma unroll
    for (uint32_t k = 0; k < T::BK / T::SLICES; k += 16) multiply<P, T, A, B>(acc, shared, first, k);
    use(shared + stage + A::BYTES);
  }
  cp_async_wait<0>();
}

// multiply_tile adds the product of the rows of a from m0 on and the columns of b from n0 on to acc, over `depth` from
// k0 on. With `sums` it also adds this thread's share of a column of b to sum.
template <class P, class T, class A, class B>
DEV void multiply_tile(typename T::Sums &acc, float &sum, bool sums, unsigned char *shared,
                       const Source<typename P::act> &a, const Source<typename P::act> &b, uint32_t m0, uint32_t n0,
                       uint32_t k0, uint32_t depth) {
  multiply_stages<P, T, A, B>(
      acc, shared, (depth + T::BK - 1) / T::BK,
      [&](unsigned char *to_a, unsigned char *to_b, uint32_t step) INLINE {
        copy_tile<A>(to_a, a, m0, k0 + step * T::BK);
        copy_tile<B>(to_b, b, n0, k0 + step * T::BK);
      },
      [&](const unsigned char *stage_b) INLINE {
        if (sums) sum = column_sum<P, T, B>(sum, stage_b);
      });
}

// add_slices adds the sums of the other slices to the sums of slice 0, in order. All threads must call it. It waits
// for all of them, and then overwrites shared memory.
template <class T>
DEV void add_slices(typename T::Sums &acc, unsigned char *shared) {
  if constexpr (T::SLICES > 1) {
    constexpr uint32_t threads = T::THREADS / T::SLICES, vectors = sizeof(acc) / 16;
    const uint32_t slice = threadIdx.x / threads, thread = threadIdx.x % threads;
    float4 *sums = reinterpret_cast<float4 *>(shared); // [SLICES-1][vectors][threads]
    __syncthreads();
    if (slice > 0) {
#pragma unroll
      for (uint32_t v = 0; v < vectors; v++) {
        const float(&d)[4] = acc[v];
        sums[((slice - 1) * vectors + v) * threads + thread] = {d[0], d[1], d[2], d[3]};
      }
    }
    __syncthreads();
    if (slice == 0) {
#pragma unroll
      for (uint32_t s = 0; s < T::SLICES - 1; s++) {
#pragma unroll
        for (uint32_t v = 0; v < vectors; v++) {
          float4 d = sums[(s * vectors + v) * threads + thread];
          float(&to)[4] = acc[v];
          to[0] += d.x, to[1] += d.y, to[2] += d.z, to[3] += d.w;
        }
      }
    }
  }
}

// store_width is how many neighbours of a row store_tile hands out at a time.
template <class P> constexpr int store_width = by_mma<P> ? 2 : 4;

// store_tile hands out the sums of a thread, store_width neighbours of a row at a time. It calls column(n) once for
// columns n … n+store_width−1, then row(m, n, v) for each row m, with the sums v. Rows and columns count from the
// block's tile.
template <class P, class T, class A, class B, class Column, class Row>
DEV void store_tile(const typename T::Sums &acc, const Place &at, Column column, Row row) {
  const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  if constexpr (!by_mma<P>) {
    store_tile_fp32<T, A>(acc, at.m, at.n, column, row);
  } else if constexpr (transposed<A, B>) {
    constexpr int J = T::WM / 8;
#pragma unroll
    for (int i = 0; i < T::WN / 16; i++) {
      const uint32_t n = at.n + 16 * i + 2 * g;
      column(n);
#pragma unroll
      for (int m = 0; m < T::WM / 4; m++) {
        const float(&d)[4] = acc[i * J + m / 2];
        float v[2] = {d[m % 2], d[m % 2 + 2]};
        row(at.m + m / 2 * 8 + 2 * t + m % 2, n, v);
      }
    }
  } else {
    constexpr int J = T::WN / 8;
#pragma unroll
    for (int j = 0; j < J; j++) {
      const uint32_t n = at.n + 8 * j + 2 * t;
      column(n);
#pragma unroll
      for (int m = 0; m < T::WM / 8; m++) {
        const float(&d)[4] = acc[m / 2 * J + j];
        float v[2] = {d[m % 2 * 2], d[m % 2 * 2 + 1]};
        row(at.m + m / 2 * 16 + (in_pairs<A> ? 2 * g + m % 2 : m % 2 * 8 + g), n, v);
      }
    }
  }
}

// store_row writes v to columns n … of a row of `columns` floats, as a vector if `aligned` says that all vectors fit.
template <int N>
DEV void store_row(float *row, uint32_t n, uint32_t columns, bool aligned, const float (&v)[N]) {
  if (aligned) {
    if (n < columns) {
      if constexpr (N == 4)
        write_vector(row + n, float4{v[0], v[1], v[2], v[3]});
      else
        write_vector(row + n, float2{v[0], v[1]});
    }
  } else {
#pragma unroll
    for (uint32_t x = 0; x < N; x++)
      if (n + x < columns) row[n + x] = v[x];
  }
}

// store_act is store_row for activations, which it rounds to the precision.
template <class P, int N>
DEV void store_act(typename P::act *row, uint32_t n, uint32_t columns, bool aligned, const float (&v)[N]) {
  if constexpr (sizeof(typename P::act) == 4) {
    float rounded[N];
#pragma unroll
    for (int x = 0; x < N; x++) rounded[x] = P::store(v[x]);
    store_row(row, n, columns, aligned, rounded);
  } else if (aligned) {
    if (n < columns) *reinterpret_cast<uint32_t *>(row + n) = pack_bf16(v[0], v[1]);
  } else {
#pragma unroll
    for (uint32_t x = 0; x < N; x++)
      if (n + x < columns) row[n + x] = P::store(v[x]);
  }
}

// vectors_fit returns whether every row of `columns` elements of `bytes`, from p on, begins at a multiple of N
// elements.
template <int N>
DEV bool vectors_fit(const void *p, uint32_t columns, uint32_t bytes) {
  return (reinterpret_cast<uint64_t>(p) | uint64_t(columns) * bytes) % (N * bytes) == 0;
}
