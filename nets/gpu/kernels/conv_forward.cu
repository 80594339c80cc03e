// conv_forward: y[k,b,i,j,o] = max(0, bias[k,o] + max over {2i,2i+1}×{2j,2j+1} of
//   Σ w[k,r,s,c,o] x[k,b,·+r-pad,·+s-pad,c])
//
// x [K,B,H,W,C], w [K,R,S,C,O], bias [K,O] → y [K,B,HP,WP,O] and arg [K,B,HP,WP,O]: the place of the maximum in its
// window, the first of equal ones, or 4 where the ReLU is shut.
// Grid (about units/16 × ⌈O/32⌉, K), block 128: a block keeps the weights of 32 outputs in shared memory and walks over
// units of up to 64 windows. It streams filters of more than 416 words. Shared memory: the weights and one or two
// patches, at most 99 KB. Moves act(|x|·halo + |w| + |y|) + |arg| bytes per slot. Bias, ReLU and pooling are done in
// registers; deterministic.
//
// conv_forward_3x3 is for filters of 3×3 taps that stay in shared memory, with a depth of whole slices of 16 words: a
// patch has one slice at a time, so that a multiprocessor holds three blocks. conv_forward_few, for filters of at most
// eight steps, takes fewer registers, so that it holds four.
#include "conv_multiply.cuh"

