// conv_backward_data: dx[k,b,i,j,c] = Σ_r Σ_s Σ_o dY[k,b,i+pad-r,j+pad-s,o] w[k,r,s,c,o]
//
// dY [K,B,2·HP,2·WP,O] is gy at the place arg of every window, and 0 elsewhere; it exists in shared memory alone.
// gy, arg [K,B,HP,WP,O], w [K,R,S,C,O] → dx [K,B,H,W,C].
// Grid (about units/16 × ⌈C/32⌉, K), block 128: as conv_forward, with pixels of dx for pixels of the convolution,
// channels for outputs, and the filter turned round. Shared memory: at most 99 KB.
// Moves act(|gy|·halo + |w| + |dx|) + |arg|·halo bytes per slot; deterministic.
#include "conv_multiply.cuh"

// BackwardData is the Op of conv_run.
template <class P> struct BackwardData {
  typedef typename P::act act;

  DEV uint32_t tap(const ConvArgs &a, uint32_t r, uint32_t s) { return (a.R - 1 - r) * a.tile.width + a.S - 1 - s; }
  DEV float bias(const ConvArgs &, uint32_t) { return 0.0f; }

  // A warp reads 8 words, 32 bytes, of each of 4 rows of w at a time, and writes them to different banks.
  DEV void weights(uint32_t *w, const ConvArgs &a, uint32_t word, uint32_t words, uint32_t c) {
    const act *from = static_cast<const act *>(a.work->slots[blockIdx.y].weights) + a.w_offset;
    constexpr uint32_t per = conv_per_word<P>;
    const ConvTile &t = a.tile;
    const uint32_t thread = kept(threadIdx.x);
    ConvRow row = conv_row(t, word + thread / 4);
    const ConvRow step = conv_row(t, CONV_THREADS / 4);
    for (uint32_t i = thread / 4; i < words; i += CONV_THREADS / 4) {
      const uint32_t o = row.d * per;
      const bool real = row.tap < a.R * a.S && o < a.O;
#pragma unroll
      for (uint32_t k = 0; k < CONV_OUTPUTS / 4; k++) {
        const uint32_t n = 4 * k + thread % 4;
        uint32_t v = 0;
        if (real && c + n < a.C) v = pack(from + (row.tap * a.C + c + n) * a.O + o, o + 1 < a.O);
        w[ConvSums<P>::weight(i, n)] = v;
      }
      conv_row_on(t, row, step);
    }
  }
  DEV uint32_t pack(const float *w, bool) { return float_bits(P::store(*w)); }
  DEV uint32_t pack(const uint16_t *w, bool both) { return both ? w[0] | (uint32_t)w[1] << 16 : w[0]; }

  // A thread takes two words of a window of gy at a time, and makes two words of each of the four pixels. Windows begin
  // at even pixels, a patch perhaps not: odd says so.
  DEV bool gaps(const ConvArgs &) { return false; }
  DEV uint32_t odd(uint32_t pad, uint32_t taps) { return (pad + taps + 1) % 2; }
  DEV Path path(const ConvArgs &a) {
    const ConvTile &t = a.tile;
    return path_beside(t.depth / 2, CONV_THREADS, (t.height + odd(a.pad, a.R) + 1) / 2,
                       (t.width + odd(a.pad, a.S) + 1) / 2, t.pitch);
  }

  DEV void load(uint32_t *patch, const ConvArgs &a, const Path &path, ConvPlace p) {
    const ConvTile &t = a.tile;
    const uint32_t HP = a.HP, WP = a.WP;
    const act *gy = static_cast<const act *>(a.gy) + (size_t)blockIdx.y * (a.B * HP * WP * a.O);
    const uint8_t *arg = a.arg + (size_t)blockIdx.y * (a.B * HP * WP * a.O);
    // The first pixel of the patch, and where in its window it lies.
    const int32_t i0 = (int32_t)(2 * p.i + a.pad) - (int32_t)(a.R - 1),
                  j0 = (int32_t)(2 * p.j + a.pad) - (int32_t)(a.S - 1);
    const uint32_t odd_i = odd(a.pad, a.R), odd_j = odd(a.pad, a.S);
    const uint32_t first_i = (uint32_t)(i0 >> 1), first_j = (uint32_t)(j0 >> 1);
#pragma unroll 1
    for (uint32_t v = path_piece(path); v < t.depth / 2; v += CONV_THREADS) {
#pragma unroll 1
      for (Walk w = walk(path); w.n < t.images; walk_on(w)) {
        const uint32_t wi = first_i + w.r, wj = first_j + w.c, b = p.b + w.n;
        uint2 place[4] = {};
        if (wi < HP && wj < WP && b < a.B) unpool(place, gy, arg, ((b * HP + wi) * WP + wj) * a.O, v, a.O);
        const uint32_t top = 2 * w.r - odd_i, left = 2 * w.c - odd_j;  // -1 is beyond every patch
        uint32_t *dst = patch + w.n * t.height * t.width * t.pitch + 2 * v;
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
          const uint32_t row = top + k / 2, column = left + k % 2;
          if (row < t.height && column < t.width) write_vector(dst + (row * t.width + column) * t.pitch, place[k]);
        }
      }
    }
  }

  // unpool sets two words of the four pixels of the window at `at`: gy at the place arg, 0 at the others.
  DEV void unpool(uint2 (&place)[4], const float *gy, const uint8_t *arg, uint32_t at, uint32_t v, uint32_t O) {
    uint2 g = {0, 0};
    uint32_t where[2] = {4, 4};
    at += 2 * v;
    if (O % 2 == 0) {
      g = read_vector<uint2>(gy + at);
      const uint32_t both = *reinterpret_cast<const uint16_t *>(arg + at);
      where[0] = both & 0xff, where[1] = both >> 8;
    } else {
      g.x = float_bits(gy[at]), where[0] = arg[at];
      if (2 * v + 1 < O) g.y = float_bits(gy[at + 1]), where[1] = arg[at + 1];
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) place[k] = uint2{where[0] == k ? g.x : 0, where[1] == k ? g.y : 0};
  }

  DEV void unpool(uint2 (&place)[4], const uint16_t *gy, const uint8_t *arg, uint32_t at, uint32_t v, uint32_t O) {
    uint2 g = {0, 0};
    uint32_t where = 0x04040404;
    at += 4 * v;
    if (O % 4 == 0) {
      g = read_vector<uint2>(gy + at);
      where = *reinterpret_cast<const uint32_t *>(arg + at);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) {
        if (4 * v + i >= O) continue;
        (i / 2 ? g.y : g.x) |= (uint32_t)gy[at + i] << (16 * (i % 2));
        where = (where & ~(0xffu << (8 * i))) | (uint32_t)arg[at + i] << (8 * i);
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      const uint32_t lo = ((where & 0xff) == k ? 0xffffu : 0) | ((where >> 8 & 0xff) == k ? 0xffff0000u : 0);
      const uint32_t hi = ((where >> 16 & 0xff) == k ? 0xffffu : 0) | (where >> 24 == k ? 0xffff0000u : 0);
      place[k] = uint2{g.x & lo, g.y & hi};
    }
  }

  typedef ConvSums<P> Sums;
  DEV uint32_t at(const ConvArgs &a, uint32_t n, uint32_t i, uint32_t j) {
    return ((n * a.H + 2 * i) * a.W + 2 * j) * a.C;
  }

  DEV void store(const Sums &sums, const ConvArgs &a, ConvPlace p, const ConvWindows<P> &own, const float *,
                 uint32_t c) {
    constexpr uint32_t N = Sums::OUTPUTS;
    const uint32_t first = c + Sums::output(), room = first < a.C ? a.C - first : 0;
    if (room == 0) return;
    act *dx = static_cast<act *>(a.dx) + (size_t)blockIdx.y * (a.B * a.H * a.W * a.C) + at(a, p.b, p.i, p.j) + first;
    const bool aligned = a.C % N == 0, whole = conv_whole(a.tile, p, a.B, kept(a.H) / 2, kept(a.W) / 2);
#pragma unroll
    for (uint32_t q = 0; q < Sums::WINDOWS; q++) {
      act *to = dx + own.at[q];
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) {
        if (!whole && !inside(a, p, own.place[q], k)) continue;
        float y[N];
#pragma unroll
        for (uint32_t n = 0; n < N; n++) y[n] = Sums::of(sums, q, n, k);
        conv_store<P>(to + (k / 2 * a.W + k % 2) * a.C, y, room, aligned);
      }
    }
  }

  // inside says whether place k of a window is a pixel of dx.
  DEV bool inside(const ConvArgs &a, ConvPlace p, uint32_t window, uint32_t k) {
    const ConvPlace w = conv_unpack(window);
    return w.b < a.tile.images && p.b + w.b < a.B && 2 * (p.i + w.i) + k / 2 < a.H && 2 * (p.j + w.j) + k % 2 < a.W;
  }
};

extern "C" __global__ void __launch_bounds__(128, 3) conv_backward_data_fp32(const ConvArgs a) {
  conv_run<FP32, BackwardData<FP32>>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_backward_data_tf32(const ConvArgs a) {
  conv_run<TF32, BackwardData<TF32>>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_backward_data_bf16(const ConvArgs a) {
  conv_run<BF16, BackwardData<BF16>>(a);
}
