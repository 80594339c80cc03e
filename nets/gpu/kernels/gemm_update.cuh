// The end of a tile product that is a gradient of weights.
#pragma once
#include "gemm.cuh"
#include "update.cuh"

// Part is where the tile of a block belongs: row m0, column n0 of a matrix [M,N], whose elements begin at `first` among
// those that a Sink takes.
struct Part {
  uint32_t first, m0, n0, M, N;
};

// row_stride returns how many floats lie between rows of a tile of sums in shared memory, so that neighbouring rows
// begin in other banks.
template <class T> DEV constexpr uint32_t row_stride() { return T::BN + 4; }

// take_vectors hands HEIGHT rows of sums to a Sink, N neighbours at a time. Neighbouring threads take neighbouring
// vectors. row_of(i) is the row of the matrix that row i of the product is.
template <class P, class T, uint32_t HEIGHT, int N, class RowOf>
DEV void take_vectors(const Sink<P> &to, const float *tile, const Part &part, RowOf row_of) {
  constexpr uint32_t ACROSS = T::BN / N, DOWN = T::THREADS / ACROSS, PASSES = HEIGHT / DOWN;
  constexpr int MOST = HEIGHT < T::BM ? 4 : 8;  // registers hold the sums of the other half
  constexpr int ROWS = PASSES < MOST ? PASSES : MOST;  // at a time
  static_assert(T::THREADS % ACROSS == 0 && PASSES % ROWS == 0, "all threads take as many vectors");
  const uint32_t n = threadIdx.x % ACROSS * N;
#pragma unroll 1
  for (uint32_t m = threadIdx.x / ACROSS; m < HEIGHT; m += ROWS * DOWN) {
    uint32_t at[ROWS];
    float g[ROWS][N];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const uint32_t row = m + r * DOWN, i = part.m0 + row, j = part.n0 + n;
      at[r] = i < part.M && j < part.N ? part.first + row_of(i) * part.N + j : NOWHERE;
      read_floats(g[r], tile + row * row_stride<T>() + n);
    }
    to.take(at, g);
  }
}

// tile_height returns how many rows of sums take the place of the stages at a time: all of them, or half.
template <class P, class T> DEV constexpr uint32_t tile_height() {
  constexpr uint32_t SHARED = T::STAGES * T::BK * (T::BM + T::BN) * sizeof(typename P::act), ROW = row_stride<T>() * 4;
  static_assert(T::BM / 2 * ROW <= SHARED, "the sums take the place of the stages");
  return T::BM * ROW <= SHARED ? T::BM : T::BM / 2;
}

// take_tile hands the sums of a block to a Sink. All threads must call it. It waits for all of them, and then
// overwrites shared memory, through which neighbouring threads get neighbouring sums, HEIGHT rows after the other.
template <class P, class T, class A, class B, uint32_t HEIGHT = tile_height<P, T>(), class RowOf>
DEV void take_tile(const Sink<P> &to, const typename T::Sums &acc, unsigned char *shared, const Part &part,
                   RowOf row_of) {
  static_assert(HEIGHT % T::WM == 0, "a warp stores all its sums at once");
  float *tile = reinterpret_cast<float *>(shared);  // [HEIGHT][BN] in rows of row_stride
  const Place at = place<T>();
  const uint32_t begin = uint32_t(reinterpret_cast<uint64_t>(to.grad)) / 4 + part.first;  // rows are aligned
  const bool aligned = (begin | part.N) % 4 == 0;
#pragma unroll 1
  for (uint32_t first = 0; first < T::BM; first += HEIGHT) {
    const Part rows = {part.first, part.m0 + first, part.n0, part.M, part.N};
    __syncthreads();
    if (at.slice == 0 && at.m - first < HEIGHT) {
      store_tile<P, T, A, B>(
          acc, {0, at.m - first, at.n}, [](uint32_t) INLINE {},
          [&](uint32_t m, uint32_t n, const float(&v)[store_width<P>])
              INLINE { write_floats(tile + m * row_stride<T>() + n, v); });
    }
    __syncthreads(); // everyone's sums
    if (aligned)
      take_vectors<P, T, HEIGHT, 4>(to, tile, rows, row_of);
    else
      take_vectors<P, T, HEIGHT, 1>(to, tile, rows, row_of);
  }
}
