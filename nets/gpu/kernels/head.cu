// head: the end of a net of fully connected layers in training: two layers, the loss, and all gradients of these three
//   h[k,b,j] = max(0, b1[k,j] + Σ_i x[k,b,i] w1[k,i,j]),  logits[k,b,o] = b2[k,o] + Σ_j h[k,b,j] w2[k,j,o]
//   loss[step,k] and dlogits[k,b,o]: those of cross_entropy
//   dw2[k,j,o] = Σ_b h[k,b,j] dlogits[k,b,o],  db2[k,o] = Σ_b dlogits[k,b,o]
//   dh[k,b,j] = Σ_o dlogits[k,b,o] w2[k,j,o] unless h[k,b,j] <= 0, else 0
//   dw1[k,i,j] = Σ_b x[k,b,i] dh[k,b,j],  db1[k,j] = Σ_b dh[k,b,j]
//   dx[k,b,i] = Σ_j dh[k,b,j] w1[k,i,j] unless x[k,b,i] <= 0, else 0
//
// x [K,B,I] comes from a ReLU; dx is the gradient in front of that. B ≤ 128, J ≤ 64, O ≤ 16. w1, b1, w2, b2 are those
// of slot k. h, the logits and their gradients stay in shared memory.
// Grid (1, K), block 256, smem 96 KB (bf16 72 KB) and static 1.3 KB: one launch in place of nine, each of which would
// wait for the one before. The block takes all of h, then 128 inputs at a time.
// Without grad the weights are updated at once, unless no sample of the batch counts.
// Moves act (2|x| + |w1| + |w2|) bytes per slot, and of every gradient 4 bytes or what sgd moves beside gradients; and
// |x| + |w1| elements more from L2. Deterministic:
// all sums have the order of the sums of linear_forward, linear_backward_filter, linear_backward_data, cross_entropy.
#include "head_loss.cuh"

// Static has what is in shared memory from the first to the last product.
struct Static {
  float b1[HIDDEN], b2[OUTPUTS];
  double losses[ROWS];  // 0 where the sample does not count
};

// hidden_layer leaves h in shared memory, zeros behind B and J, and has begun to copy the first INPUTS rows of w1.
template <class P>
DEV void hidden_layer(const HeadArgs &a, const Slot &slot, const Static &s, unsigned char *shared) {
  typedef Head<P> S;
  typedef typename S::Forward T;
  typedef typename T::template A<P, true> A;
  typedef typename T::template Weights<P, false> B;
  const auto w1 = source<typename P::act>(slot.weights, a.w1_offset, a.I, a.J);
  typename T::Sums acc = {};
  float unused = 0;
  multiply_tile<P, T, A, B>(acc, unused, false, shared,
                            source<typename P::act>(a.x, size_t(blockIdx.y) * a.B * a.I, a.B, a.I), w1, 0, 0, 0, a.I);
  __syncthreads(); // everyone has used all stages
  copy_tile<typename S::W1>(shared + S::W1_AT, w1, blockIdx.x * INPUTS, 0);
  cp_async_commit();
  add_slices<T>(acc, shared + S::SUMS);
  const Place at = place<T>();
  if (at.slice > 0) return;
  constexpr int WIDTH = store_width<P>;
  store_tile<P, T, A, B>(
      acc, at, [](uint32_t) {},
      [&](uint32_t b, uint32_t j, float(&v)[WIDTH]) {
#pragma unroll
        for (uint32_t n = 0; n < WIDTH; n++)
          v[n] = b < a.B && j + n < a.J ? fmax_nan(v[n] + s.b1[j + n], 0.0f) : 0.0f;
        write_act<P>(element<typename S::H>(shared, b, j), v);
      });
}

// classify leaves the logits of a warp's 16 samples [16,LOGITS_ROW] in shared memory.
constexpr uint32_t LOGITS_ROW = OUTPUTS + 1; // rows begin in different banks

