// An operand of a tile product in shared memory: how it lies there, and how it gets there.
#pragma once
#include "precision.cuh"

// by_mma says whether products run on tensor cores.
template <class P> constexpr bool by_mma = true;
template <> constexpr bool by_mma<FP32> = false;

// A stage of an operand: SIZE rows of a (or columns of b) by DEPTH, k fastest in memory or not, copied by THREADS
// threads. With ROUND, tf32 rounds the elements when it reads them from the stage: they are not rounded in memory.
//
// A stage has the order of global memory, in chunks of 16 bytes. The chunks are swizzled, so that what a warp reads at
// once lies in different banks:
//   bf16; tf32, k fastest    ldmatrix reads one chunk of 8 rows
//   tf32, k slowest          lanes (g,t) read word g, or words 2g and 2g+1, of row t
//   fp32                     lanes (g,t) read one chunk of rows g or 8t, or chunks of one row
template <class P, int SIZE_, int DEPTH_, int THREADS_, bool K_FASTEST_, bool ROUND_>
struct Operand {
  typedef typename P::act act;
  static constexpr bool K_FASTEST = K_FASTEST_, ROUND = ROUND_;
  static constexpr uint32_t THREADS = THREADS_, CHUNK = 16 / sizeof(act);
  static constexpr uint32_t ROWS = K_FASTEST ? SIZE_ : DEPTH_, COLUMNS = K_FASTEST ? DEPTH_ : SIZE_;
  static constexpr uint32_t ROW_CHUNKS = COLUMNS / CHUNK, BYTES = ROWS * ROW_CHUNKS * 16;
  static_assert(!K_FASTEST || ROW_CHUNKS >= 8, "a row covers the banks");
  static_assert(THREADS % ROW_CHUNKS == 0 && ROWS * ROW_CHUNKS % THREADS == 0, "threads copy equal shares");

  // swizzle returns the bits by which the chunks of a row are moved. Each of them is a function of single bits of row.
  DEV constexpr uint32_t swizzle(uint32_t row) {
    constexpr uint32_t rows = ROW_CHUNKS < 8 ? 8 / ROW_CHUNKS : 1; // that fill the banks once
    if constexpr (!by_mma<P>)
      return K_FASTEST ? (row / 8 % 4) | ((row / 4 ^ row) & 1) * 4 : 0;
    else if constexpr (sizeof(act) == 2)
      return row / rows % (8 / rows);
    else if constexpr (K_FASTEST)
      return row % 4 * 2 | row / 4 % 2; // as with k slowest: a stage may be read both ways
    else
      return row / rows % (4 / rows) * 2;
  }

  // at returns the place of a chunk in the stage, in bytes.
  DEV uint32_t at(uint32_t row, uint32_t chunk) { return ((row * ROW_CHUNKS + chunk) ^ swizzle(row)) * 16; }

  // beside returns the place of (row | r, chunk | c), given the place `at` of (row, chunk); the two must have no bits
  // in common. `at` may count from the start of the stage or of shared memory, where stages begin at multiples of 128
  // bytes. With constants r and c that is one instruction at most; at() would take several, or registers to keep its
  // results.
  DEV uint32_t beside(uint32_t at, uint32_t r, uint32_t c) {
    const uint32_t by = r * ROW_CHUNKS;
    if constexpr (ROW_CHUNKS <= 8) return (at ^ (swizzle(r) ^ c ^ by % 8) * 16) + by / 8 * 128;
    return (at ^ (swizzle(r) ^ c % 8 ^ by % 8) * 16) + (by / 8 + c / 8) * 128;
  }
};

// The largest pieces that can be copied, by alignment: 16 bytes, 4 bytes, or single elements of 2 bytes.
enum class Piece { CHUNK, WORD, ELEMENT };

// Source is a matrix in global memory, row by row without gaps.
template <class act_>
struct Source {
  const act_ *p;
  uint32_t rows, columns;
  Piece piece;
};

template <class act>
DEV Source<act> source(const void *p, size_t offset, uint32_t rows, uint32_t columns) {
  const act *q = static_cast<const act *>(p) + offset;
  uint64_t bits = reinterpret_cast<uint64_t>(q) | uint64_t(columns) * sizeof(act);
  return {q, rows, columns, bits % 16 == 0 ? Piece::CHUNK : bits % 4 == 0 ? Piece::WORD : Piece::ELEMENT};
}

// copy_chunk copies the chunk at (row, column) word by word, with zeros outside of the matrix.
template <class act>
DEV void copy_chunk(unsigned char *to, const Source<act> &s, uint32_t row, uint32_t column) {
  const act *from = s.p + size_t(row) * s.columns + column;
  const uint32_t left = kept(row < s.rows && column < s.columns ? s.columns - column : 0), shared = smem_u32(to);
#pragma unroll 1
  for (uint32_t byte = 0; byte < 16; byte += 4) {
    const uint32_t at = kept(byte), e = at / sizeof(act);  // no pointer moves along
    if (sizeof(act) == 4 || s.piece == Piece::WORD) {
      cp_async4(shared + at, from + e, e < left);
    } else if constexpr (sizeof(act) == 2) {
      const uint32_t lo = e < left ? from[e] : 0, hi = e + 1 < left ? from[e + 1] : 0;
      *reinterpret_cast<uint32_t *>(to + at) = lo | hi << 16;
    }
  }
}

// copy_rows begins to copy the chunks at `from` and in every STEP-th row behind it, whose rows are `row_bytes` apart: those
// of the first `rows` rows, and zeros behind them. `rows` may be below 0. `to` is the stage, `at` the place of the first
// chunk.
template <class O>
DEV void copy_rows(unsigned char *to, uint32_t at, const typename O::act *from, uint32_t row_bytes, uint32_t rows) {
  constexpr uint32_t STEP = O::THREADS / O::ROW_CHUNKS; // rows that all threads copy at once
  const unsigned char *bytes = reinterpret_cast<const unsigned char *>(from);
  // Both are kept so that a chunk takes three instructions, and no register from one stage to the next.
  const uint32_t shared = smem_u32(to), stride = kept(row_bytes), end = kept(rows);
#pragma unroll
  for (uint32_t r = 0; r < O::ROWS; r += STEP)
    cp_async16(shared + O::beside(at, r, 0), bytes + uint64_t(stride) * r, int32_t(r) < int32_t(end));
}

// copy_tile begins to copy a stage: rows (of a) or columns (of b) from `first` on, and from k on along the depth.
template <class O>
DEV void copy_tile(unsigned char *to, const Source<typename O::act> &s, uint32_t first, uint32_t k) {
  constexpr uint32_t STEP = O::THREADS / O::ROW_CHUNKS;
  const uint32_t row0 = O::K_FASTEST ? first : k, column0 = O::K_FASTEST ? k : first;
  const uint32_t row = threadIdx.x / O::ROW_CHUNKS, chunk = threadIdx.x % O::ROW_CHUNKS,
                 column = column0 + chunk * O::CHUNK;
  if (s.piece == Piece::CHUNK) {
    const uint32_t begin = row0 + row;
    copy_rows<O>(to, kept(O::at(row, chunk)), s.p + size_t(begin) * s.columns + column,
                 s.columns * sizeof(typename O::act), column < s.columns ? s.rows - begin : 0);
  } else {
#pragma unroll 1
    for (uint32_t r = row; r < O::ROWS; r += STEP) copy_chunk(to + O::at(r, chunk), s, row0 + r, column);
  }
}
