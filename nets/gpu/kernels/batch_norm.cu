// Batch normalisation over the samples and pixels of a slot's batch, then the addition of other maps, then ReLU:
//   y[k,b,p,c] = max(0, weight[k,c]·(x[k,b,p,c] − mean[k,c])/√(variance[k,c] + 1e-5) + bias[k,c] + add[k,b,p,c])
//
// The maximum is left out without relu, and add if it is null. Samples that do not count are left out of the
// statistics, and their y is 0. x, add, y [K,B,pixels,C] act. All are deterministic: shape alone decides how the sums
// are cut (batch_norm.cuh), and they are added in order.
//
// norm_moments: Σ (x − pivot) and Σ (x − pivot)² of every chunk, where pivot[c] is x[c] at the first pixel that counts.
//   The difference has the size of the deviation even if the mean is large, so that float is enough for the sums over
//   32 rows; from there on they are in double.
//   Grid (tiles·chunks, K), block 256, smem 8 KB; moves |x| act per slot, and 16 bytes per channel and chunk.
// norm_statistics: the mean, 1/√(variance + 1e-5), the unbiased variance, and from these scale and shift, over all
//   chunks.
//   Grid (⌈C/32⌉, K), block 256, smem 4 KB; moves 16 bytes per channel and chunk.
// norm_apply: y = max(0, scale·x + shift + add).
//   Grid (tiles·chunks, K), block 256; moves (|x| + |y| + |add|) act per slot.
// norm_evaluate: as norm_apply, with scale and shift from the running statistics in the row, and for all samples.
//   Grid and traffic as norm_apply.
#include "batch_norm.cuh"

// pivot_row returns the first row that counts, 0 if there is none.
DEV uint32_t pivot_row(const NormArgs &a, const int32_t *labels) {
  for (uint32_t b = 0; b < a.B; b++) {
    if (labels[b] >= 0) return b * a.pixels;
  }
  return 0;
}

// sum_moments is norm_moments for V channels per thread.
template <class P, uint32_t V> DEV void sum_moments(const NormArgs &a) {
  const int32_t *labels = a.labels + (size_t)blockIdx.y * a.B;
  const typename P::act *x = (const typename P::act *)a.x + (size_t)blockIdx.y * a.B * a.pixels * a.C;
  Place p = place<V>(a);
  float sum[V] = {}, squares[V] = {}, pivot[V] = {};
  if (p.row < p.end) load_channels<P, V>(pivot, x + (size_t)pivot_row(a, labels) * a.C + p.c);
  while (p.row < p.end) {
    float v[4][V];
    bool counts[4];
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      load_channels<P, V>(v[j], x + element(a, p));
      counts[j] = next(a, labels, p);
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
#pragma unroll
      for (uint32_t c = 0; c < V; c++) {
        const float d = counts[j] ? v[j][c] - pivot[c] : 0;
        sum[c] += d;
        squares[c] = fmaf_(d, d, squares[c]);
      }
    }
  }
  put_sums<V>(a, sum, squares);
}

template <class P> DEV void moments(const NormArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 ? sum_moments<P, 4>(a) : sum_moments<P, 1>(a);
}

template <class P> DEV void statistics(const NormArgs &a) {
  const Work *work = a.work;
  if (blockIdx.y >= work->clients) return;
  const Sums s = chunk_sums(a);
  const uint32_t c = 32 * blockIdx.x + threadIdx.x;
  if (threadIdx.x >= 32 || c >= a.C) return;
  const float *row = work->slots[blockIdx.y].row;
  const uint32_t pivot = pivot_row(a, a.labels + (size_t)blockIdx.y * a.B);
  const typename P::act *x = (const typename P::act *)a.x + ((size_t)blockIdx.y * a.B * a.pixels + pivot) * a.C;
  const double n = (double)work->count[(size_t)blockIdx.y * a.E + a.step] * a.pixels;
  double mean = 0, inverse = 0, unbiased = 0;
  if (n > 0) {
    const double off = s.first / n;
    double squares = s.second - n * off * off;
    if (squares < 0) squares = 0;  // by rounding; a NaN stays
    mean = P::load(x[c]) + off;
    inverse = 1 / sqrt_d(squares / n + NORM_EPSILON);
    unbiased = squares / (n - 1);
  }
  const double scale = row[a.w_offset + c] * inverse;
  norm_stats(a, SCALE)[c] = (float)scale;
  norm_stats(a, SHIFT)[c] = (float)(row[a.b_offset + c] - mean * scale);
  norm_stats(a, MEAN)[c] = (float)mean;
  norm_stats(a, INVERSE)[c] = (float)inverse;
  norm_stats(a, UNBIASED)[c] = (float)unbiased;
}

