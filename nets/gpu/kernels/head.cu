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

// The loops over tiles and neighbours are not unrolled: a block runs through most of this code once or twice, and waits
// for instructions longer than for their results.

// multiply_depth adds the product of the depth from k on, up to `end`, to acc. from is the Origin at depth 0.
template <class P, class T, class A, class B>
DEV void multiply_depth(typename T::Sums &acc, const unsigned char *shared, const Origin &from, uint32_t k,
                        uint32_t end) {
  constexpr uint32_t STEP = by_mma<P> ? 32 : 16;
#pragma unroll 1
  for (; k < end; k += STEP) {
    const Origin at = {along<A>(from.a, k), along<B>(from.b, k)};
#pragma unroll
    for (uint32_t e = 0; e < STEP; e += 16) multiply<P, T, A, B>(acc, shared, at, e);
  }
}

// hidden_layer leaves h in shared memory, zeros behind B and J.
template <class P>
DEV void hidden_layer(const HeadArgs &a, const Slot &slot, const Static &s, unsigned char *shared) {
  typedef Head<P> S;
  typedef typename S::Forward T;
  typedef typename T::template A<P, true> A;
  typedef typename T::template Weights<P, false> B;
  typename T::Sums acc = {};
  float unused = 0;
  multiply_tile<P, T, A, B>(acc, unused, false, shared,
                            source<typename P::act>(a.x, size_t(blockIdx.y) * a.B * a.I, a.B, a.I),
                            source<typename P::act>(slot.weights, a.w1_offset, a.I, a.J), 0, 0, 0, a.I);
  add_slices<T>(acc, shared + S::SUMS);
  __syncthreads(); // everyone has used the sums of the slices
  const Place at = place<T>();
  float *sums = reinterpret_cast<float *>(shared + S::SUMS);  // [ROWS][HIDDEN] in rows of H_SUMS_ROW
  if (at.slice == 0) {
    store_tile<P, T, A, B>(
        acc, at, [](uint32_t) INLINE {},
        [&](uint32_t b, uint32_t j, const float(&v)[store_width<P>])
            INLINE { write_floats(sums + b * S::H_SUMS_ROW + j, v); });
  }
  __syncthreads(); // everyone's sums
  const uint32_t j = threadIdx.x * 4 % HIDDEN;
  float bias[4];
  read_floats(bias, s.b1 + j);
  constexpr uint32_t DOWN = HEAD_THREADS * 4 / HIDDEN; // rows that all threads take at once
#pragma unroll 2
  for (uint32_t r = 0; r < ROWS; r += DOWN) {
    const uint32_t b = r + threadIdx.x * 4 / HIDDEN;
    float v[4];
    read_floats(v, sums + b * S::H_SUMS_ROW + j);
#pragma unroll
    for (uint32_t n = 0; n < 4; n++) {
      const float open = fmax_nan(v[n] + bias[n], 0.0f); // also where it is not wanted: reads stay vectors
      v[n] = b < a.B && j + n < a.J ? open : 0.0f;
    }
    store4<P>(element<typename S::H>(shared, b, j), {v[0], v[1], v[2], v[3]});
  }
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
  typename T::Sums acc = {};
  // Products of tensor cores take longer than their instructions, so that these do not wait for one another.
  constexpr int AT_ONCE = by_mma<P> ? HIDDEN / 16 : 1;
#pragma unroll AT_ONCE
  for (uint32_t k = 0; k < HIDDEN; k += 16) {
    typename T::Sums part = {};
    multiply<P, T, A, B>(part, shared, {along<A>(from.a, k), S::W2_AT + along<B>(from.b, k)}, 0);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      float &sum = acc[i / 4][i % 4];
      sum = k == 0 ? part[i / 4][i % 4] : sum + part[i / 4][i % 4];
    }
  }
  constexpr int WIDTH = store_width<P>;
  store_tile<P, T, A, B>(
      acc, at, [](uint32_t) INLINE {},
      [&](uint32_t b, uint32_t o, const float(&v)[WIDTH]) INLINE {
#pragma unroll
        for (uint32_t n = 0; n < WIDTH; n++) logits[(b - at.m) * LOGITS_ROW + o + n] = v[n] + s.b2[o + n];
      });
  __syncthreads();
}