// Forward is the Op of conv_run.
template <class P> struct Forward {
  typedef typename P::act act;

  DEV uint32_t tap(const ConvArgs &a, uint32_t r, uint32_t s) { return r * a.tile.width + s; }
  DEV float bias(const ConvArgs &a, uint32_t o) {
    return o < a.O ? a.work->slots[blockIdx.y].row[a.b_offset + o] : 0.0f;
  }

  // A thread takes four outputs of a row at a time, and the threads beside it the rows behind: they write to different
  // banks.
  DEV void weights(uint32_t *w, const ConvArgs &a, uint32_t word, uint32_t words, uint32_t o) {
    if (a.O % 4 == 0) weights<true>(w, a, word, words, o);
    else weights<false>(w, a, word, words, o);
  }

  template <bool WIDE> DEV void weights(uint32_t *w, const ConvArgs &a, uint32_t word, uint32_t words, uint32_t o) {
    const act *from = static_cast<const act *>(a.work->slots[blockIdx.y].weights) + a.w_offset;
    constexpr uint32_t per = conv_per_word<P>, BATCH = WIDE ? 6 : 1;  // rows that are read before the first is written
    const ConvTile &t = a.tile;
    const uint32_t thread = kept(threadIdx.x), quad = thread / 8 % 8 * 4, start = thread / 64 * 8 + thread % 8;
    ConvRow row = conv_row(t, word + start);
    const ConvRow step = conv_row(t, CONV_THREADS / 8);
    o += quad;
    for (uint32_t i = start; i < words; i += BATCH * (CONV_THREADS / 8)) {
      uint4 v[BATCH];
#pragma unroll
      for (uint32_t b = 0; b < BATCH; b++) {
        const uint32_t c = row.d * per;
        const bool real = row.tap < a.R * a.S && c < a.C;
        const act *src = from + (real ? (row.tap * a.C + c) * a.O : 0);
        v[b] = read<WIDE>(src, real, real && c + 1 < a.C, a.O, o);
        conv_row_on(t, row, step);
      }
#pragma unroll
      for (uint32_t b = 0; b < BATCH; b++)  // else clang would wait for each
        v[b] = {kept(v[b].x), kept(v[b].y), kept(v[b].z), kept(v[b].w)};
#pragma unroll
      for (uint32_t b = 0; b < BATCH; b++) {
        const uint32_t at = i + b * (CONV_THREADS / 8);
        if (at < words) ConvSums<P>::put(w, at, quad, pack(P{}, v[b]));
      }
    }
  }

  // With float, one row of weights makes a row of words …
  template <bool WIDE> DEV uint4 read(const float *src, bool row, bool, uint32_t O, uint32_t o) {
    if constexpr (WIDE) {
      const bool there = row && o < O;
      const uint4 v = read_vector<uint4>(src + (there ? o : 0));
      return {there ? v.x : 0, there ? v.y : 0, there ? v.z : 0, there ? v.w : 0};
    }
    float v[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) v[i] = row && o + i < O ? src[o + i] : 0.0f;
    return {float_bits(v[0]), float_bits(v[1]), float_bits(v[2]), float_bits(v[3])};
  }
  DEV uint32_t word(uint32_t v) { return float_bits(P::store(bits_float(v))); }
  DEV uint4 pack(FP32, const uint4 &v) { return v; }
  DEV uint4 pack(TF32, const uint4 &v) { return {word(v.x), word(v.y), word(v.z), word(v.w)}; }

  // … with bf16, the rows of channels c and c+1 do.
  template <bool WIDE> DEV uint4 read(const uint16_t *src, bool row, bool pair, uint32_t O, uint32_t o) {
    if constexpr (WIDE) {
      const bool there = row && o < O, both = pair && o < O;
      const uint2 lo = read_vector<uint2>(src + (there ? o : 0)), hi = read_vector<uint2>(src + (both ? O + o : 0));
      return {there ? lo.x : 0, there ? lo.y : 0, both ? hi.x : 0, both ? hi.y : 0};
    }
    uint2 lo = {0, 0}, hi = {0, 0};
    if (row) lo = gather(src, O, o);
    if (pair) hi = gather(src + O, O, o);
    return {lo.x, lo.y, hi.x, hi.y};
  }
  DEV uint4 pack(BF16, const uint4 &v) {
    return {(v.x & 0xffff) | v.z << 16, v.x >> 16 | (v.z & 0xffff0000u),
            (v.y & 0xffff) | v.w << 16, v.y >> 16 | (v.w & 0xffff0000u)};
  }
  // gather returns the four weights from output o on, zeros behind the last.
  DEV uint2 gather(const uint16_t *src, uint32_t O, uint32_t o) {
    uint2 v = {0, 0};
    if (o < O) v.x = src[o];
    if (o + 1 < O) v.x |= (uint32_t)src[o + 1] << 16;
    if (o + 2 < O) v.y = src[o + 2];
    if (o + 3 < O) v.y |= (uint32_t)src[o + 3] << 16;
    return v;
  }

  static constexpr bool AHEAD = true, TURNED = false;
  struct Held {};
  DEV bool holds(const ConvArgs &) { return false; }
  DEV void hold(Held &, const ConvArgs &, uint32_t, const ConvPlace &, uint32_t) {}
  DEV void put(uint32_t *, const ConvArgs &, uint32_t, const ConvPlace &, const Held &) {}

  // gaps says whether words of a patch are not loaded: of a pixel, or beside every image.
  DEV bool gaps(const ConvArgs &a) {
    const uint32_t piece = conv_piece(a, conv_per_word<P>);
    return conv_columns(a).count < a.tile.width ||
           ceil_div(channels(a), conv_per_word<P> * piece) * piece < a.tile.slice;
  }
  DEV uint32_t lane(const ConvArgs &a) {
    const uint32_t piece = conv_per_word<P> * conv_piece(a, conv_per_word<P>);
    return conv_lane(conv_columns(a).count, ceil_div(channels(a), piece), CONV_THREADS);
  }
  // channels returns how many a patch holds.
  DEV uint32_t channels(const ConvArgs &a) { return a.tile.slices > 0 ? a.tile.slice * conv_per_word<P> : a.C; }

  DEV void load(uint32_t *patch, const ConvArgs &a, uint32_t lane, ConvPlace p, uint32_t from) {
    const act *x = static_cast<const act *>(a.x) + (size_t)blockIdx.y * (a.B * a.H * a.W * a.pixel) + from;
    conv_load_pixels<P, CONV_THREADS>(patch, x, a, lane, conv_columns(a), {p.b, 2 * p.i - a.pad, 2 * p.j - a.pad},
                                      channels(a));
  }

  typedef ConvSums<P> Sums;
  DEV uint32_t at(const ConvArgs &a, uint32_t n, uint32_t i, uint32_t j) { return ((n * a.HP + i) * a.WP + j) * a.O; }

  DEV void store(const Sums &sums, const ConvArgs &a, ConvPlace p, const ConvWindows<P> &own, const float *bias,
                 uint32_t o) {
    constexpr uint32_t N = Sums::OUTPUTS;
    const uint32_t first = Sums::output(), room = o + first < a.O ? a.O - o - first : 0;
    if (room == 0) return;
    const size_t unit = (size_t)blockIdx.y * (a.B * a.HP * a.WP * a.O) + at(a, p.b, p.i, p.j) + o + first;
    act *y = static_cast<act *>(a.y) + unit;
    uint8_t *arg = a.arg + unit;
    float added[N];
#pragma unroll
    for (uint32_t c = 0; c < N; c++) added[c] = bias[first + c];
    if (a.O % N == 0 && conv_whole(a.tile, p, a.B, a.HP, a.WP)) {
#pragma unroll
      for (uint32_t q = 0; q < Sums::WINDOWS; q++) {
        float v[N];
        uint32_t places[N / 4];
        pool(v, places, sums, q, added);
        conv_store<P>(y + own.at[q], v, N, true);
        if constexpr (N == 8) write_vector(arg + own.at[q], uint2{places[0], places[1]});
        else *reinterpret_cast<uint32_t *>(arg + own.at[q]) = places[0];
      }
      return;
    }
#pragma unroll
    for (uint32_t q = 0; q < Sums::WINDOWS; q++) {
      if (!conv_inside(a.tile, p, own.place[q], a.B, a.HP, a.WP)) continue;
      float v[N];
      uint32_t places[N / 4];
      pool(v, places, sums, q, added);
#pragma unroll
      for (uint32_t c = 0; c < N; c++) {
        if (c >= room) continue;
        y[own.at[q] + c] = P::store(v[c]);
        arg[own.at[q] + c] = (uint8_t)(places[c / 4] >> (8 * (c % 4)));
      }
    }
  }

  // pool sets y of a window, and the places of its maxima, in 8 bits each.
  DEV void pool(float (&y)[Sums::OUTPUTS], uint32_t (&places)[Sums::OUTPUTS / 4], const Sums &sums, uint32_t q,
                const float (&bias)[Sums::OUTPUTS]) {
#pragma unroll
    for (uint32_t c = 0; c < Sums::OUTPUTS; c += 4) places[c / 4] = pool_four(y + c, sums, q, c, bias + c);
  }

  // pool_four sets four outputs of a window, from output n of the thread on, and returns the places of their maxima, in
  // 8 bits each.
  DEV uint32_t pool_four(float *y, const Sums &sums, uint32_t q, uint32_t n, const float *bias) {
    uint32_t places = 0;
#pragma unroll
    for (uint32_t c = 0; c < 4; c++) {
      float v[4];
#pragma unroll
      for (uint32_t k = 0; k < 4; k++) v[k] = Sums::of(sums, q, n + c, k);
      const float upper = fmax_nan(v[0], v[1]), m = fmax_nan(upper, fmax_nan(v[2], v[3]));
      y[c] = m + bias[c];
      // The first of equal maxima. With `kept` ptxas adds where a condition holds, else it would select and add.
      const bool open = !(y[c] <= 0.0f), below = open & (upper < m), right = open & ((below ? v[2] : v[0]) < m);
      y[c] = fmax_nan(y[c], 0.0f);
      if (!open) places = kept(places + (4u << (8 * c)));
      if (below) places = kept(places + (2u << (8 * c)));
      if (right) places = kept(places + (1u << (8 * c)));
    }
    if (__builtin_isunordered(y[0], y[1]) || __builtin_isunordered(y[2], y[3])) {
#pragma unroll
      for (uint32_t c = 0; c < 4; c++)
        if (y[c] != y[c]) places |= last_nan(sums, q, n + c) << (8 * c);
    }
    return places;
  }

  // last_nan returns the place of the last NaN in a window, which wins over all numbers.
  DEV uint32_t last_nan(const Sums &sums, uint32_t q, uint32_t n) {
    uint32_t place = 0;
#pragma unroll
    for (uint32_t k = 1; k < 4; k++)
      if (Sums::of(sums, q, n, k) != Sums::of(sums, q, n, k)) place = k;
    return place;
  }
};

extern "C" __global__ void __launch_bounds__(128, 3) conv_forward_fp32(const ConvArgs a) {
  conv_run<FP32, Forward<FP32>>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_forward_tf32(const ConvArgs a) {
  conv_run<TF32, Forward<TF32>>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_forward_bf16(const ConvArgs a) {
  conv_run<BF16, Forward<BF16>>(a);
}

extern "C" __global__ void __launch_bounds__(128, 3) conv_forward_3x3_tf32(const ConvArgs a) {
  conv_run<TF32, Forward<TF32>, CONV_3X3>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_forward_3x3_bf16(const ConvArgs a) {
  conv_run<BF16, Forward<BF16>, CONV_3X3>(a);
}

extern "C" __global__ void __launch_bounds__(128, 4) conv_forward_few_tf32(const ConvArgs a) {
  conv_run<TF32, Forward<TF32>, CONV_FEW>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_forward_few_bf16(const ConvArgs a) {
  conv_run<BF16, Forward<BF16>, CONV_FEW>(a);
}
