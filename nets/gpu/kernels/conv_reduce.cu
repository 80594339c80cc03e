// conv_reduce: grad[k,w_offset+i] = Σ over chunks of partial[k,chunk,i] for i < n,
//   and grad[k,b_offset+o] = Σ over chunks of partial[k,chunk,n+o]; without grad these sums update the weights there
//
// The second pass of the weight gradient of a convolution: conv_backward_filter and conv2d_backward_filter leave a sum
// for every chunk of images. partial [K,chunks,n+O], grad [K,P]. The chunks are added in order. A slot whose batch has
// no sample that counts is left out.
// Grid (⌈(n+O)/512⌉, K), block 128: four elements per thread, or one at a time if n or O is no multiple of 4.
// Moves 4(chunks+1)(n+O) bytes per slot, with an update 4·chunks·(n+O) and what sgd moves beside gradients;
// deterministic.
#include "update.cuh"

struct ConvReduceArgs {
  const Work *work;
  const float *partial;         // [K,chunks,n+O]
  float *grad;                  // [K,P]; null: the weights are updated at once
  uint32_t w_offset, b_offset;  // of dw and db in a row
  uint32_t n, O, chunks, P;     // n = R·S·C·O; O = 0: there is no bias
  uint32_t step, E;
};

extern "C" __global__ void __launch_bounds__(128, 8) conv_reduce(const ConvReduceArgs a) {
  if (!trains(a.work, a.step, a.E)) return;
  const uint32_t size = a.n + a.O, first = blockIdx.x * 128 + threadIdx.x, stride = gridDim.x * 128;
  const float *partial = a.partial + (size_t)blockIdx.y * a.chunks * size;
  const auto to = sink_of<BF16>(a.work, a.grad, a.P);
  auto element = [&](uint32_t i) INLINE { return i < a.n ? a.w_offset + i : a.b_offset + (i - a.n); };
  if (a.n % 4 != 0 || a.O % 4 != 0) {
    for (uint32_t i = first; i < size; i += stride) {
      float sum = 0;
#pragma unroll 8
      for (uint32_t c = 0; c < a.chunks; c++) sum += partial[(size_t)c * size + i];
      to.take({element(i)}, {{sum}});
    }
    return;
  }
  for (uint32_t i = 4 * first; i < size; i += 4 * stride) {
    float4 sum = {0, 0, 0, 0};
#pragma unroll 8
    for (uint32_t c = 0; c < a.chunks; c++) sum = add4(sum, load4<FP32>(partial + (size_t)c * size + i));
    to.take({element(i)}, {{sum.x, sum.y, sum.z, sum.w}});
  }
}
