// cross_entropy: loss[step,k] = (1/count) Σ over the samples that count of −log softmax(logits[k,b])[label]
//   dlogits[k,b,o] = (softmax(logits[k,b])[o] − [o = label])/count, 0 for a sample with label −1
//
// logits [K,B,O], labels [K,B], dlogits [K,B,O] act. If no sample counts, all are 0. Exponentials and sums are in
// double; a row with NaN, +Inf or nothing but −Inf makes the loss NaN.
// Grid (1, K), block 512, static shared memory 4 KB: the block takes 512/L samples at a time, L = min(32, O rounded up
// to a power of two) lanes each. Every group of L lanes sums its own samples, then the groups are summed in order.
// Moves BO(4 + act) bytes per slot; deterministic.
#include "softmax.cuh"
#include "work.cuh"

struct CrossEntropyArgs {
  const Work *work;
  const float *logits;    // [K,B,O]
  const int32_t *labels;  // [K,B]; -1: the sample does not count
  float *loss;            // [E,capacity]
  void *dlogits;          // [K,B,O] act, or null: the loss alone
  uint32_t B, O, step, E;
  uint32_t capacity;      // slots that there is room for
  uint32_t unused;
};

template <class P> DEV void cross_entropy(const CrossEntropyArgs &a) {
  typedef typename P::act act;
  SHARED(double, sums, [ROW_THREADS]);
  const Work *work = a.work;
  const uint32_t k = blockIdx.y;
  if (k >= work->clients) return;
  const int32_t count = work->count[(size_t)k * a.E + a.step];
  const float *logits = a.logits + (size_t)k * a.B * a.O;
  const int32_t *labels = a.labels + (size_t)k * a.B;
  act *grad = (act *)a.dlogits + (size_t)k * a.B * a.O;
  const double c = 1 / (double)count;
  const uint32_t lanes = row_lanes(a.O), groups = ROW_THREADS / lanes, group = threadIdx.x / lanes,
                 lane = threadIdx.x % lanes;
  double sum = 0;
  for (uint32_t first = 0; first < a.B; first += groups) {  // whole warps, since they shuffle
    const bool real = first + group < a.B;
    const uint32_t b = real ? first + group : 0;
    const int32_t label = real && count > 0 ? labels[b] : -1;
    const float *x = logits + (size_t)b * a.O;
    const Softmax s = softmax(x, a.O, lane, lanes);
    if (label >= 0 && lane == 0) sum += loss_at(s, x[label]);
    if (!real || !a.dlogits) continue;
    const double f = c / s.z;
    for (uint32_t o = lane; o < a.O; o += lanes) {
      const double e = o == lane ? s.first : exp_d((double)x[o] - s.top);
      const double d = (int32_t)o == label ? (e / s.z - 1) * c : e * f;
      grad[(size_t)b * a.O + o] = P::store(label >= 0 ? (float)d : 0);
    }
  }
  if (lane == 0) sums[group] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = 0;
  for (uint32_t g = threadIdx.x; g < groups; g += 32) sum += sums[g];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) a.loss[(size_t)a.step * a.capacity + k] = count > 0 ? (float)(sum / count) : 0;
}

extern "C" __global__ void __launch_bounds__(ROW_THREADS, 2) cross_entropy_fp32(const CrossEntropyArgs a) {
  cross_entropy<FP32>(a);
}
extern "C" __global__ void __launch_bounds__(ROW_THREADS, 2) cross_entropy_tf32(const CrossEntropyArgs a) {
  cross_entropy<TF32>(a);
}
extern "C" __global__ void __launch_bounds__(ROW_THREADS, 2) cross_entropy_bf16(const CrossEntropyArgs a) {
  cross_entropy<BF16>(a);
}
