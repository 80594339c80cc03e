// add: y[k,i] = a[k,i] + b[k,i]
//
// Where a value is used twice, the gradients of both uses are added up. a, b, y [K,n] act; y may be a or b.
// Grid (⌈n/1024⌉, K), block 256: four elements per thread at a time, or one if n is no multiple of 4.
// Moves 3n act per slot; deterministic.
#include "elements.cuh"
#include "work.cuh"

struct AddArgs {
  const Work *work;
  const void *a, *b;  // [K,n] act
  void *y;            // [K,n] act
  uint32_t n, unused;
};

template <class P> DEV void add(const AddArgs &args) {
  typedef typename P::act act;
  if (blockIdx.y >= args.work->clients) return;
  const size_t base = (size_t)blockIdx.y * args.n;
  const act *a = (const act *)args.a + base, *b = (const act *)args.b + base;
  act *y = (act *)args.y + base;
  const uint32_t first = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
  if (args.n % 4 != 0) {
    for (uint32_t i = first; i < args.n; i += stride) y[i] = P::store(P::load(a[i]) + P::load(b[i]));
    return;
  }
  for (uint32_t i = first; i < args.n / 4; i += stride)
    store4<P>(y + 4 * i, add4(load4<P>(a + 4 * i), load4<P>(b + 4 * i)));
}

extern "C" __global__ void __launch_bounds__(256) add_fp32(const AddArgs a) { add<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) add_tf32(const AddArgs a) { add<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) add_bf16(const AddArgs a) { add<BF16>(a); }
