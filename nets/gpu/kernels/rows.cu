// Rows of parameters: what is done to them outside the steps.
//
// begin: row[k] = start[k], weights[k] = row[k] rounded to act. round_weights: weights[k] = row[k] rounded.
//   With fp32 weights may be row itself, which is then not written twice.
//   grid (⌈P/1024⌉, K), block 256. begin moves 8P bytes and P act a slot, round_weights 4P bytes and P act.
// combine: dst = Σ c[i]·src[i] in order, the first term a product, then fused multiply-adds; no term: 0. dst may be among src.
//   grid (⌈P/1024⌉), block 256; moves 4P(terms+1) bytes.
// sum_squares: partial[j] = Σ x² over elements 4096j … 4096j+4095, in double. x [n], 16-byte aligned.
//   grid (⌈n/4096⌉), block 256; moves 4n bytes.
// All deterministic; four elements a thread at a time, P being a multiple of 4.
#include "elements.cuh"
#include "squares.cuh"
#include "work.cuh"

// of begin and round_weights
struct RowsArgs {
  const Work *work;
  uint32_t P, unused;
};

// of combine
struct CombineArgs {
  float *dst;              // [P]
  const float *c;          // [terms]
  const float *const *src; // [terms] rows
  uint32_t terms, P;
};

// of sum_squares
struct SumSquaresArgs {
  const float *x;          // [n]
  double *partial;         // [⌈n/4096⌉]
  uint32_t n, unused;
};

template <class P> DEV void copy_row(const RowsArgs &a, bool begin) {
  typedef typename P::act act;
  if (blockIdx.y >= a.work->clients) return;
  const Slot &slot = a.work->slots[blockIdx.y];
  float *row = slot.row;
  act *weights = (act *)slot.weights;
  const float *from = begin ? slot.start : row;
  const bool apart = (void *)weights != (void *)row;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < a.P / 4; i += gridDim.x * 256) {
    const float4 v = load4<FP32>(from + 4 * i);
    if (begin) store4<FP32>(row + 4 * i, v);
    if (apart) store4<P>(weights + 4 * i, v);
  }
}

extern "C" __global__ void __launch_bounds__(256) begin_fp32(const RowsArgs a) { copy_row<FP32>(a, true); }
extern "C" __global__ void __launch_bounds__(256) begin_tf32(const RowsArgs a) { copy_row<TF32>(a, true); }
extern "C" __global__ void __launch_bounds__(256) begin_bf16(const RowsArgs a) { copy_row<BF16>(a, true); }
extern "C" __global__ void __launch_bounds__(256) round_weights_fp32(const RowsArgs a) { copy_row<FP32>(a, false); }
extern "C" __global__ void __launch_bounds__(256) round_weights_tf32(const RowsArgs a) { copy_row<TF32>(a, false); }
extern "C" __global__ void __launch_bounds__(256) round_weights_bf16(const RowsArgs a) { copy_row<BF16>(a, false); }

extern "C" __global__ void __launch_bounds__(256) combine(const CombineArgs a) {
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < a.P / 4; i += gridDim.x * 256) {
    float4 sum = {0, 0, 0, 0};
    if (a.terms > 0) sum = mul4(a.c[0], load4<FP32>(a.src[0] + 4 * i));
#pragma unroll 4
    for (uint32_t t = 1; t < a.terms; t++) sum = fma4(a.c[t], load4<FP32>(a.src[t] + 4 * i), sum);
    store4<FP32>(a.dst + 4 * i, sum);
  }
}

extern "C" __global__ void __launch_bounds__(256) sum_squares(const SumSquaresArgs a) {
  SHARED(double, room, [32]);
  const double sum = chunk_squares(a.x, a.n, room);
  if (threadIdx.x == 0) a.partial[blockIdx.x] = sum;
}