template <class P>
DEV void classify(const Static &s, unsigned char *shared, float *logits) {
  typedef Head<P> S;
  typedef typename S::Classify T;
  typedef typename S::H A;
  typedef typename S::W2 B;
  const Place at = {0, threadIdx.x / 32 * 16, 0};
  const Origin from = origin<P, T, A, B>(at.m, 0, 0);
  typename T::Sums acc[HIDDEN / 16] = {};
#pragma unroll
  for (uint32_t k = 0; k < HIDDEN; k += 16)
    multiply<P, T, A, B>(acc[k / 16], shared, {from.a, S::W2_AT + from.b}, k);
#pragma unroll
  for (int k = 1; k < HIDDEN / 16; k++)
#pragma unroll
    for (int i = 0; i < 8; i++) acc[0][i / 4][i % 4] += acc[k][i / 4][i % 4];
  constexpr int WIDTH = store_width<P>;
  store_tile<P, T, A, B>(
      acc[0], at, [](uint32_t) {},
      [&](uint32_t b, uint32_t o, const float(&v)[WIDTH]) {
#pragma unroll
        for (uint32_t n = 0; n < WIDTH; n++) logits[(b - at.m) * LOGITS_ROW + o + n] = v[n] + s.b2[o + n];
      });
  __syncthreads();
}

// store_bias_gradient hands on the sums of the columns of a matrix [ROWS,N] in shared memory. The rows are dealt out to
// PARTS threads per column, EACH at a time, and their sums added in order: the order of linear_backward_filter. All
// threads must call it; it overwrites sums.
template <class P, class O, uint32_t N, uint32_t PARTS, uint32_t EACH>
DEV void store_bias_gradient(const Sink<P> &to, uint32_t offset, uint32_t columns, unsigned char *matrix, float *sums) {
  const uint32_t column = threadIdx.x % N, part = threadIdx.x / N;
  float sum = 0;
  if (part < PARTS) {
#pragma unroll 1
    for (uint32_t first = part * EACH; first < ROWS; first += PARTS * EACH)
#pragma unroll
      for (uint32_t i = 0; i < EACH; i++) sum += P::load(*element<O>(matrix, first + i, column));
    sums[threadIdx.x] = sum;
  }
  __syncthreads();
  if (part > 0 || column >= columns) return;
#pragma unroll
  for (uint32_t p = 1; p < PARTS; p++) sum += sums[p * N + column];
  to.one(offset + column, sum);
}

// store_gradient hands on the gradients of weights [rows,columns] at an offset of a row, from a tile of sums whose rows
// count from `first` on.
template <class P, class T, class A, class B>
DEV void store_gradient(const typename T::Sums &acc, const Place &at, const Sink<P> &to, uint32_t offset,
                        uint32_t first, uint32_t rows, uint32_t columns) {
  constexpr int WIDTH = store_width<P>;
  store_tile<P, T, A, B>(
      acc, at, [](uint32_t) {},
      [&](uint32_t m, uint32_t n, const float(&v)[WIDTH]) INLINE {
        const uint32_t row = first + m, element = offset + row * columns + n;
        if (row >= rows) return;
        if (columns % WIDTH == 0) {
          if (n < columns) to.one(element, v);
          return;
        }
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
          if (n + i < columns) to.one(element + i, v[i]);
      });
}

// classifier_gradients writes dw2 and db2, by the first block of a slot. It waits for dlogits, and ends when h may be
// overwritten.
template <class P>
DEV void classifier_gradients(const HeadArgs &a, const Sink<P> &to, unsigned char *shared) {
  typedef Head<P> S;
  typedef typename S::Filter2 T;
  typedef Turned<typename S::H> A;
  typedef typename S::DLogits B;
  __syncthreads();
  if (blockIdx.x > 0) return;
  float *sums = reinterpret_cast<float *>(shared + S::SUMS);
  store_bias_gradient<P, B, OUTPUTS, 8, 8>(to, a.b2_offset, a.O, shared + S::DLOGITS_AT, sums);
  const Place at = place<T>();
  const Origin from = origin<P, T, A, B>(at.m, at.n, at.slice * (T::BK / T::SLICES));
  typename T::Sums acc = {};
#pragma unroll
  for (uint32_t k = 0; k < ROWS; k += T::BK) multiply<P, T, A, B>(acc, shared, {from.a, S::DLOGITS_AT + from.b}, k);
  add_slices<T>(acc, shared + S::SUMS);
  if (at.slice == 0) store_gradient<P, T, A, B>(acc, at, to, a.w2_offset, 0, a.J, a.O);
}

