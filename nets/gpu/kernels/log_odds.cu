// log_odds: y[k,b] = (0, x[k,b])
// log_odds_backward: dx[k,b] = gy[k,b,1]
//
// Makes logits of two classes of one number, the log of the odds of the second class. x [K,n] and y [K,n,2] float;
// gy [K,n,2] and dx [K,n] act. Both: grid (⌈n/1024⌉, K), block 256; deterministic.
// log_odds moves 12n bytes per slot, log_odds_backward 3n act.
#include "precision.cuh"
#include "work.cuh"

struct LogOddsArgs {
  const Work *work;
  const float *x;  // [K,n]
  float *y;        // [K,n,2]
  const void *gy;  // [K,n,2] act, gradient of y
  void *dx;        // [K,n] act
  uint32_t n, unused;
};

extern "C" __global__ void __launch_bounds__(256) log_odds(const LogOddsArgs a) {
  if (blockIdx.y >= a.work->clients) return;
  const float *x = a.x + (size_t)blockIdx.y * a.n;
  float2 *y = (float2 *)a.y + (size_t)blockIdx.y * a.n;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < a.n; i += gridDim.x * 256) y[i] = float2{0, x[i]};
}

template <class P> DEV void log_odds_backward(const LogOddsArgs &a) {
  typedef typename P::act act;
  if (blockIdx.y >= a.work->clients) return;
  const act *gy = (const act *)a.gy + (size_t)blockIdx.y * a.n * 2;
  act *dx = (act *)a.dx + (size_t)blockIdx.y * a.n;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < a.n; i += gridDim.x * 256) dx[i] = gy[2 * i + 1];
}

extern "C" __global__ void __launch_bounds__(256) log_odds_backward_fp32(const LogOddsArgs a) {
  log_odds_backward<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(256) log_odds_backward_tf32(const LogOddsArgs a) {
  log_odds_backward<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(256) log_odds_backward_bf16(const LogOddsArgs a) {
  log_odds_backward<BF16>(a);
}
