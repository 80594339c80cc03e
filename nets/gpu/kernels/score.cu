// score: loss[k] = Σ over the samples that count of −log softmax(logits[k,b])[label],
//   correct[k] = (samples whose largest logit is at their label, samples that count)
//
// Of equal largest logits the first is taken; a row with NaN is never correct. logits [K,B,O], labels [K,B].
// Grid (1, K), block 512, static shared memory 8 KB: lanes, samples and sums as in cross_entropy.
// Moves 4BO bytes per slot; deterministic.
#include "softmax.cuh"
#include "work.cuh"

struct ScoreArgs {
  const Work *work;
  const float *logits;    // [K,B,O]
  const int32_t *labels;  // [K,B]; -1: the sample does not count
  double *loss;           // [K]
  int32_t *correct;       // [K,2] correct samples, counted samples
  uint32_t B, O;
};

// first_largest returns the index of the first of the largest elements of x [n], or n if x has a NaN. A group of
// `lanes` lanes shares a row, and this one is number `lane` of its group. Whole warps must call it.
DEV uint32_t first_largest(const float *x, uint32_t n, uint32_t lane, uint32_t lanes) {
  float most = lane < n ? x[lane] : -__builtin_inff();
  uint32_t at = lane, odd = most != most;
  for (uint32_t o = lane + lanes; o < n; o += lanes) {
    odd |= x[o] != x[o];
    if (x[o] > most) {
      most = x[o];
      at = o;
    }
  }
  for (uint32_t m = lanes / 2; m > 0; m /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, most, m);
    const uint32_t there = __shfl_xor_sync(0xffffffffu, at, m);
    odd |= __shfl_xor_sync(0xffffffffu, odd, m);
    if (other > most || (other == most && there < at)) {
      most = other;
      at = there;
    }
  }
  return odd ? n : at;
}

extern "C" __global__ void __launch_bounds__(ROW_THREADS) score(const ScoreArgs a) {
  SHARED(double, sums, [ROW_THREADS]);
  SHARED(uint32_t, hits, [ROW_THREADS]);
  SHARED(uint32_t, counts, [ROW_THREADS]);
  const uint32_t k = blockIdx.y;
  if (k >= a.work->clients) return;
  const float *logits = a.logits + (size_t)k * a.B * a.O;
  const int32_t *labels = a.labels + (size_t)k * a.B;
  const uint32_t lanes = row_lanes(a.O), groups = ROW_THREADS / lanes, group = threadIdx.x / lanes,
                 lane = threadIdx.x % lanes;
  double sum = 0;
  uint32_t hit = 0, count = 0;
  for (uint32_t first = 0; first < a.B; first += groups) {
    const bool real = first + group < a.B;
    const uint32_t b = real ? first + group : 0;
    const int32_t label = real ? labels[b] : -1;
    const float *x = logits + (size_t)b * a.O;
    const Softmax s = softmax(x, a.O, lane, lanes);
    const uint32_t best = first_largest(x, a.O, lane, lanes);
    if (label < 0) continue;
    sum += loss_at(s, x[label]);
    hit += best == (uint32_t)label;
    count++;
  }
  if (lane == 0) {
    sums[group] = sum;
    hits[group] = hit;
    counts[group] = count;
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = hit = count = 0;
  for (uint32_t g = threadIdx.x; g < groups; g += 32) {
    sum += sums[g];
    hit += hits[g];
    count += counts[g];
  }
  sum = warp_sum(sum);
  for (uint32_t m = 16; m > 0; m /= 2) {
    hit += __shfl_xor_sync(0xffffffffu, hit, m);
    count += __shfl_xor_sync(0xffffffffu, count, m);
  }
  if (threadIdx.x > 0) return;
  a.loss[k] = sum;
  a.correct[2 * k] = (int32_t)hit;
  a.correct[2 * k + 1] = (int32_t)count;
}