// hidden_gradient puts dh in the place of h, and writes db1 by the first block of a slot.
template <class P>
DEV void hidden_gradient(const HeadArgs &a, const Sink<P> &to, unsigned char *shared) {
  typedef Head<P> S;
  typedef typename S::Hidden T;
  typedef Turned<typename S::DLogits> A;
  typedef Turned<typename S::W2> B;
  constexpr int WIDTH = store_width<P>;
#pragma unroll
  for (uint32_t j0 = 0; j0 < HIDDEN; j0 += T::BN) {
    const Place at = {0, threadIdx.x / 32 * 16, j0};
    const Origin from = origin<P, T, A, B>(at.m, at.n, 0);
    typename T::Sums acc = {};
    multiply<P, T, A, B>(acc, shared, {S::DLOGITS_AT + from.a, S::W2_AT + from.b}, 0);
    store_tile<P, T, A, B>(
        acc, at, [](uint32_t) {},
        [&](uint32_t b, uint32_t j, float(&v)[WIDTH]) {
          typename P::act *to = element<typename S::H>(shared, b, j);
          float h[WIDTH];
          read_act<P>(h, to);
          close(v, h);
          write_act<P>(to, v);
        });
  }
  __syncthreads();
  if (blockIdx.x > 0) return;
  constexpr uint32_t EACH = 64 / sizeof(typename P::act); // half of a stage of linear_backward_filter
  store_bias_gradient<P, typename S::H, HIDDEN, 2, EACH>(to, a.b1_offset, a.J, shared,
                                                         reinterpret_cast<float *>(shared + S::SUMS));
  __syncthreads();
}

// input_gradients writes dx and dw1 of the inputs from i0 on. The rows of w1 are on their way already; before it stores
// dw1 it begins to copy the rows from `next` on, if there are any.
template <class P>
DEV void input_gradients(const HeadArgs &a, const Slot &slot, const Sink<P> &to, unsigned char *shared, uint32_t i0,
                         uint32_t next) {
  typedef typename P::act act;
  typedef Head<P> S;
  typedef typename S::H H;
  typedef typename S::X X;
  const auto x = source<act>(a.x, size_t(blockIdx.y) * a.B * a.I, a.B, a.I);
  copy_tile<typename S::XHalf>(shared + S::X_AT, x, i0, 0);
  cp_async_commit();
  cp_async_wait<1>();
  __syncthreads(); // everyone's part of w1 has arrived
  typedef typename S::Data1 D;
  const Place at = place<D>();
  const Origin from = origin<P, D, H, typename S::W1>(at.m, at.n, 0);
  typename D::Sums data = {};
#pragma unroll
  for (uint32_t k = 0; k < HIDDEN; k += 16)
    multiply<P, D, H, typename S::W1>(data, shared, {from.a, S::W1_AT + from.b}, k);
  __syncthreads(); // everyone has used w1
  copy_tile<typename S::XHalf>(shared + S::W1_AT, x, i0, ROWS / 2);
  cp_async_commit();

  typedef typename S::Filter1 F;
  const Place filter_at = place<F>();
  const Origin filter_from = origin<P, F, X, Turned<H>>(filter_at.m, filter_at.n, 0);
  typename F::Sums filter = {};
#pragma unroll
  for (uint32_t k = 0; k < ROWS; k += 16) {
    if (k == 0) cp_async_wait<1>();
    if (k == ROWS / 2) cp_async_wait<0>();
    if (k % (ROWS / 2) == 0) __syncthreads(); // everyone's part of this half of x has arrived
    multiply<P, F, X, Turned<H>>(filter, shared, {S::X_AT + filter_from.a, filter_from.b}, k);
  }

  act *dx = static_cast<act *>(a.dx) + size_t(blockIdx.y) * a.B * a.I;
  constexpr int WIDTH = store_width<P>;
  const bool aligned = vectors_fit<WIDTH>(dx, a.I, sizeof(act));
  store_tile<P, D, H, typename S::W1>(
      data, at, [](uint32_t) {},
      [&](uint32_t b, uint32_t i, float(&v)[WIDTH]) {
        float y[WIDTH];
        read_act<P>(y, element<X>(shared + S::X_AT, b, i));
        close(v, y);
        if (b < a.B) store_act<P>(dx + size_t(b) * a.I, i0 + i, a.I, aligned, v);
      });
  if (next < a.I) {
    __syncthreads(); // everyone has used x
    copy_tile<typename S::W1>(shared + S::W1_AT, source<act>(slot.weights, a.w1_offset, a.I, a.J), next, 0);
    cp_async_commit();
  }
  store_gradient<P, F, X, Turned<H>>(filter, filter_at, to, a.w1_offset, i0, a.I, a.J);
}

