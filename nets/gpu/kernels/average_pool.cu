// average_pool: y[k,b,c] = (1/pixels) Σ over p of x[k,b,p,c], summed in float in the order of the pixels
// average_pool_backward: dx[k,b,p,c] = gy[k,b,c]/pixels
//
// x, dx [K,B,pixels,C] act; y, gy [K,B,C] act. Both: grid (⌈BC/1024⌉, K), block 256: a thread takes all pixels of four
// channels, or of one if C is no multiple of 4. Both move |x| + |y| act per slot; deterministic.
#include "elements.cuh"
#include "work.cuh"

struct AverageArgs {
  const Work *work;
  const void *x;   // [K,B,pixels,C] act
  void *y;         // [K,B,C] act
  const void *gy;  // [K,B,C] act, gradient of y
  void *dx;        // [K,B,pixels,C] act
  uint32_t B, pixels, C, unused;
};

template <class P> DEV void average_pool(const AverageArgs &a) {
  typedef typename P::act act;
  if (blockIdx.y >= a.work->clients) return;
  const uint32_t n = a.B * a.C, first = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
  const act *x = (const act *)a.x + (size_t)blockIdx.y * n * a.pixels;
  act *y = (act *)a.y + (size_t)blockIdx.y * n;
  const float factor = 1 / (float)a.pixels;
  if (a.C % 4 != 0) {
    for (uint32_t i = first; i < n; i += stride) {
      const act *from = x + (size_t)(i / a.C) * a.pixels * a.C + i % a.C;
      float sum = 0;
#pragma unroll 8
      for (uint32_t p = 0; p < a.pixels; p++) sum += P::load(from[(size_t)p * a.C]);
      y[i] = P::store(factor * sum);
    }
    return;
  }
  for (uint32_t i = 4 * first; i < n; i += 4 * stride) {
    const act *from = x + (size_t)(i / a.C) * a.pixels * a.C + i % a.C;
    float4 sum = {0, 0, 0, 0};
#pragma unroll 8
    for (uint32_t p = 0; p < a.pixels; p++) sum = add4(sum, load4<P>(from + (size_t)p * a.C));
    store4<P>(y + i, mul4(factor, sum));
  }
}

template <class P> DEV void average_pool_backward(const AverageArgs &a) {
  typedef typename P::act act;
  if (blockIdx.y >= a.work->clients) return;
  const uint32_t n = a.B * a.C, first = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
  const act *gy = (const act *)a.gy + (size_t)blockIdx.y * n;
  act *dx = (act *)a.dx + (size_t)blockIdx.y * n * a.pixels;
  const float factor = 1 / (float)a.pixels;
  if (a.C % 4 != 0) {
    for (uint32_t i = first; i < n; i += stride) {
      act *to = dx + (size_t)(i / a.C) * a.pixels * a.C + i % a.C;
      const act d = P::store(factor * P::load(gy[i]));
      for (uint32_t p = 0; p < a.pixels; p++) to[(size_t)p * a.C] = d;
    }
    return;
  }
  for (uint32_t i = 4 * first; i < n; i += 4 * stride) {
    act *to = dx + (size_t)(i / a.C) * a.pixels * a.C + i % a.C;
    const float4 d = mul4(factor, load4<P>(gy + i));
    for (uint32_t p = 0; p < a.pixels; p++) store4<P>(to + (size_t)p * a.C, d);
  }
}

extern "C" __global__ void __launch_bounds__(256) average_pool_fp32(const AverageArgs a) { average_pool<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) average_pool_tf32(const AverageArgs a) { average_pool<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) average_pool_bf16(const AverageArgs a) { average_pool<BF16>(a); }
extern "C" __global__ void __launch_bounds__(256) average_pool_backward_fp32(const AverageArgs a) {
  average_pool_backward<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(256) average_pool_backward_tf32(const AverageArgs a) {
  average_pool_backward<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(256) average_pool_backward_bf16(const AverageArgs a) {
  average_pool_backward<BF16>(a);
}