// Small has the gradients of w2 and of both biases in the room for sums, and room for the sums of their parts.
struct Small {
  static constexpr uint32_t ROW = OUTPUTS + 4; // rows of dw2 begin in different banks
  float dw2[HIDDEN * ROW], db1[HIDDEN], db2[OUTPUTS];
  float parts[HEAD_THREADS];
};

// bias_gradient writes the sums of the columns of a matrix [ROWS,N] in shared memory. The rows are dealt out to
// PARTS threads per column, EACH at a time, and their sums added in order: the order of linear_backward_filter. All
// threads must call it; it overwrites parts.
template <class P, class O, uint32_t N, uint32_t PARTS, uint32_t EACH>
DEV void bias_gradient(float (&to)[N], unsigned char *matrix, float (&parts)[HEAD_THREADS]) {
  const uint32_t column = threadIdx.x % N, part = threadIdx.x / N;
  float sum = 0;
  if (part < PARTS) {
#pragma unroll 1
    for (uint32_t first = part * EACH; first < ROWS; first += PARTS * EACH)
#pragma unroll
      for (uint32_t i = 0; i < EACH; i++) sum += P::load(*element<O>(matrix, first + i, column));
    parts[threadIdx.x] = sum;
  }
  __syncthreads();
  if (part > 0) return;
#pragma unroll
  for (uint32_t p = 1; p < PARTS; p++) sum += parts[p * N + column];
  to[column] = sum;
}

// classifier_gradients leaves dw2 and db2 in shared memory. It waits for dlogits, and ends when h may be overwritten.
template <class P>
DEV void classifier_gradients(unsigned char *shared, Small &small) {
  typedef Head<P> S;
  typedef typename S::Filter2 T;
  typedef Turned<typename S::H> A;
  typedef typename S::DLogits B;
  static_assert(sizeof(Small) <= S::SUMS_BYTES, "the gradients fit into the room for sums");
  __syncthreads();
  const Place at = place<T>();
  const Origin from = origin<P, T, A, B>(at.m, at.n, at.slice * (T::BK / T::SLICES));
  typename T::Sums acc = {};
  constexpr int AT_ONCE = by_mma<P> ? ROWS / T::BK : 1;
#pragma unroll AT_ONCE
  for (uint32_t k = 0; k < ROWS; k += T::BK)
    multiply<P, T, A, B>(acc, shared, {along<A>(from.a, k), S::DLOGITS_AT + along<B>(from.b, k)}, 0);
  add_slices<T>(acc, shared + S::SUMS);
  __syncthreads(); // everyone has used the sums of the slices, and h
  if (at.slice == 0) {
    store_tile<P, T, A, B>(
        acc, at, [](uint32_t) INLINE {},
        [&](uint32_t j, uint32_t o, const float(&v)[store_width<P>])
            INLINE { write_floats(small.dw2 + j * Small::ROW + o, v); });
  }
  bias_gradient<P, B, OUTPUTS, 8, 8>(small.db2, shared + S::DLOGITS_AT, small.parts);
}

// hidden_gradient puts dh in the place of h, and leaves db1 in shared memory.
template <class P>
DEV void hidden_gradient(unsigned char *shared, Small &small) {
  typedef Head<P> S;
  typedef typename S::Hidden T;
  typedef Turned<typename S::DLogits> A;
  typedef Turned<typename S::W2> B;
  constexpr int WIDTH = store_width<P>;
#pragma unroll 1
  for (uint32_t j0 = 0; j0 < HIDDEN; j0 += T::BN) {
    const Place at = {0, threadIdx.x / 32 * 16, j0};
    const Origin from = origin<P, T, A, B>(at.m, at.n, 0);
    typename T::Sums acc = {};
    multiply<P, T, A, B>(acc, shared, {S::DLOGITS_AT + from.a, S::W2_AT + from.b}, 0);
    store_tile<P, T, A, B>(
        acc, at, [](uint32_t) INLINE {},
        [&](uint32_t b, uint32_t j, float(&v)[WIDTH]) INLINE {
          typename P::act *to = element<typename S::H>(shared, b, j);
          float h[WIDTH];
          read_act<P>(h, to);
          close(v, h);
          write_act<P>(to, v);
        });
  }
  __syncthreads();
  constexpr uint32_t EACH = 64 / sizeof(typename P::act); // half of a stage of linear_backward_filter
  bias_gradient<P, typename S::H, HIDDEN, 2, EACH>(small.db1, shared, small.parts);
  __syncthreads();
}

