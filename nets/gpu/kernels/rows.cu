// Kernels on whole rows of parameters, between the local steps.
//
// begin: row[k] = start[k], weights[k] = row[k] in bf16. Every slot starts its local steps with it.
//   Grid (⌈P/1024⌉, K), block 256; moves 8P bytes per slot, 2P more unless weights is row, which needs no copy.
// round_weights: weights[k] = row[k] in bf16, for rows that are evaluated.
//   Grid (⌈P/1024⌉, K), block 256; moves 6P bytes per slot.
// combine: dst = Σ over i of c[i]·src[i], the terms in order: a product, then fused multiply-adds. No
//   term: dst = 0.
//   Grid (⌈P/1024⌉), block 256; moves 4P(terms+1) bytes.
// dot: partial[j] = Σ x·y over elements 4096j … 4096j+4095, in double. x may be y.
//   Grid (⌈n/4096⌉), block 256; moves 8n bytes, 4n if x is y.
// All are deterministic. P is a multiple of 4, and a thread takes four elements at a time.
#include "dot.cuh"
#include "elements.cuh"
#include "work.cuh"

// RowsArgs are the arguments of begin and round_weights.
struct RowsArgs {
  const Work *work;
  uint32_t P, unused;
};

// CombineArgs are the arguments of combine. dst may be one of src.
struct CombineArgs {
  float *dst;               // [P]
  const float *c;           // [terms]
  const float *const *src;  // [terms] rows [P]
  uint32_t terms, P;
};

// DotArgs are the arguments of dot.
struct DotArgs {
  const float *x, *y;  // [n], 16-byte aligned
  double *partial;     // [⌈n/4096⌉]
  uint32_t n, unused;
};

extern "C" __global__ void __launch_bounds__(256) begin(const RowsArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  const Slot slot = a.work->slots[blockIdx.y];
  uint16_t *weights = slot.weights == slot.row ? nullptr : (uint16_t *)slot.weights;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < a.P / 4; i += gridDim.x * 256) {
    const float4 v = load4<FP32>(slot.start + 4 * i);
    store4<FP32>(slot.row + 4 * i, v);
    if (weights) store4<BF16>(weights + 4 * i, v);
  }
}

extern "C" __global__ void __launch_bounds__(256) round_weights(const RowsArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  const Slot slot = a.work->slots[blockIdx.y];
  uint16_t *weights = (uint16_t *)slot.weights;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < a.P / 4; i += gridDim.x * 256)
    store4<BF16>(weights + 4 * i, load4<FP32>(slot.row + 4 * i));
}

extern "C" __global__ void __launch_bounds__(256) combine(const CombineArgs a) {
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < a.P / 4; i += gridDim.x * 256) {
    float4 sum = {0, 0, 0, 0};
    if (a.terms > 0) sum = mul4(a.c[0], load4<FP32>(a.src[0] + 4 * i));
#pragma unroll 4
    for (uint32_t t = 1; t < a.terms; t++) sum = fma4(a.c[t], load4<FP32>(a.src[t] + 4 * i), sum);
    store4<FP32>(a.dst + 4 * i, sum);
  }
}

extern "C" __global__ void __launch_bounds__(256) dot(const DotArgs a) {
  SHARED(double, room, [32]);
  const double sum = chunk_dot(a.x, a.y, a.n, room);
  if (threadIdx.x == 0) a.partial[blockIdx.x] = sum;
}
