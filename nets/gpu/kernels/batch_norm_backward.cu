// The gradient of batch normalisation in training. Let d be the gradient of y, 0 where the ReLU is shut and for samples
// that do not count, n = count·pixels, and x̂ = (x − mean)·inverse. Then
//   dbias = Σ d, dweight = Σ d·x̂, dadd = d, dx =
// weight·inverse·(d − dbias/n − x̂·dweight/n) and dx = 0 for samples that do not count.
//
// The gradient of y may come in two parts, gy and gy2; their sum is rounded to act, as kernel add would round it. Where
// nothing was added, y > 0 means scale·x + shift > 0: the kernel reads x anyway, and so need not read y.
// x, y, gy, gy2, d, dx [K,B,pixels,C] act. All are deterministic: shape alone decides how the sums are cut
// (batch_norm.cuh), and they are added in order.
//
// norm_sums: Σ d and Σ d·(x − mean) of every chunk, in float over 32 rows and in double from there on. Writes d if it
//   is the gradient of add, or the sum of two parts.
//   Grid (tiles·chunks, K), block 256, smem 8 KB; moves (|x| + |gy|) act per slot, and as much for each of gy2, d, y.
// norm_solve: dweight, dbias and the coefficients of dx, over all chunks. The mean and the unbiased variance of the
//   batch go to the place of the gradients of the running statistics. Slots whose batch has no sample that counts are
//   left out.
//   Grid (⌈C/32⌉, K), block 256, smem 4 KB; moves 16 bytes per channel and chunk.
// norm_input: dx = DX_D·d + DX_X·x + DX_1.
//   Grid (tiles·chunks, K), block 256; moves 3|x| act per slot.
#include "batch_norm.cuh"

// shut returns the gradient in front of a ReLU. A NaN in y lets the gradient g through, as on the CPU.
DEV float shut(float y, float g) { return y <= 0 ? 0 : g; }

// Gate has what decides whether the ReLU is open where nothing was added: the sign of scale·x + shift.
template <uint32_t V> struct Gate {
  float scale[V], shift[V];
};

// gate returns the Gate of the V channels from c on.
template <uint32_t V> DEV Gate<V> gate(const NormArgs &a, uint32_t c) {
  Gate<V> g;
  load_channels<FP32, V>(g.scale, norm_stats(a, SCALE) + c);
  load_channels<FP32, V>(g.shift, norm_stats(a, SHIFT) + c);
  return g;
}

// sum_gradients is norm_sums for V channels per thread.
template <class P, uint32_t V> DEV void sum_gradients(const NormArgs &a) {
  typedef typename P::act act;
  const int32_t *labels = a.labels + (size_t)blockIdx.y * a.B;
  const size_t base = (size_t)blockIdx.y * a.B * a.pixels * a.C;
  const act *x = (const act *)a.x + base, *y = (const act *)a.y + base, *gy = (const act *)a.gy + base,
            *gy2 = (const act *)a.gy2 + base;
  act *out = (act *)a.d + base;
  Place p = place<V>(a);
  float sum[V] = {}, product[V] = {}, mean[V] = {};
  Gate<V> g = {};
  if (p.row < p.end) {
    load_channels<FP32, V>(mean, norm_stats(a, MEAN) + p.c);
    g = gate<V>(a, p.c);
  }
  while (p.row < p.end) {
    float v[2][V], d[2][V], more[2][V] = {}, at_y[2][V];
    size_t at[2];
    bool real[2], counts[2];
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
      at[j] = element(a, p);
      real[j] = p.row < p.end;
      load_channels<P, V>(v[j], x + at[j]);
      load_channels<P, V>(d[j], gy + at[j]);
      if (a.gy2) load_channels<P, V>(more[j], gy2 + at[j]);
      if (a.y) load_channels<P, V>(at_y[j], y + at[j]);
      counts[j] = next(a, labels, p);
    }
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
#pragma unroll
      for (uint32_t c = 0; c < V; c++) {
        float &e = d[j][c];
        if (a.gy2) e = P::load(P::store(e + more[j][c]));
        if (a.relu) e = shut(a.y ? at_y[j][c] : fmaf_(v[j][c], g.scale[c], g.shift[c]), e);
        if (!counts[j]) e = 0;
        sum[c] += e;
        product[c] = fmaf_(e, counts[j] ? v[j][c] - mean[c] : 0, product[c]);
      }
      if (a.d && real[j]) store_channels<P, V>(out + at[j], d[j]);
    }
  }
  put_sums<V>(a, sum, product);
}