// normalise writes y at the rows of a thread. labels may be null: then all samples count.
template <class P, uint32_t V>
DEV void normalise(const NormArgs &a, const int32_t *labels, Place &p, const float (&scale)[V],
                   const float (&shift)[V]) {
  typedef typename P::act act;
  const size_t base = (size_t)blockIdx.y * a.B * a.pixels * a.C;
  const act *x = (const act *)a.x + base, *add = (const act *)a.add + base;
  act *y = (act *)a.y + base;
  while (p.row < p.end) {
    float v[4][V], more[4][V] = {};
    size_t at[4];
    bool real[4], counts[4];
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      at[j] = element(a, p);
      real[j] = p.row < p.end;
      load_channels<P, V>(v[j], x + at[j]);
      if (a.add) load_channels<P, V>(more[j], add + at[j]);
      counts[j] = next(a, labels, p);
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
#pragma unroll
      for (uint32_t c = 0; c < V; c++) {
        v[j][c] = fmaf_(v[j][c], scale[c], shift[c]) + more[j][c];
        if ((a.relu && v[j][c] <= 0) || !counts[j]) v[j][c] = 0;  // NaN passes, as on the CPU
      }
      if (real[j]) store_channels<P, V>(y + at[j], v[j]);
    }
  }
}

// apply_statistics is norm_apply for V channels per thread.
template <class P, uint32_t V> DEV void apply_statistics(const NormArgs &a) {
  Place p = place<V>(a);
  if (p.row >= p.end) return;
  float scale[V], shift[V];
  load_channels<FP32, V>(scale, norm_stats(a, SCALE) + p.c);
  load_channels<FP32, V>(shift, norm_stats(a, SHIFT) + p.c);
  normalise<P, V>(a, a.labels + (size_t)blockIdx.y * a.B, p, scale, shift);
}

template <class P> DEV void apply(const NormArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 ? apply_statistics<P, 4>(a) : apply_statistics<P, 1>(a);
}

// apply_running is norm_evaluate for V channels per thread.
template <class P, uint32_t V> DEV void apply_running(const NormArgs &a) {
  const float *row = a.work->slots[blockIdx.y].row;
  Place p = place<V>(a);
  if (p.row >= p.end) return;
  float scale[V], shift[V];
#pragma unroll
  for (uint32_t c = 0; c < V; c++) {
    scale[c] = row[a.w_offset + p.c + c] / sqrtf_(row[a.variance_offset + p.c + c] + (float)NORM_EPSILON);
    shift[c] = row[a.b_offset + p.c + c] - row[a.mean_offset + p.c + c] * scale[c];
  }
  normalise<P, V>(a, nullptr, p, scale, shift);
}

template <class P> DEV void evaluate(const NormArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 ? apply_running<P, 4>(a) : apply_running<P, 1>(a);
}

extern "C" __global__ void __launch_bounds__(256) norm_moments_fp32(const NormArgs a) { moments<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_moments_tf32(const NormArgs a) { moments<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_moments_bf16(const NormArgs a) { moments<BF16>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_statistics_fp32(const NormArgs a) { statistics<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_statistics_tf32(const NormArgs a) { statistics<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_statistics_bf16(const NormArgs a) { statistics<BF16>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_apply_fp32(const NormArgs a) { apply<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_apply_tf32(const NormArgs a) { apply<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_apply_bf16(const NormArgs a) { apply<BF16>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_evaluate_fp32(const NormArgs a) { evaluate<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_evaluate_tf32(const NormArgs a) { evaluate<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_evaluate_bf16(const NormArgs a) { evaluate<BF16>(a); }
