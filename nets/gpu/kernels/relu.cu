// relu_backward: d[k,i] = gy[k,i] unless y[k,i] <= 0, else 0
//
// The gradient in front of the ReLU of a fully connected layer. A NaN in y lets the gradient through, as on the CPU.
// y, gy, d [K,n] act; d may be gy.
// Grid (⌈n/1024⌉, K), block 256: four elements per thread at a time, or one if n is no multiple of 4.
// Moves 3n act per slot; deterministic.
#include "elements.cuh"
#include "work.cuh"

struct ReLUArgs {
  const Work *work;
  const void *y, *gy;  // [K,n] act: output of the ReLU, and the gradient of it
  void *d;             // [K,n] act
  uint32_t n, unused;
};

DEV float open_gate(float y, float g) { return y <= 0 ? 0 : g; }

template <class P> DEV void relu_backward(const ReLUArgs &a) {
  typedef typename P::act act;
  if (blockIdx.y >= a.work->clients) return;
  const size_t base = (size_t)blockIdx.y * a.n;
  const act *y = (const act *)a.y + base, *gy = (const act *)a.gy + base;
  act *d = (act *)a.d + base;
  const uint32_t first = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
  if (a.n % 4 != 0) {
    for (uint32_t i = first; i < a.n; i += stride) d[i] = P::store(open_gate(P::load(y[i]), P::load(gy[i])));
    return;
  }
  for (uint32_t i = first; i < a.n / 4; i += stride) {
    const float4 v = load4<P>(y + 4 * i), g = load4<P>(gy + 4 * i);
    store4<P>(d + 4 * i, {open_gate(v.x, g.x), open_gate(v.y, g.y), open_gate(v.z, g.z), open_gate(v.w, g.w)});
  }
}

extern "C" __global__ void __launch_bounds__(256) relu_backward_fp32(const ReLUArgs a) { relu_backward<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) relu_backward_tf32(const ReLUArgs a) { relu_backward<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) relu_backward_bf16(const ReLUArgs a) { relu_backward<BF16>(a); }
