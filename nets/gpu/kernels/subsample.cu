// subsample: y[k,b,i,j,c] = x[k,b,stride·i,stride·j,c] for c < C, 0 for C <= c < O
// subsample_backward: dx[k,b,i,j,c] = gy[k,b,i/stride,j/stride,c] where stride divides i and j, else 0
//
// The shortcut of a residual block that shrinks its maps: every stride-th pixel, with empty channels behind the old
// ones. x, dx [K,B,H,W,C] act; y, gy [K,B,⌈H/stride⌉,⌈W/stride⌉,O] act.
// Grid (⌈n/1024⌉, K), with n the elements that the kernel writes, block 256: four channels per thread at a time, or one
// if C or O is no multiple of 4. subsample moves |y|(1 + C/O) act per slot, subsample_backward |x| + |y|·C/O;
// deterministic.
#include "elements.cuh"
#include "work.cuh"

struct SubsampleArgs {
  const Work *work;
  const void *x;   // [K,B,H,W,C] act
  void *y;         // [K,B,⌈H/stride⌉,⌈W/stride⌉,O] act
  const void *gy;  // gradient of y
  void *dx;        // [K,B,H,W,C] act
  uint32_t B, H, W, C, O, stride;
};

// copy_channels copies V channels of a pixel if `taken`, else writes zeros.
template <class P, uint32_t V> DEV void copy_channels(typename P::act *to, const typename P::act *from, bool taken) {
  if constexpr (V == 4) {
    store4<P>(to, taken ? load4<P>(from) : float4{0, 0, 0, 0});
  } else {
    *to = taken ? *from : P::store(0);
  }
}

// take_pixels is subsample with V channels at a time.
template <class P, uint32_t V> DEV void take_pixels(const SubsampleArgs &a) {
  typedef typename P::act act;
  const uint32_t h = (a.H + a.stride - 1) / a.stride, w = (a.W + a.stride - 1) / a.stride, n = a.B * h * w * a.O;
  const act *x = (const act *)a.x + (size_t)blockIdx.y * a.B * a.H * a.W * a.C;
  act *y = (act *)a.y + (size_t)blockIdx.y * n;
  for (uint32_t at = V * (blockIdx.x * 256 + threadIdx.x); at < n; at += V * gridDim.x * 256) {
    const uint32_t c = at % a.O, pixel = at / a.O, j = pixel % w, i = pixel / w % h, b = pixel / w / h;
    copy_channels<P, V>(y + at, x + ((size_t)(b * a.H + i * a.stride) * a.W + j * a.stride) * a.C + c, c < a.C);
  }
}

// put_pixels is subsample_backward with V channels at a time.
template <class P, uint32_t V> DEV void put_pixels(const SubsampleArgs &a) {
  typedef typename P::act act;
  const uint32_t h = (a.H + a.stride - 1) / a.stride, w = (a.W + a.stride - 1) / a.stride, n = a.B * a.H * a.W * a.C;
  const act *gy = (const act *)a.gy + (size_t)blockIdx.y * a.B * h * w * a.O;
  act *dx = (act *)a.dx + (size_t)blockIdx.y * n;
  for (uint32_t at = V * (blockIdx.x * 256 + threadIdx.x); at < n; at += V * gridDim.x * 256) {
    const uint32_t c = at % a.C, pixel = at / a.C, j = pixel % a.W, i = pixel / a.W % a.H, b = pixel / a.W / a.H;
    const bool taken = i % a.stride == 0 && j % a.stride == 0;
    copy_channels<P, V>(dx + at, gy + ((size_t)(b * h + i / a.stride) * w + j / a.stride) * a.O + c, taken);
  }
}

template <class P> DEV void subsample(const SubsampleArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 && a.O % 4 == 0 ? take_pixels<P, 4>(a) : take_pixels<P, 1>(a);
}

template <class P> DEV void subsample_backward(const SubsampleArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 && a.O % 4 == 0 ? put_pixels<P, 4>(a) : put_pixels<P, 1>(a);
}

extern "C" __global__ void __launch_bounds__(256) subsample_fp32(const SubsampleArgs a) { subsample<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) subsample_tf32(const SubsampleArgs a) { subsample<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) subsample_bf16(const SubsampleArgs a) { subsample<BF16>(a); }
extern "C" __global__ void __launch_bounds__(256) subsample_backward_fp32(const SubsampleArgs a) {
  subsample_backward<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(256) subsample_backward_tf32(const SubsampleArgs a) {
  subsample_backward<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(256) subsample_backward_bf16(const SubsampleArgs a) {
  subsample_backward<BF16>(a);
}
