// conv_reduce: grad[k,w_offset+i] = Σ over chunks, in order, of partial[k,chunk,i] for i < n, and the O sums behind them to
// b_offset: the second pass of conv_backward's weight gradient.
// partial [K,chunks,n+O], grad [K,P]. grid (⌈(n+O)/512⌉, K), block 128; four elements a thread, one by one if n or O is no
// multiple of 4. Moves 4(chunks+1)(n+O) bytes a slot; deterministic. Slots whose batch is empty are left out.
#include "elements.cuh"
#include "work.cuh"

struct ConvReduceArgs {
  const Work *work;
  const float *partial;    // [K,chunks,n+O]
  float *grad;             // [K,P]
  uint32_t w_offset, b_offset;
  uint32_t n, O, chunks, P;  // n = R·S·C·O
  uint32_t step, E;
};

extern "C" __global__ void __launch_bounds__(128) conv_reduce(const ConvReduceArgs a) {
  const Work *work = a.work;
  if (blockIdx.y >= work->clients || work->count[(size_t)blockIdx.y * a.E + a.step] == 0) return;
  const uint32_t size = a.n + a.O, first = blockIdx.x * 128 + threadIdx.x, stride = gridDim.x * 128;
  const float *partial = a.partial + (size_t)blockIdx.y * a.chunks * size;
  float *w = a.grad + (size_t)blockIdx.y * a.P + a.w_offset, *bias = a.grad + (size_t)blockIdx.y * a.P + a.b_offset;
  if (a.n % 4 != 0 || a.O % 4 != 0) {
    for (uint32_t i = first; i < size; i += stride) {
      float sum = 0;
#pragma unroll 8
      for (uint32_t c = 0; c < a.chunks; c++) sum += partial[(size_t)c * size + i];
      (i < a.n ? w + i : bias + (i - a.n))[0] = sum;
    }
    return;
  }
  for (uint32_t i = 4 * first; i < size; i += 4 * stride) {
    float4 sum = {0, 0, 0, 0};
#pragma unroll 8
    for (uint32_t c = 0; c < a.chunks; c++) sum = add4(sum, load4<FP32>(partial + (size_t)c * size + i));
    store4<FP32>(i < a.n ? w + i : bias + (i - a.n), sum);
  }
}