// classifier_weights returns the four elements of w2 that this thread puts into shared memory, zeros behind J and O.
template <class P>
DEV float4 classifier_weights(const HeadArgs &a, const Slot &slot) {
  static_assert(HIDDEN * OUTPUTS == 4 * HEAD_THREADS, "four for each thread");
  const uint32_t j = threadIdx.x / 4, o = threadIdx.x % 4 * 4;
  const typename P::act *w2 = static_cast<const typename P::act *>(slot.weights) + a.w2_offset + size_t(j) * a.O;
  float v[4];
#pragma unroll
  for (uint32_t n = 0; n < 4; n++) v[n] = j < a.J && o + n < a.O ? P::load(w2[o + n]) : 0;
  return {v[0], v[1], v[2], v[3]};
}

// no_sample writes the loss and dx of a batch in which no sample counts. Its weights stay, and sgd reads no gradients.
template <class P>
DEV void no_sample(const HeadArgs &a) {
  typename P::act *dx = static_cast<typename P::act *>(a.dx) + size_t(blockIdx.y) * a.B * a.I;
  for (uint32_t i = blockIdx.x * HEAD_THREADS + threadIdx.x; i < a.B * a.I; i += gridDim.x * HEAD_THREADS) dx[i] = 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) a.loss[size_t(a.step) * a.capacity + blockIdx.y] = 0;
}

template <class P>
DEV void head(const HeadArgs &a) {
  typedef Head<P> S;
  DYNAMIC_SHARED(unsigned char, shared);
  SHARED(Static, s);
  const uint32_t k = blockIdx.y, thread = threadIdx.x;
  if (k >= a.work->clients) return;
  const Slot &slot = a.work->slots[k];
  Sink<P> to = sink_of<P>(a.work, a.grad, a.P);
  // What is read from memory before the first product, and wanted behind it.
  const int32_t count = a.work->count[size_t(k) * a.E + a.step];
  if (count == 0) return no_sample<P>(a);
  const uint32_t b = thread / 2;
  const int32_t label = b < a.B ? a.labels[size_t(k) * a.B + b] : -1;
  if (thread < HIDDEN) s.b1[thread] = thread < a.J ? slot.row[a.b1_offset + thread] : 0;
  if (thread < OUTPUTS) s.b2[thread] = thread < a.O ? slot.row[a.b2_offset + thread] : 0;
  const float4 w2 = classifier_weights<P>(a, slot);

  hidden_layer<P>(a, slot, s, shared);
  __syncthreads(); // the room for sums is free
  store4<P>(element<typename S::W2>(shared + S::W2_AT, thread / 4, thread % 4 * 4), w2);
  __syncthreads();
  float *logits = reinterpret_cast<float *>(shared + S::SUMS) + thread / 32 * 16 * LOGITS_ROW;
  classify<P>(s, shared, logits);
  sample_loss<P>(a, logits + b % 16 * LOGITS_ROW, label, 1 / (double)count, b, s.losses, shared + S::DLOGITS_AT);
  classifier_gradients<P>(a, to, shared);
  if (blockIdx.x == 0 && thread < 32) batch_loss(a, s.losses, count);
  hidden_gradient<P>(a, to, shared);
  const uint32_t step = gridDim.x * INPUTS;
#pragma unroll 1
  for (uint32_t i0 = blockIdx.x * INPUTS; i0 < a.I; i0 += step)
    input_gradients<P>(a, slot, to, shared, i0, i0 + step);
}

extern "C" __global__ void __launch_bounds__(HEAD_THREADS, 1) head_fp32(const HeadArgs a) { head<FP32>(a); }
extern "C" __global__ void __launch_bounds__(HEAD_THREADS, 1) head_tf32(const HeadArgs a) { head<TF32>(a); }
extern "C" __global__ void __launch_bounds__(HEAD_THREADS, 1) head_bf16(const HeadArgs a) { head<BF16>(a); }