// take_small hands the gradients of w2 and of both biases on: at most four of w2 and one of a bias by each thread.
template <class P>
DEV void take_small(const HeadArgs &a, const Sink<P> &to, const Small &small) {
  constexpr uint32_t EACH = HIDDEN * OUTPUTS / HEAD_THREADS;
  const uint32_t o = threadIdx.x % OUTPUTS, j = threadIdx.x / OUTPUTS;
  uint32_t at[EACH + 1];
  float g[EACH + 1][1];
#pragma unroll
  for (uint32_t r = 0; r < EACH; r++) {
    const uint32_t row = j + r * (HEAD_THREADS / OUTPUTS);
    at[r] = row < a.J && o < a.O ? a.w2_offset + row * a.O + o : NOWHERE;
    g[r][0] = small.dw2[row * Small::ROW + o];
  }
  const uint32_t i = threadIdx.x % (2 * HIDDEN);
  const bool second = i >= HIDDEN;
  at[EACH] = threadIdx.x < 2 * HIDDEN && i % HIDDEN < (second ? a.O : a.J)
                 ? (second ? a.b2_offset : a.b1_offset) + i % HIDDEN
                 : NOWHERE;
  g[EACH][0] = second ? small.db2[i % OUTPUTS] : small.db1[i];
  to.take(at, g);
}

// store_dx writes dx of the inputs from i0 on, which lies in the place of x, not rounded if it is in float.
template <class P>
DEV void store_dx(const HeadArgs &a, unsigned char *tile, uint32_t i0) {
  typedef typename P::act act;
  typedef typename Head<P>::X X;
  act *dx = static_cast<act *>(a.dx) + size_t(blockIdx.y) * a.B * a.I + i0;
  const uint32_t columns = a.I - i0;
  if (vectors_fit<X::CHUNK>(dx, a.I, sizeof(act))) {
    const uint32_t row = threadIdx.x / X::ROW_CHUNKS, chunk = threadIdx.x % X::ROW_CHUNKS, column = chunk * X::CHUNK;
    if (column >= columns) return;
    constexpr uint32_t DOWN = HEAD_THREADS / X::ROW_CHUNKS; // rows that all threads write at once
    const uint32_t at = X::at(row, chunk);
#pragma unroll 1
    for (uint32_t r = 0; r < ROWS; r += 2 * DOWN) {
      uint4 v[2];
#pragma unroll
      for (uint32_t i = 0; i < 2; i++) v[i] = read_vector<uint4>(tile + X::beside(at, r + i * DOWN, 0));
#pragma unroll
      for (uint32_t i = 0; i < 2; i++) {
        const uint32_t b = row + r + i * DOWN;
        if (b >= a.B) continue;
        act *to = dx + size_t(b) * a.I + column;
        if constexpr (sizeof(act) == 4)
          store4<P>(to, __builtin_bit_cast(float4, v[i]));
        else
          write_vector(to, v[i]);
      }
    }
    return;
  }
  const uint32_t column = threadIdx.x % INPUTS;
  if (column >= columns) return;
#pragma unroll 1
  for (uint32_t b = threadIdx.x / INPUTS; b < a.B; b += HEAD_THREADS / INPUTS) {
    const act *from = element<X>(tile, b, column);
    if constexpr (sizeof(act) == 4)
      dx[size_t(b) * a.I + column] = P::store(*from);
    else
      dx[size_t(b) * a.I + column] = *from;
  }
}

