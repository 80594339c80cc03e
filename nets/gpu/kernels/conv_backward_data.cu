// conv_backward_data: dx[k,b,i,j,c] = Σ_r Σ_s Σ_o dY[k,b,i+pad-r,j+pad-s,o] w[k,r,s,c,o]
//
// dY [K,B,2·HP,2·WP,O] is gy at the place arg of every window, and 0 elsewhere; it exists in shared memory alone.
// gy, arg [K,B,HP,WP,O], w [K,R,S,C,O] → dx [K,B,H,W,C].
// Grid (about units/16 × ⌈C/32⌉, K), block 128: as conv_forward, with pixels of dx for pixels of the convolution,
// channels for outputs, and the filter turned round, also in conv_backward_data_3x3. Shared memory: at most 99 KB.
// Moves act(|gy|·halo + |w| + |dx|) + |arg|·halo bytes per slot; deterministic.
#include "conv_multiply.cuh"

// BackwardData is the Op of conv_run. Where registers are left and a thread takes HELD windows of a patch at most, those
// of the next patch are read while this one is multiplied.
template <class P, uint32_t HELD = 8> struct BackwardData {
  typedef typename P::act act;

  DEV uint32_t tap(const ConvArgs &a, uint32_t r, uint32_t s) { return (a.R - 1 - r) * a.tile.width + a.S - 1 - s; }
  DEV float bias(const ConvArgs &, uint32_t) { return 0.0f; }

  // A warp reads 8 words, 32 bytes, of each of 4 rows of w at a time, and writes them to different banks. A thread reads
  // BATCH rows before it writes the first, since every read is as slow as the way to L2.
  DEV void weights(uint32_t *w, const ConvArgs &a, uint32_t word, uint32_t words, uint32_t c) {
    const act *from = static_cast<const act *>(a.work->slots[blockIdx.y].weights) + a.w_offset;
    constexpr uint32_t per = conv_per_word<P>, EACH = CONV_OUTPUTS / 4;
    constexpr uint32_t BATCH = !conv_tensor<P> ? 2 : per == 1 ? 3 : 1;  // as many as registers hold
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

  static constexpr bool TURNED = true;  // the filter
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
    return conv_lane(s.end - s.first, a.tile.slice / 2, CONV_THREADS);
  }

  // Gradient is two words of gy of a window, and their arg, in 8 bits each.
  struct Gradient {
    uint2 g;
    uint32_t arg;
  };

  DEV void load(uint32_t *patch, const ConvArgs &a, uint32_t lane, ConvPlace p, uint32_t from) {
    if (a.O % (2 * conv_per_word<P>) == 0) load<true>(patch, a, lane, p, from);
    else load<false>(patch, a, lane, p, from);
  }

  // Windows are what a thread takes of a patch at a time: piece v of windows in column c of image n of the patch, from
  // row r on in steps, up to row `end`. y is the row of y of the first row of the patch; rows below `height` are there.
  struct Windows {
    uint32_t c, v, n, r, step, end, y, height;

    DEV bool there(const Windows &w, uint32_t i) {
      const uint32_t r = w.r + i * w.step;
      return r < w.end && w.y + r < w.height;
    }
  };
  DEV Span down(const ConvArgs &a, uint32_t i) { return span(i, a.pad, a.R, a.tile.height, a.HP, a.tile.bands == 1); }
  // windows returns the first windows of this thread in the patch at p.
  DEV Windows windows(const ConvArgs &a, uint32_t lane, const ConvPlace &p) {
    const Span columns = across(a, p.j), rows = down(a, p.i);
    lane = kept(lane);
    Windows w = {columns.first + (lane & 0xff), lane >> 8 & 0xff, 0, rows.first + (lane >> 16 & 0xff), lane >> 24,
                 rows.end, (uint32_t)rows.from};
    w.height = height(a, p, w, columns);
    return w;
  }
  DEV uint32_t height(const ConvArgs &a, const ConvPlace &p, const Windows &w, const Span &columns) {
    return p.b + w.n < a.B && (uint32_t)columns.from + w.c < a.WP ? a.HP : 0;
  }

  // WHOLE: all outputs of two words exist.
  template <bool WHOLE>
  DEV void load(uint32_t *patch, const ConvArgs &a, uint32_t lane, const ConvPlace &p, uint32_t from) {
    constexpr uint32_t BATCH = WHOLE ? HELD : 2;  // windows that are read before the first is written
    const ConvTile &t = a.tile;
    const Span columns = across(a, p.j);
    Windows w = windows(a, lane, p);
    const uint32_t first = w.r, pieces = t.slice / 2;
    for (uint32_t e = kept(threadIdx.x);;) {
      for (w.n = 0; w.n < t.images; w.n++) {
        w.height = height(a, p, w, columns);
        for (w.r = first; w.r < w.end; w.r += BATCH * w.step) {
          Gradient g[BATCH];
          read<WHOLE>(g, a, p, w, columns, from);
          write(patch, a, w, g);
        }
      }
      e += CONV_THREADS;
      if (e >= (columns.end - columns.first) * pieces) return;
      w.c = columns.first + e / pieces, w.v = e % pieces;
    }
  }

  DEV bool holds(const ConvArgs &a) {
    if constexpr (!conv_tensor<P> || conv_per_word<P> > 1) return false;
    const ConvTile &t = a.tile;
    const Span columns = across(a, 0), rows = down(a, 0);
    const uint32_t all = (columns.end - columns.first) * (t.slice / 2);
    return a.O % 2 == 0 && t.images == 1 && all <= CONV_THREADS &&
           rows.end - rows.first <= HELD * (kept(CONV_THREADS) / all);
  }
  struct Held {
    Gradient g[HELD];
  };
  DEV void hold(Held &held, const ConvArgs &a, uint32_t lane, const ConvPlace &p, uint32_t from) {
    read<true>(held.g, a, p, windows(a, lane, p), across(a, p.j), from);
  }
  DEV void put(uint32_t *patch, const ConvArgs &a, uint32_t lane, const ConvPlace &p, const Held &held) {
    write(patch, a, windows(a, lane, p), held.g);
  }

  // read reads windows of the patch at p. What is read of a window that is not there means nothing.
  template <bool WHOLE, uint32_t BATCH>
  DEV void read(Gradient (&g)[BATCH], const ConvArgs &a, const ConvPlace &p, const Windows &w, const Span &columns,
                uint32_t from) {
    const uint32_t HP = a.HP, WP = a.WP, all = a.B * HP * WP * a.O;
    const act *gy = static_cast<const act *>(a.gy) + (size_t)blockIdx.y * all + from;
    const uint8_t *arg = a.arg + (size_t)blockIdx.y * all + from;
    const uint32_t first = (((p.b + w.n) * HP + w.y) * WP + (uint32_t)columns.from + w.c) * a.O;
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++)
      g[i] = read<WHOLE>(gy, arg, Windows::there(w, i) ? first + (w.r + i * w.step) * WP * a.O : all, all, w.v, a.O);
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++)  // else clang would read each where it is written
      g[i] = {{kept(g[i].g.x), kept(g[i].g.y)}, kept(g[i].arg)};
  }

  // write writes the pixels of windows into a patch.
  template <uint32_t BATCH>
  DEV void write(uint32_t *patch, const ConvArgs &a, const Windows &w, const Gradient (&g)[BATCH]) {
    const ConvTile &t = a.tile;
    const uint32_t odd_i = odd(a.pad, a.R), left = 2 * w.c - odd(a.pad, a.S);  // -1 is beyond every patch
    uint32_t *dst = patch + w.n * t.height * t.width * t.pitch + 2 * w.v;
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++) {
      if (w.r + i * w.step >= w.end) continue;
      const uint32_t top = 2 * (w.r + i * w.step) - odd_i;
      const Gradient own = {g[i].g, Windows::there(w, i) ? g[i].arg : 0x04040404};
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) {
        const uint32_t row = top + k / 2, column = left + k % 2;
        if (row < t.height && column < t.width)
          write_vector(dst + (row * t.width + column) * t.pitch, place(P{}, own, k));
      }
    }
  }

  // place returns the words of the pixel at place k of a window: gy where arg is k, and 0.
  DEV uint2 place(FP32, const Gradient &w, uint32_t k) {
    return {(w.arg & 0xff) == k ? w.g.x : 0, (w.arg >> 8 & 0xff) == k ? w.g.y : 0};
  }
  DEV uint2 place(TF32, const Gradient &w, uint32_t k) { return place(FP32{}, w, k); }
  DEV uint2 place(BF16, const Gradient &w, uint32_t k) {
    const uint32_t lo = ((w.arg & 0xff) == k ? 0xffffu : 0) | ((w.arg >> 8 & 0xff) == k ? 0xffff0000u : 0);
    const uint32_t hi = ((w.arg >> 16 & 0xff) == k ? 0xffffu : 0) | (w.arg >> 24 == k ? 0xffff0000u : 0);
    return {w.g.x & lo, w.g.y & hi};
  }

  // read returns the v-th two words of the window whose first output is at `at`, of `all` outputs of a slot.
  template <bool WHOLE>
  DEV Gradient read(const act *gy, const uint8_t *arg, uint32_t at, uint32_t all, uint32_t v, uint32_t O) {
    constexpr uint32_t per = conv_per_word<P>;
    const bool there = at < all;
    if constexpr (WHOLE) {
      at = there ? at + 2 * per * v : 0;
      if constexpr (per == 1)
        return {read_vector<uint2>(gy + at), *reinterpret_cast<const uint16_t *>(arg + at)};
      else
        return {read_vector<uint2>(gy + at), *reinterpret_cast<const uint32_t *>(arg + at)};
    }
    uint32_t g[2] = {0, 0}, places = 0;
#pragma unroll
    for (uint32_t i = 0; i < 2 * per; i++) {
      const uint32_t o = 2 * per * v + i;
      const bool real = there && o < O;
      const uint32_t from = real ? at + o : 0, place = arg[from];
      if constexpr (per == 1) g[i] = float_bits(gy[from]);
      else g[i / 2] |= (uint32_t)gy[from] << 16 * (i % 2);
      places |= (real ? place : 4) << 8 * i;
    }
    return {{g[0], g[1]}, places};
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
extern "C" __global__ void __launch_bounds__(128, 2) conv_backward_data_tf32(const ConvArgs a) {
  conv_run<TF32, BackwardData<TF32>>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_backward_data_bf16(const ConvArgs a) {
  conv_run<BF16, BackwardData<BF16>>(a);
}

extern "C" __global__ void __launch_bounds__(128, 3) conv_backward_data_3x3_tf32(const ConvArgs a) {
  conv_run<TF32, BackwardData<TF32, 4>, CONV_3X3>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_backward_data_3x3_bf16(const ConvArgs a) {
  conv_run<BF16, BackwardData<BF16>, CONV_3X3>(a);
}