template <class P> DEV void sums(const NormArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 ? sum_gradients<P, 4>(a) : sum_gradients<P, 1>(a);
}

extern "C" __global__ void __launch_bounds__(256) norm_solve(const NormArgs a) {
  const Work *work = a.work;
  if (blockIdx.y >= work->clients) return;
  const double n = (double)work->count[(size_t)blockIdx.y * a.E + a.step] * a.pixels;
  if (n == 0) return;
  const Sums s = chunk_sums(a);
  const uint32_t c = 32 * blockIdx.x + threadIdx.x;
  if (threadIdx.x >= 32 || c >= a.C) return;
  float *grad = a.grad + (size_t)blockIdx.y * (a.P - a.first) - a.first;
  const double inverse = norm_stats(a, INVERSE)[c], mean = norm_stats(a, MEAN)[c];
  const double scale = work->slots[blockIdx.y].row[a.w_offset + c] * inverse,
               slope = -scale * inverse * inverse * s.second / n;
  norm_stats(a, DX_D)[c] = (float)scale;
  norm_stats(a, DX_X)[c] = (float)slope;
  norm_stats(a, DX_1)[c] = (float)(-scale * s.first / n - slope * mean);
  grad[a.w_offset + c] = (float)(s.second * inverse);
  grad[a.b_offset + c] = (float)s.first;
  grad[a.mean_offset + c] = norm_stats(a, MEAN)[c];
  grad[a.variance_offset + c] = norm_stats(a, UNBIASED)[c];
}

// input_gradient is norm_input for V channels per thread.
template <class P, uint32_t V> DEV void input_gradient(const NormArgs &a) {
  typedef typename P::act act;
  const int32_t *labels = a.labels + (size_t)blockIdx.y * a.B;
  const size_t base = (size_t)blockIdx.y * a.B * a.pixels * a.C;
  const act *x = (const act *)a.x + base, *from = (const act *)(a.d ? a.d : a.gy) + base;
  act *dx = (act *)a.dx + base;
  Place p = place<V>(a);
  if (p.row >= p.end) return;
  const Gate<V> g = gate<V>(a, p.c);
  const bool gated = a.relu && !a.d;
  float of_d[V], of_x[V], of_1[V];
  load_channels<FP32, V>(of_d, norm_stats(a, DX_D) + p.c);
  load_channels<FP32, V>(of_x, norm_stats(a, DX_X) + p.c);
  load_channels<FP32, V>(of_1, norm_stats(a, DX_1) + p.c);
  while (p.row < p.end) {
    float v[4][V], d[4][V];
    size_t at[4];
    bool real[4], counts[4];
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      at[j] = element(a, p);
      real[j] = p.row < p.end;
      load_channels<P, V>(v[j], x + at[j]);
      load_channels<P, V>(d[j], from + at[j]);
      counts[j] = next(a, labels, p);
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
#pragma unroll
      for (uint32_t c = 0; c < V; c++) {
        const float e = gated ? shut(fmaf_(v[j][c], g.scale[c], g.shift[c]), d[j][c]) : d[j][c];
        d[j][c] = counts[j] ? fmaf_(e, of_d[c], fmaf_(v[j][c], of_x[c], of_1[c])) : 0;
      }
      if (real[j]) store_channels<P, V>(dx + at[j], d[j]);
    }
  }
}

template <class P> DEV void input(const NormArgs &a) {
  if (blockIdx.y >= a.work->clients) return;
  a.C % 4 == 0 ? input_gradient<P, 4>(a) : input_gradient<P, 1>(a);
}

extern "C" __global__ void __launch_bounds__(256) norm_sums_fp32(const NormArgs a) { sums<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_sums_tf32(const NormArgs a) { sums<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_sums_bf16(const NormArgs a) { sums<BF16>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_input_fp32(const NormArgs a) { input<FP32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_input_tf32(const NormArgs a) { input<TF32>(a); }
extern "C" __global__ void __launch_bounds__(256) norm_input_bf16(const NormArgs a) { input<BF16>(a); }
