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

  // A warp reads 8 words, 32 bytes, of each of 4 rows of w at a time, and writes them to different banks. A thread reads
  // BATCH rows before it writes the first, since every read is as slow as the way to L2.
  DEV void weights(uint32_t *w, const ConvArgs &a, uint32_t word, uint32_t words, uint32_t c) {
    const act *from = static_cast<const act *>(a.work->slots[blockIdx.y].weights) + a.w_offset;
    constexpr uint32_t per = conv_per_word<P>, EACH = CONV_OUTPUTS / 4, BATCH = 4 - per;
    const ConvTile &t = a.tile;
    const uint32_t thread = kept(threadIdx.x);
    ConvRow row = conv_row(t, word + thread / 4);
    const ConvRow step = conv_row(t, CONV_THREADS / 4);
    for (uint32_t i = thread / 4; i < words; i += BATCH * (CONV_THREADS / 4)) {
      act v[BATCH][EACH][per];
#pragma unroll
      for (uint32_t b = 0; b < BATCH; b++) {
        const uint32_t o = row.d * per;
        const bool real = row.tap < a.R * a.S;
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) {
          const uint32_t n = c + 4 * k + thread % 4;
#pragma unroll
          for (uint32_t h = 0; h < per; h++) {
            const bool there = real && o + h < a.O && n < a.C;
            const act read = from[there ? (row.tap * a.C + n) * a.O + o + h : 0];
            v[b][k][h] = there ? read : act(0);
          }
        }
        conv_row_on(t, row, step);
      }
#pragma unroll
      for (uint32_t b = 0; b < BATCH; b++) {
        const uint32_t at = i + b * (CONV_THREADS / 4);
        if (at >= words) continue;
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) w[ConvSums<P>::weight(at, 4 * k + thread % 4)] = pack(v[b][k]);
      }
    }
  }
  DEV uint32_t pack(const float (&w)[1]) { return float_bits(P::store(w[0])); }
  DEV uint32_t pack(const uint16_t (&w)[2]) { return w[0] | (uint32_t)w[1] << 16; }

  static constexpr bool AHEAD = false;  // a patch is written by ordinary stores

  // A thread takes two words of a window of gy at a time, and makes two words of each of the four pixels. Windows begin
  // at even pixels, a patch perhaps not: odd says so.
  DEV uint32_t odd(uint32_t pad, uint32_t taps) { return (pad + taps + 1) % 2; }

  // Span are the windows of a patch in one dimension that are loaded: from `first` on, up to `end`. `from` is the place
  // of the first window of the patch in y, below 0 if it lies beside the image.
  struct Span {
    uint32_t first, end;
    int32_t from;
  };
  // span returns the Span of a patch from pixel 2·place of dx on. Of a patch as large as the image, windows beside it
  // are skipped.
  DEV Span span(uint32_t place, uint32_t pad, uint32_t taps, uint32_t pixels, uint32_t windows, bool all) {
    const int32_t from = ((int32_t)(2 * place + pad) - (int32_t)(taps - 1)) >> 1;
    const uint32_t end = (pixels + odd(pad, taps) + 1) / 2;
    if (!all || from > 0) return {0, end, from};
    const uint32_t first = (uint32_t)-from;
    return {first, first + windows < end ? first + windows : end, from};
  }
  DEV Span across(const ConvArgs &a, uint32_t j) {
    return span(j, a.pad, a.S, a.tile.width, a.WP, a.tile.strips == 1);
  }
  DEV bool gaps(const ConvArgs &a) { return a.tile.strips == 1; }
  DEV uint32_t lane(const ConvArgs &a) {
    const Span s = across(a, 0);
    return conv_lane(s.end - s.first, a.tile.depth / 2, CONV_THREADS);
  }

  DEV void load(uint32_t *patch, const ConvArgs &a, uint32_t lane, ConvPlace p) {
    if (a.O % (2 * conv_per_word<P>) == 0) load(Whole<true>{}, patch, a, lane, p);
    else load(Whole<false>{}, patch, a, lane, p);
  }

  // Whole: all outputs of two words exist.
  template <bool> struct Whole {};

  template <bool WHOLE>
  DEV void load(Whole<WHOLE> whole, uint32_t *patch, const ConvArgs &a, uint32_t lane, const ConvPlace &p) {
    constexpr uint32_t BATCH = WHOLE ? 8 : 2;  // windows that are read before the first is written
    const ConvTile &t = a.tile;
    const uint32_t HP = a.HP, WP = a.WP;
    const act *gy = static_cast<const act *>(a.gy) + (size_t)blockIdx.y * (a.B * HP * WP * a.O);
    const uint8_t *arg = a.arg + (size_t)blockIdx.y * (a.B * HP * WP * a.O);
    const Span columns = across(a, p.j), rows = span(p.i, a.pad, a.R, t.height, HP, t.bands == 1);
    const uint32_t odd_i = odd(a.pad, a.R), odd_j = odd(a.pad, a.S);
    lane = kept(lane);
    uint32_t c = columns.first + (lane & 0xff), v = lane >> 8 & 0xff;
    const uint32_t first = rows.first + (lane >> 16 & 0xff), step = lane >> 24, pieces = t.depth / 2;
    for (uint32_t e = kept(threadIdx.x);;) {
      const uint32_t wj = (uint32_t)columns.from + c, left = 2 * c - odd_j;  // -1 is beyond every patch
      for (uint32_t n = 0; n < t.images; n++) {
        const uint32_t b = p.b + n, height = b < a.B && wj < WP ? HP : 0;
        uint32_t *dst = patch + n * t.height * t.width * t.pitch + 2 * v;
        for (uint32_t r = first; r < rows.end; r += BATCH * step) {
          Gradient g[BATCH];
#pragma unroll
          for (uint32_t i = 0; i < BATCH; i++) {
            const uint32_t at = r + i * step, wi = (uint32_t)rows.from + at;
            const bool there = at < rows.end && wi < height;
            g[i] = read(whole, gy, arg, there, ((b * HP + wi) * WP + wj) * a.O, v, a.O);
          }
#pragma unroll
          for (uint32_t i = 0; i < BATCH; i++)  // else clang would read each where it is written
            g[i] = {{kept(g[i].g.x), kept(g[i].g.y)}, kept(g[i].arg)};
#pragma unroll
          for (uint32_t i = 0; i < BATCH; i++) {
            if (r + i * step >= rows.end) continue;
            const uint32_t top = 2 * (r + i * step) - odd_i;
#pragma unroll
            for (uint32_t k = 0; k < 4; k++) {
              const uint32_t row = top + k / 2, column = left + k % 2;
              if (row < t.height && column < t.width)
                write_vector(dst + (row * t.width + column) * t.pitch, place(P{}, g[i], k));
            }
          }
        }
      }
      e += CONV_THREADS;
      if (e >= (columns.end - columns.first) * pieces) return;
      c = columns.first + e / pieces, v = e % pieces;
    }
  }

  // Gradient is two words of gy of a window, and their arg, in 8 bits each.
  struct Gradient {
    uint2 g;
    uint32_t arg;
  };

  // place returns the words of the pixel at place k of a window: gy where arg is k, and 0.
  DEV uint2 place(FP32, const Gradient &w, uint32_t k) {
    return {(w.arg & 0xff) == k ? w.g.x : 0, w.arg >> 8 == k ? w.g.y : 0};
  }
  DEV uint2 place(TF32, const Gradient &w, uint32_t k) { return place(FP32{}, w, k); }
  DEV uint2 place(BF16, const Gradient &w, uint32_t k) {
    const uint32_t lo = ((w.arg & 0xff) == k ? 0xffffu : 0) | ((w.arg >> 8 & 0xff) == k ? 0xffff0000u : 0);
    const uint32_t hi = ((w.arg >> 16 & 0xff) == k ? 0xffffu : 0) | (w.arg >> 24 == k ? 0xffff0000u : 0);
    return {w.g.x & lo, w.g.y & hi};
  }

  // read returns the v-th two words of the window whose first output is at `at`, or nothing if it is not there.
  DEV Gradient read(Whole<true>, const act *gy, const uint8_t *arg, bool there, uint32_t at, uint32_t v, uint32_t) {
    constexpr uint32_t per = conv_per_word<P>, nowhere = per == 1 ? 0x0404 : 0x04040404;
    at = there ? at + 2 * per * v : 0;
    const uint2 g = read_vector<uint2>(gy + at);
    uint32_t all;
    if constexpr (per == 1) all = *reinterpret_cast<const uint16_t *>(arg + at);
    else all = *reinterpret_cast<const uint32_t *>(arg + at);
    return {g, there ? all : nowhere};
  }
  DEV Gradient read(Whole<false>, const act *gy, const uint8_t *arg, bool there, uint32_t at, uint32_t v, uint32_t O) {
    constexpr uint32_t per = conv_per_word<P>;
    uint32_t g[2] = {0, 0}, all = 0;
#pragma unroll
    for (uint32_t i = 0; i < 2 * per; i++) {
      const uint32_t o = 2 * per * v + i;
      const bool real = there && o < O;
      const uint32_t from = real ? at + o : 0, place = arg[from];
      if constexpr (per == 1) g[i] = float_bits(gy[from]);
      else g[i / 2] |= (uint32_t)gy[from] << 16 * (i % 2);
      all |= (real ? place : 4) << 8 * i;
    }
    return {{g[0], g[1]}, all};
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
