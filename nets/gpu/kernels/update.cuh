// The step of SGD: for sgd, and for kernels that compute a gradient and update the weights with it at once.
//
//   g = gradient + weight_decay·w + drift;  v = momentum·v + g, g = v;  w -= lr·g;  weights = w in bf16
//
// The order of operations is the order of nets.LocalWork and of the CPU's Step. Every addition is fused, except that of
// drift. So a kernel that updates at once gives the bits that it gives with a row of gradients and sgd behind it.
//
// A kernel asks trains() first, and leaves a slot alone that does not train. A layer's weights may be updated only when
// all kernels of the step that read them have run.
#pragma once
#include "elements.cuh"
#include "work.cuh"

// trains returns whether the slot of this block is in use, and has a sample that counts in the batch of the step. A
// slot without such a sample keeps its row and its momentum.
DEV bool trains(const Work *work, uint32_t step, uint32_t E) {
  return blockIdx.y < work->clients && work->count[(size_t)blockIdx.y * E + step] != 0;
}

// read_floats and write_floats move N neighbours, 1, 2 or 4, in one instruction. They must be aligned to the size of N.
template <int N> DEV void read_floats(float (&to)[N], const float *from) {
  static_assert(N == 1 || N == 2 || N == 4, "a vector");
  if constexpr (N == 4) {
    const float4 v = read_vector<float4>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else if constexpr (N == 2) {
    const float2 v = read_vector<float2>(from);
    to[0] = v.x, to[1] = v.y;
  } else {
    to[0] = *from;
  }
}
template <int N> DEV void write_floats(float *to, const float (&v)[N]) {
  if constexpr (N == 4)
    write_vector(to, float4{v[0], v[1], v[2], v[3]});
  else if constexpr (N == 2)
    write_vector(to, float2{v[0], v[1]});
  else
    *to = v[0];
}

// write_bf16 is write_floats for a copy in bf16.
template <int N> DEV void write_bf16(uint16_t *to, const float (&v)[N]) {
  if constexpr (N == 4)
    store4<BF16>(to, float4{v[0], v[1], v[2], v[3]});
  else if constexpr (N == 2)
    *reinterpret_cast<uint32_t *>(to) = pack_bf16(v[0], v[1]);
  else
    *to = to_bf16(v[0]);
}

constexpr uint32_t NOWHERE = ~0u;  // no element of a row

// Update takes the steps of one slot. It is made of what the slot and the wave say, and is the same in a whole block. A
// kernel without a precision of its own takes Update<BF16>, which looks whether the slot has a copy in bf16.
template <class P> struct Update {
  float *row;          // [P]
  uint16_t *weights;   // [P] the copy in bf16; null if matrix products read the row itself
  float *momentum;     // [P] or null
  const float *drift;  // [P] or null
  float lr, decay, mu;

  DEV Update of(const Work *work) {
    const Slot &slot = work->slots[blockIdx.y];
    uint16_t *weights = nullptr;
    if (sizeof(typename P::act) == 2 && slot.weights != slot.row) weights = static_cast<uint16_t *>(slot.weights);
    return {slot.row, weights, slot.momentum, slot.drift, work->lr, work->weight_decay, work->momentum};
  }

  // step updates R vectors of N neighbours, 1, 2 or 4: elements at[r] … at[r]+N−1 of the row, whose gradients are
  // g[r]. at[r] is a multiple of N, or NOWHERE, which leaves vector r out. All R are read before one is written, and
  // the momentum or the drift before the weights arrive, so that a thread waits for memory once, or twice if there are
  // both: R·N registers hold the weights, and as many the momentum or the drift.
  template <int R, int N> __device__ INLINE void step(const uint32_t (&at)[R], const float (&gradient)[R][N]) const {
    float g[R][N], w[R][N], more[R][N];
    const float *first = drift ? drift : momentum;
    uint32_t at_first[R];  // kept, for no branch: arithmetic would move in front of it, and wait for w
#pragma unroll
    for (int r = 0; r < R; r++) at_first[r] = kept(first ? at[r] : NOWHERE);
    read(w, row, at);
    read(more, first, at_first);
    each<R, N>([&](int r, int i) INLINE { g[r][i] = fmaf_(decay, w[r][i], gradient[r][i]); });
    if (drift) {
      each<R, N>([&](int r, int i) INLINE { g[r][i] += more[r][i]; });
      if (momentum) read(more, momentum, at);
    }
    if (momentum) {
      each<R, N>([&](int r, int i) INLINE { g[r][i] = fmaf_(mu, more[r][i], g[r][i]); });
      write(momentum, at, g);
    }
    each<R, N>([&](int r, int i) INLINE { w[r][i] = fmaf_(-lr, g[r][i], w[r][i]); });
    write(row, at, w);
    if (weights) {
#pragma unroll
      for (int r = 0; r < R; r++)
        if (at[r] != NOWHERE) write_bf16(weights + at[r], w[r]);
    }
  }

 private:
  template <int R, int N> DEV void read(float (&to)[R][N], const float *from, const uint32_t (&at)[R]) {
#pragma unroll
    for (int r = 0; r < R; r++)
      if (at[r] != NOWHERE) read_floats(to[r], from + at[r]);
  }
  template <int R, int N> DEV void write(float *to, const uint32_t (&at)[R], const float (&v)[R][N]) {
#pragma unroll
    for (int r = 0; r < R; r++)
      if (at[r] != NOWHERE) write_floats(to + at[r], v[r]);
  }
  template <int R, int N, class F> DEV void each(F f) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int i = 0; i < N; i++) f(r, i);
  }
};

// Sink takes the gradients of a slot. A kernel that has a row of gradients writes them there, for a norm to be computed
// and for sgd; a kernel that has none updates the weights at once.
template <class P> struct Sink {
  Update<P> update;
  float *grad;  // null: the weights are updated

  // take takes the gradients g[r] of elements at[r] …, which are elements of grad or of a row: see Update::step.
  template <int R, int N> __device__ INLINE void take(const uint32_t (&at)[R], const float (&g)[R][N]) const {
    if (!grad) return update.step(at, g);
#pragma unroll
    for (int r = 0; r < R; r++)
      if (at[r] != NOWHERE) write_floats(grad + at[r], g[r]);
  }

  // one takes the gradient of one vector of N neighbours, or of one element.
  template <int N> __device__ INLINE void one(uint32_t at, const float (&g)[N]) const {
    const uint32_t place[1] = {at};
    float v[1][N];
#pragma unroll
    for (int i = 0; i < N; i++) v[0][i] = g[i];
    take(place, v);
  }
  __device__ INLINE void one(uint32_t at, float g) const {
    const float v[1] = {g};
    one(at, v);
  }
};

// sink_of returns the Sink of the slot of this block. grad [K,stride] has the gradients of all slots, or is null.
template <class P> DEV Sink<P> sink_of(const Work *work, float *grad, uint32_t stride) {
  return {Update<P>::of(work), grad ? grad + (size_t)blockIdx.y * stride : nullptr};
}
