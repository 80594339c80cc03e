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
  // The stages of the operands: BM rows of a, BN columns of b.
  template <class act, bool K_FASTEST> using A = Operand<act, BM, BK, THREADS, K_FASTEST>;
  template <class act, bool K_FASTEST> using B = Operand<act, BN, BK, THREADS, K_FASTEST>;
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
  const typename P::act *b = reinterpret_cast<const typename P::act *>(stage);
#pragma unroll
  for (uint32_t i = 0; i < rows; i++)
    sum += P::load(b[B::at(first + i, column / B::CHUNK) * B::CHUNK + column % B::CHUNK]);
  return sum;
}

// multiply_stages adds the products of `steps` stages to acc. copy(to_a, to_b, step) must begin to copy a stage, and is
// called for each in turn; use(b) may read the stage of b that has arrived. When multiply_stages returns, other threads
// may still be reading the stages.
template <class P, class T, class A, class B, int MI, int NJ, class Copy, class Use>
DEV void multiply_stages(float (&acc)[MI][NJ][4], unsigned char *shared, uint32_t steps, Copy copy, Use use) {
  constexpr uint32_t STAGE = A::BYTES + B::BYTES;
  const Place at = place<T>();
  const Origin from = origin<A, B, NJ>(P{}, at.m, at.n, at.slice * (T::BK / T::SLICES));
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
    const unsigned char *stage = shared + (ahead + 1) % T::STAGES * STAGE;
#pragma unroll
    for (uint32_t k = 0; k < T::BK / T::SLICES; k += 16)
      multiply<A, B>(P{}, acc, stage, stage + A::BYTES, from, k);
    use(stage + A::BYTES);
  }
  cp_async_wait<0>();
}

// multiply_tile adds the product of the rows of a from m0 on and the columns of b from n0 on to acc. With `sums` it
// also adds this thread's share of a column of b to sum.
template <class P, class T, class A, class B, int MI, int NJ>
DEV void multiply_tile(float (&acc)[MI][NJ][4], float &sum, bool sums, unsigned char *shared,
                       const Source<typename P::act> &a, const Source<typename P::act> &b, uint32_t m0, uint32_t n0,
                       uint32_t depth) {
  multiply_stages<P, T, A, B>(
      acc, shared, (depth + T::BK - 1) / T::BK,
      [&](unsigned char *to_a, unsigned char *to_b, uint32_t step) INLINE {
        copy_tile<A>(to_a, a, m0, step * T::BK);
        copy_tile<B>(to_b, b, n0, step * T::BK);
      },
      [&](const unsigned char *stage_b) INLINE {
        if (sums) sum = column_sum<P, T, B>(sum, stage_b);
      });
}

// add_slices adds the sums of the other slices to the sums of slice 0, in order. All threads must call it. It waits
// for all of them, and then overwrites shared memory.
template <class T, int MI, int NJ>
DEV void add_slices(float (&acc)[MI][NJ][4], unsigned char *shared) {
  if constexpr (T::SLICES > 1) {
    constexpr uint32_t threads = T::THREADS / T::SLICES, vectors = MI * NJ;
    const uint32_t slice = threadIdx.x / threads, thread = threadIdx.x % threads;
    float4 *sums = reinterpret_cast<float4 *>(shared); // [SLICES-1][vectors][threads]
    __syncthreads();
    if (slice > 0) {
#pragma unroll
      for (uint32_t v = 0; v < vectors; v++) {
        const float(&d)[4] = acc[v / NJ][v % NJ];
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
          float(&to)[4] = acc[v / NJ][v % NJ];
          to[0] += d.x, to[1] += d.y, to[2] += d.z, to[3] += d.w;
        }
      }
    }
  }
}

// store_tile hands out the sums of a thread, WIDTH neighbours of a row at a time (4, with bf16 2). It calls column(n)
// once for columns n … n+WIDTH−1, then row(m, n, v) for each row m, with the sums v. Rows and columns count from the
// block's tile.
template <class P, class A, int MI, int NJ, class Column, class Row>
DEV void store_tile(const float (&acc)[MI][NJ][4], const Place &at, Column column, Row row) {
  constexpr int WIDTH = Lanes<P>::WIDTH;
#pragma unroll
  for (int q = 0; q < 2 * NJ / WIDTH; q++) {
    const uint32_t n = at.n + Lanes<P>::template column<NJ>(q);
    column(n);
#pragma unroll
    for (int r = 0; r < 2 * MI; r++) {
      float v[WIDTH];
#pragma unroll
      for (int x = 0; x < WIDTH; x++) { // neighbours come from one mma tile with bf16, else from NJ tiles, or four
        constexpr int G = NJ == 8 ? 4 : NJ;
        const int c = q * WIDTH + x, j = WIDTH == 2 ? q : c / (2 * G) * G + c % G,
                  half = WIDTH == 2 ? x : c % (2 * G) / G;
        v[x] = acc[r / 2][j][r % 2 * 2 + half];
      }
      row(at.m + Lanes<P>::template row<A>(r), n, v);
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
