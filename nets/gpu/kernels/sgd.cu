// The update of the weights, in the order of operations of nets.LocalWork and of the CPU's Step.
//
// A row holds n weights, with gaps of zeros between the parameters, and behind them the P − n running statistics if the
// net has any. Kernels that compute a gradient may have updated the first of the weights: a row of gradients then
// begins with element `first` of a row, else first is 0. Clipping wants all gradients.
//
// grad_squares: partial[k,j] = Σ grad[k]² over elements 4096j … 4096j+4095, in double.
//   Grid (⌈n/4096⌉, K), block 256; moves 4n bytes per slot.
// clip_scale: scale[k] = min(1, clip/‖grad[k]‖). The partial sums are added in a fixed order.
//   Grid (1, K), block 256; moves 8⌈n/4096⌉ bytes per slot.
// sgd: g = grad·scale + weight_decay·w + drift; v = momentum·v + g, g = v; w -= lr·g; weights = w in bf16.
//   A slot whose batch has no sample that counts keeps its row, in track as well.
//   With m = n − first: grid (⌈m/1024⌉, K), block 256; moves 12m bytes per slot, 2m more unless weights is row, 8m more
//   with momentum, 4m more with drift.
// track: running -= 0.1·(running − batch), where batch stands in the place of the gradient of running. Decay, clipping,
//   momentum and drift leave running statistics alone, and no matrix product reads them, so that they need no copy.
//   Grid (⌈(P−n)/1024⌉, K), block 256; moves 12(P−n) bytes per slot.
// All are deterministic.
#include "dot.cuh"
#include "elements.cuh"
#include "update.cuh"

// ClipArgs are the arguments of grad_squares and clip_scale.
struct ClipArgs {
  const Work *work;
  const float *grad;  // [K,P] gradients in the first n elements
  double *partial;    // [K,⌈n/4096⌉]
  float *scale;       // [K]
  uint32_t P, n;
};

// SGDArgs are the arguments of sgd and track.
struct SGDArgs {
  const Work *work;
  const float *grad;   // [K,P-first] gradients, then statistics of the batch
  const float *scale;  // [K] from clip_scale; null: no clipping
  uint32_t P, n, first;
  uint32_t step, E, unused;
};

// gradients returns the gradients of the slot of this block, such that element i is that of element i of a row.
DEV const float *gradients(const SGDArgs &a) { return a.grad + (size_t)blockIdx.y * (a.P - a.first) - a.first; }

extern "C" __global__ void __launch_bounds__(256) grad_squares(const ClipArgs a) {
  SHARED(double, room, [32]);
  if (blockIdx.y >= a.work->clients) return;
  const float *grad = a.grad + (size_t)blockIdx.y * a.P;
  const double sum = chunk_dot(grad, grad, a.n, room);
  if (threadIdx.x == 0) a.partial[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) clip_scale(const ClipArgs a) {
  SHARED(double, room, [32]);
  if (blockIdx.y >= a.work->clients) return;
  const uint32_t chunks = (a.n + 4095) / 4096;
  const double *partial = a.partial + (size_t)blockIdx.y * chunks;
  double sum = 0;
  for (uint32_t i = threadIdx.x; i < chunks; i += 256) sum += partial[i];
  sum = block_sum(sum, room);
  if (threadIdx.x > 0) return;
  const double norm = sqrt_d(sum), clip = a.work->clip;
  a.scale[blockIdx.y] = norm > clip ? (float)(clip / norm) : 1.0f;
}

extern "C" __global__ void __launch_bounds__(256) sgd(const SGDArgs a) {
  if (!trains(a.work, a.step, a.E)) return;
  const float *grad = gradients(a);
  const float scale = a.scale ? a.scale[blockIdx.y] : 1.0f;
  const auto update = Update<BF16>::of(a.work);
  for (uint32_t i = a.first / 4 + blockIdx.x * 256 + threadIdx.x; i < a.n / 4; i += gridDim.x * 256) {
    const float4 g = mul4(scale, load4<FP32>(grad + 4 * i));
    update.step({4 * i}, {{g.x, g.y, g.z, g.w}});
  }
}

extern "C" __global__ void __launch_bounds__(256) track(const SGDArgs a) {
  if (!trains(a.work, a.step, a.E)) return;
  const float *batch = gradients(a) + a.n;
  float *running = a.work->slots[blockIdx.y].row + a.n;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < (a.P - a.n) / 4; i += gridDim.x * 256) {
    const float4 w = load4<FP32>(running + 4 * i);
    store4<FP32>(running + 4 * i, fma4(-0.1f, fma4(-1, load4<FP32>(batch + 4 * i), w), w));
  }
}
