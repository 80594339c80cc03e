// dropout: y[k,e] = scale·x[k,e] if the random word of element e is >= threshold, else 0
//
// Dropout is linear in x: the gradient of x is the same kernel applied to the gradient of y. x, y [K,n] act; y may be
// x. The words are what package rng draws on the CPU: element e of a client's batch takes word e mod 4 of the
// Philox4x32-10 block (Salmon et al., SC 2011) at counter (round, client, step, e/4) and key (seed, 6 | (layer+1)<<16).
// Grid (⌈n/1024⌉, K), block 256: a thread takes the four elements of one Philox block at a time.
// Moves 2n act per slot; deterministic.
#include "elements.cuh"
#include "work.cuh"

struct DropoutArgs {
  const Work *work;
  const void *x;  // [K,n] act
  void *y;        // [K,n] act
  uint32_t n;
  uint32_t layer;      // number of the dropout layer in the net, from 0 on
  uint32_t threshold;  // rate·2³²
  uint32_t step;       // local step, from 0 on
  float scale;         // 1/(1-rate)
  uint32_t unused;
};

// philox returns the Philox4x32-10 block at a counter. The key is (seed, purpose).
DEV uint4 philox(uint32_t seed, uint32_t purpose, uint4 counter) {
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const uint32_t m0 = 0xD2511F53u, m1 = 0xCD9E8D57u;
    counter = {mulhi_u32(m1, counter.z) ^ counter.y ^ seed, m1 * counter.z,
               mulhi_u32(m0, counter.x) ^ counter.w ^ purpose, m0 * counter.x};
    seed += 0x9E3779B9u;
    purpose += 0xBB67AE85u;
  }
  return counter;
}

template <class P> DEV void dropout(const DropoutArgs &a) {
  typedef typename P::act act;
  const Work *work = a.work;
  if (blockIdx.y >= work->clients) return;
  const act *x = (const act *)a.x + (size_t)blockIdx.y * a.n;
  act *y = (act *)a.y + (size_t)blockIdx.y * a.n;
  const uint32_t seed = work->seed, round = work->round, client = work->slots[blockIdx.y].client;
  const uint32_t purpose = 6 | (a.layer + 1) << 16, stride = gridDim.x * 256;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < (a.n + 3) / 4; i += stride) {
    const uint4 word = philox(seed, purpose, {round, client, a.step, i});
    const bool keep0 = word.x >= a.threshold, keep1 = word.y >= a.threshold, keep2 = word.z >= a.threshold,
               keep3 = word.w >= a.threshold;
    const uint32_t e = 4 * i;
    if (a.n % 4 == 0) {
      const float4 v = mul4(a.scale, load4<P>(x + e));
      store4<P>(y + e, {keep0 ? v.x : 0, keep1 ? v.y : 0, keep2 ? v.z : 0, keep3 ? v.w : 0});
      continue;
    }
    y[e] = P::store(keep0 ? P::load(x[e]) * a.scale : 0);
    if (e + 1 < a.n) y[e + 1] = P::store(keep1 ? P::load(x[e + 1]) * a.scale : 0);
    if (e + 2 < a.n) y[e + 2] = P::store(keep2 ? P::load(x[e + 2]) * a.scale : 0);
    if (e + 3 < a.n) y[e + 3] = P::store(keep3 ? P::load(x[e + 3]) * a.scale : 0);
  }
}

extern "C" __global__ void __launch_bounds__(256) dropout_fp32(const DropoutArgs a) { dropout<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) dropout_tf32(const DropoutArgs a) { dropout<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) dropout_bf16(const DropoutArgs a) { dropout<BF16>(a); }
