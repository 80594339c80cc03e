// What the parts of the head share: its arguments, its tiles, and its places in shared memory.
#pragma once
#include "gemm.cuh"
#include "softmax.cuh"
#include "work.cuh"

struct HeadArgs {
  const Work *work;
  const void *x;                  // [K,B,I] act: the output of a ReLU
  const int32_t *labels;          // [K,B]; -1: the sample does not count
  void *dx;                       // [K,B,I] act: the gradient in front of the ReLU of x
  float *loss;                    // [E,capacity]
  float *grad;                    // [K,P] dw1, db1, dw2 and db2 at the offsets of the weights
  uint32_t w1_offset, b1_offset;  // of w1 [I,J] and b1 [J] in a row
  uint32_t w2_offset, b2_offset;  // of w2 [J,O] and b2 [O] in a row
  uint32_t B, I, J, O, P;
  uint32_t step, E;
  uint32_t capacity;              // slots that there is room for
};

// A block takes a whole batch of at most ROWS samples, with at most HIDDEN and OUTPUTS outputs of the two layers, and
// INPUTS inputs at a time; head.go has the same numbers.
constexpr uint32_t HEAD_THREADS = 256, ROWS = 128, INPUTS = 128, HIDDEN = 64, OUTPUTS = 16;

// Turned is the same stage with the other axis along the depth of the product. Its swizzle is made for the first
// product: in the other one, two chunks that a warp reads at once may lie in the same banks.
template <class O>
struct Turned : O {
  static constexpr bool K_FASTEST = !O::K_FASTEST;
};

// Head has the tiles of the products, the matrices in shared memory, and where these begin.
template <class P>
struct Head {
  typedef typename P::act act;
  // The tiles sum in the order of the tiles in linear.cuh.
  using Forward = Tile<ROWS, HIDDEN, 128 / (int)sizeof(act), 64, 32, 2, 3>;  // h [b,j]
  using Filter2 = Tile<HIDDEN, OUTPUTS, 64, 32, 16, 4, 1>;                    // dw2 [j,o]
  using Data1 = Tile<ROWS, INPUTS, HIDDEN, 64, 32, 1, 1>;                     // dx [b,i]
  using Filter1 = Tile<INPUTS, HIDDEN, ROWS, 32, 32, 1, 1>;                   // dw1 [i,j]

  using Stage1 = typename Forward::template A<act, true>;                      // x [ROWS,depth of Forward]
  using StageW1 = typename Forward::template B<act, false>;                    // w1 [depth of Forward,HIDDEN]
  using H = Operand<act, ROWS, HIDDEN, HEAD_THREADS, true>;                    // h, later dh [ROWS,HIDDEN]
  using W2 = Operand<act, OUTPUTS, HIDDEN, HEAD_THREADS / 2, false>;           // w2 [HIDDEN,OUTPUTS]
  using DLogits = Operand<act, OUTPUTS, ROWS, HEAD_THREADS, false>;            // dlogits [ROWS,OUTPUTS]
  using W1 = Operand<act, INPUTS, HIDDEN, HEAD_THREADS, true>;                 // w1 [INPUTS,HIDDEN]
  using X = Operand<act, INPUTS, ROWS, HEAD_THREADS, false>;                   // x [ROWS,INPUTS]

  using XHalf = Operand<act, INPUTS, ROWS / 2, HEAD_THREADS, false>;           // half of the rows of X

  // What lives at the same time: h, the room for sums, w2, dlogits and w1; then dh, x and w1, where the second half of
  // x takes the place of w1. In the beginning the stages of the forward product lie over all of them but h.
  static constexpr uint32_t STAGE = Stage1::BYTES + StageW1::BYTES, STAGES = Forward::STAGES * STAGE;
  static constexpr uint32_t SUMS = H::BYTES, SUMS_BYTES = 3 * HIDDEN * OUTPUTS * 4;
  static constexpr uint32_t W2_AT = SUMS + SUMS_BYTES, DLOGITS_AT = W2_AT + W2::BYTES;
  static constexpr uint32_t HALF = XHalf::BYTES, FREE = DLOGITS_AT + DLogits::BYTES;
  static constexpr uint32_t LATER = (FREE > H::BYTES + HALF ? FREE : H::BYTES + HALF) + HALF;
  static constexpr uint32_t BYTES = LATER > STAGES ? LATER : STAGES;
  static constexpr uint32_t W1_AT = BYTES - HALF, X_AT = BYTES - 2 * HALF, STAGES_AT = BYTES - STAGES;
  static_assert(W1::BYTES == HALF, "the second half of x takes the place of w1");
  // add_slices has room for the sums of half of the warps of Forward behind h, in front of w1.
  static_assert(H::BYTES + ROWS * HIDDEN * 4 <= W1_AT, "the sums of a slice do not reach w1");
};

// round_tile rounds the weights that this thread has copied by copy_tile, whose copy must have arrived, as TF32 wants
// them. The other precisions read weights as they lie in memory.
template <class O, class P>
DEV void round_tile(P, unsigned char *) {}
template <class O>
DEV void round_tile(TF32, unsigned char *tile) {
  const uint32_t at = kept(O::at(threadIdx.x / O::ROW_CHUNKS, threadIdx.x % O::ROW_CHUNKS));
#pragma unroll
  for (uint32_t r = 0; r < O::ROWS; r += O::THREADS / O::ROW_CHUNKS) {
    unsigned char *chunk = tile + O::beside(at, r, 0) * 16;
    const float4 v = read_vector<float4>(chunk);
    write_vector(chunk, uint4{cvt_tf32(v.x), cvt_tf32(v.y), cvt_tf32(v.z), cvt_tf32(v.w)});
  }
}

// element returns the place of an element of a matrix in shared memory.
template <class O>
DEV typename O::act *element(unsigned char *matrix, uint32_t row, uint32_t column) {
  return reinterpret_cast<typename O::act *>(matrix + O::at(row, column / O::CHUNK) * 16) + column % O::CHUNK;
}

// read_act and write_act move neighbours of a row in shared memory: four, with bf16 two.
template <class P, int N>
DEV void read_act(float (&v)[N], const typename P::act *from) {
  if constexpr (N == 4) {
    const float4 f = read_vector<float4>(from);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
  } else {
    const uint32_t pair = *reinterpret_cast<const uint32_t *>(from);
    v[0] = bf16_lo(pair), v[1] = bf16_hi(pair);
  }
}

template <class P, int N>
DEV void write_act(typename P::act *to, const float (&v)[N]) {
  store_act<P>(to, 0, N, true, v);
}