// input_gradients writes dx and dw1 of the inputs from i0 on. The rows of w1 are on their way already; before it hands
// dw1 on it begins to copy the rows of the next inputs, if there are any.
template <class P>
DEV void input_gradients(const HeadArgs &a, const Slot &slot, const Sink<P> &to, unsigned char *shared, uint32_t i0) {
  typedef typename P::act act;
  typedef Head<P> S;
  typedef typename S::H H;
  typedef typename S::X X;
  const auto x = source<act>(a.x, size_t(blockIdx.y) * a.B * a.I, a.B, a.I);
  __syncthreads(); // everyone has used the gradients in the place of x
  copy_tile<typename S::XHalf>(shared + S::X_AT, x, i0, 0);
  cp_async_commit();
  cp_async_wait<1>();
  __syncthreads(); // everyone's part of w1 has arrived
  typedef typename S::Data1 D;
  typedef typename S::W1 W1;
  const Place at = place<D>();
  const Origin from = origin<P, D, H, W1>(at.m, at.n, 0);
  typename D::Sums data = {};
  multiply_depth<P, D, H, W1>(data, shared, {from.a, S::W1_AT + from.b}, 0, HIDDEN);
  __syncthreads(); // everyone has used w1
  copy_tile<typename S::XHalf>(shared + S::W1_AT, x, i0, ROWS / 2);
  cp_async_commit();

  typedef typename S::Filter1 F;
  typedef Turned<H> DH;
  const Place filter_at = place<F>();
  const Origin filter_from = origin<P, F, X, DH>(filter_at.m, filter_at.n, 0);
  typename F::Sums filter = {};
#pragma unroll 1
  for (uint32_t k = 0; k < ROWS; k += ROWS / 2) {
    if (k == 0)
      cp_async_wait<1>();
    else
      cp_async_wait<0>();
    __syncthreads(); // everyone's part of this half of x has arrived
    multiply_depth<P, F, X, DH>(filter, shared, {S::X_AT + filter_from.a, filter_from.b}, k, k + ROWS / 2);
  }

  constexpr int WIDTH = store_width<P>;
  __syncthreads(); // everyone has multiplied x
  store_tile<P, D, H, W1>(
      data, at, [](uint32_t) INLINE {},
      [&](uint32_t b, uint32_t i, float(&v)[WIDTH]) INLINE {
        act *place = element<X>(shared + S::X_AT, b, i);
        float y[WIDTH];
        read_act<P>(y, place);
        close(v, y);
        if constexpr (sizeof(act) == 4)
          write_floats(place, v);
        else
          write_act<P>(place, v);
      });
  __syncthreads(); // everyone's dx
  store_dx<P>(a, shared + S::X_AT, i0);
  if (i0 + INPUTS < a.I) {
    __syncthreads(); // everyone has used x
    copy_tile<W1>(shared + S::W1_AT, source<act>(slot.weights, a.w1_offset, a.I, a.J), i0 + INPUTS, 0);
    cp_async_commit();
  }
  static_assert(S::SUMS + INPUTS / 2 * row_stride<F>() * 4 <= S::W1_AT, "w1 arrives behind dw1");
  take_tile<P, F, X, DH, INPUTS / 2>(to, filter, shared + S::SUMS, {a.w1_offset, i0, 0, a.I, a.J},
                                     [](uint32_t i) INLINE { return i; });
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
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < a.B * a.I; i += HEAD_THREADS) dx[i] = 0;
  if (threadIdx.x == 0) a.loss[size_t(a.step) * a.capacity + blockIdx.y] = 0;
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
  __syncthreads(); // the room behind h is free
  copy_tile<typename S::W1>(shared + S::W1_AT, source<typename P::act>(slot.weights, a.w1_offset, a.I, a.J), 0, 0);
  cp_async_commit();
  store4<P>(element<typename S::W2>(shared + S::W2_AT, thread / 4, thread % 4 * 4), w2);
  __syncthreads();
  float *logits = reinterpret_cast<float *>(shared + S::SUMS) + thread / 32 * 16 * LOGITS_ROW;
  classify<P>(s, shared, logits);
  sample_loss<P>(a, logits + b % 16 * LOGITS_ROW, label, 1 / (double)count, b, s.losses, shared + S::DLOGITS_AT);
  Small &small = *reinterpret_cast<Small *>(shared + S::SUMS);
  classifier_gradients<P>(shared, small);
  if (thread < 32) batch_loss(a, s.losses, count);
  hidden_gradient<P>(shared, small);
  take_small(a, to, small);
#pragma unroll 1
  for (uint32_t i0 = 0; i0 < a.I; i0 += INPUTS) input_gradients<P>(a, slot, to, shared, i0);
}

extern "C" __global__ void __launch_bounds__(HEAD_THREADS, 1) head_fp32(const HeadArgs a) { head<FP32>(a); }
extern "C" __global__ void __launch_bounds__(HEAD_THREADS, 1) head_tf32(const HeadArgs a) { head<TF32>(a); }
extern "C" __global__ void __launch_bounds__(HEAD_THREADS, 1) head_bf16(const HeadArgs a) { head<BF16>(a); }
