// What the parts of the head share: its arguments, its tiles, and its places in shared memory.
#pragma once
#include "gemm_update.cuh"
#include "softmax.cuh"
#include "work.cuh"

struct HeadArgs {
  const Work *work;
  const void *x;                  // [K,B,I] act: the output of a ReLU
  const int32_t *labels;          // [K,B]; -1: the sample does not count
  void *dx;                       // [K,B,I] act: the gradient in front of the ReLU of x
  float *loss;                    // [E,capacity]
  float *grad;                    // [K,P] dw1, db1, dw2 and db2 at the offsets of the weights; null: these are updated
  uint32_t w1_offset, b1_offset;  // of w1 [I,J] and b1 [J] in a row
  uint32_t w2_offset, b2_offset;  // of w2 [J,O] and b2 [O] in a row
  uint32_t B, I, J, O, P;
  uint32_t step, E;
  uint32_t capacity;              // slots that there is room for
};

// A block takes a whole batch of at most ROWS samples, with at most HIDDEN and OUTPUTS outputs of the two layers, and
// INPUTS inputs at a time; head.go has the same numbers.
constexpr uint32_t HEAD_THREADS = 256, ROWS = 128, INPUTS = 128, HIDDEN = 64, OUTPUTS = 16;

// Turned is the same matrix in shared memory with its other axis along the depth of the product.
template <class O>
struct Turned : O {
  static constexpr bool K_FASTEST = !O::K_FASTEST;
};

// along returns the place of a lane k further along the depth, a multiple of 16, given its place at depth 0.
template <class O>
DEV uint32_t along(uint32_t at, uint32_t k) {
  return O::K_FASTEST ? O::beside(at, 0, k / O::CHUNK) : O::beside(at, k, 0);
}

// Head has the tiles of the products, the matrices in shared memory, and where these begin.
template <class P>
struct Head {
  typedef typename P::act act;
  // The tiles add in the order of the tiles in linear.cuh.
  using Forward = Tile<ROWS, HIDDEN, 128 / (int)sizeof(act), 64, 32, 2, 3>;  // h [b,j]
  using Classify = Tile<ROWS, OUTPUTS, 16, 16, 16, 1, 1>;                    // logits [b,o]
  using Filter2 = Tile<HIDDEN, OUTPUTS, 64, 32, 16, 4, 1>;                   // dw2 [j,o]
  using Hidden = Tile<ROWS, 32, OUTPUTS, 16, 32, 1, 1>;                      // half of the columns of dh [b,j]
  using Data1 = Tile<ROWS, INPUTS, HIDDEN, 64, 32, 1, 1>;                    // dx [b,i]
  using Filter1 = Tile<INPUTS, HIDDEN, ROWS, 32, 32, 1, 1>;                  // dw1 [i,j]

  using H = Operand<P, ROWS, HIDDEN, HEAD_THREADS, true, false>;             // h, later dh [ROWS,HIDDEN]
  using W2 = Operand<P, OUTPUTS, HIDDEN, HEAD_THREADS / 2, false, false>;    // w2 [HIDDEN,OUTPUTS]
  using DLogits = Operand<P, OUTPUTS, ROWS, HEAD_THREADS, false, false>;     // dlogits [ROWS,OUTPUTS]
  using W1 = Operand<P, INPUTS, HIDDEN, HEAD_THREADS, true, true>;           // w1 [INPUTS,HIDDEN]
  using X = Operand<P, INPUTS, ROWS, HEAD_THREADS, false, false>;            // x [ROWS,INPUTS]
  using XHalf = Operand<P, INPUTS, ROWS / 2, HEAD_THREADS, false, false>;    // half of the rows of X

  // The sums of h have rows that begin in different banks.
  static constexpr uint32_t H_SUMS_ROW = HIDDEN + (sizeof(act) == 4 ? 4 : 8);

  // What lives at the same time: h, the room for sums, w2, dlogits and w1; then dh, x and w1, where the second half of
  // x takes the place of w1. In the beginning the stages of the forward product lie over all of them.
  static constexpr uint32_t STAGES = Forward::STAGES * (Forward::BM + Forward::BN) * 128;
  static constexpr uint32_t SUMS = H::BYTES, SUMS_BYTES = 3 * HIDDEN * OUTPUTS * 4;
  static constexpr uint32_t W2_AT = SUMS + SUMS_BYTES, DLOGITS_AT = W2_AT + W2::BYTES;
  static constexpr uint32_t HALF = XHalf::BYTES, FREE = DLOGITS_AT + DLogits::BYTES;
  static constexpr uint32_t LATER = (FREE > H::BYTES + HALF ? FREE : H::BYTES + HALF) + HALF;
  static constexpr uint32_t BYTES = LATER > STAGES ? LATER : STAGES;
  static constexpr uint32_t W1_AT = BYTES - HALF, X_AT = BYTES - 2 * HALF;
  static_assert(W1::BYTES == HALF, "the second half of x takes the place of w1");
  static_assert(SUMS + ROWS * H_SUMS_ROW * 4 <= BYTES, "the sums of h, or of a slice of Forward, fit behind h");
};

// element returns the place of an element of a matrix in shared memory.
template <class O>
DEV typename O::act *element(unsigned char *matrix, uint32_t row, uint32_t column) {
  return reinterpret_cast<typename O::act *>(matrix + O::at(row, column / O::CHUNK)) + column % O::CHUNK;
}

// read_act and write_act move neighbours of a row in shared memory.
template <class P, int N>
DEV void read_act(float (&v)[N], const typename P::act *from) {
  if constexpr (N == 4) {
    const float4 f = read_vector<float4>(from);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
  } else if constexpr (sizeof(typename P::act) == 4) {
    const float2 f = read_vector<float2>(from);
    v[0] = f.x, v[1] = f.y;
  } else {
    const uint32_t pair = *reinterpret_cast<const uint32_t *>(from);
    v[0] = bf16_lo(pair), v[1] = bf16_hi(pair);
  }
}

template <class P, int N>
DEV void write_act(typename P::act *to, const float (&v)[N]) {
  store_act<P>(to, 0, N, true, v);
}

// close sets the gradients v of neighbours to 0 where the outputs y of their ReLU are 0.
template <int N>
DEV void close(float (&v)[N], const float (&y)[N]) {
#pragma unroll
  for (int n = 0; n < N; n++) v[n] = y[n] <= 0 ? 0 : v[n];
}
