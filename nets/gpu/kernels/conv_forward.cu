// conv_forward: y[k,b,i,j,o] = max(0, bias[k,o] + max over {2i,2i+1}×{2j,2j+1} of
//   Σ w[k,r,s,c,o] x[k,b,·+r-pad,·+s-pad,c])
//
// x [K,B,H,W,C], w [K,R,S,C,O], bias [K,O] → y [K,B,HP,WP,O] and arg [K,B,HP,WP,O]: the place of the maximum in its
// window, the first of equal ones, or 4 where the ReLU is shut.
// Grid (about units/8 × ⌈O/32⌉, K), block 128: a block keeps the weights of 32 outputs in shared memory and walks over
// units of up to 64 windows. It streams filters of more than 416 words. Shared memory: the weights and one or two
// patches, at most 99 KB. Moves act(|x|·halo + |w| + |y|) + |arg| bytes per slot. Bias, ReLU and pooling are done in
// registers; deterministic.
#include "conv_multiply.cuh"

// Forward is the Op of conv_run.
template <class P> struct Forward {
  typedef typename P::act act;

  DEV uint32_t tap(const ConvArgs &a, uint32_t r, uint32_t s) { return r * a.tile.width + s; }
  DEV float bias(const ConvArgs &a, uint32_t o) {
    return o < a.O ? a.work->slots[blockIdx.y].row[a.b_offset + o] : 0.0f;
  }

  // A thread takes four outputs of a row at a time.
  DEV void weights(uint32_t *w, const ConvArgs &a, uint32_t word, uint32_t words, uint32_t o) {
    const act *from = static_cast<const act *>(a.work->slots[blockIdx.y].weights) + a.w_offset;
    constexpr uint32_t per = conv_per_word<P>;
    const ConvTile &t = a.tile;
    const uint32_t thread = kept(threadIdx.x), quad = thread % 8 * 4, first = word + thread / 8;
    uint32_t tap = first / t.depth, d = first % t.depth;
    const bool wide = a.O % 4 == 0;
    o += quad;
    for (uint32_t i = thread / 8; i < words; i += CONV_THREADS / 8) {
      const uint32_t c = d * per;
      const bool row = tap < a.R * a.S && c < a.C;
      const act *src = from + (row ? (tap * a.C + c) * a.O : 0);
      ConvSums<P>::put(w, i, quad, read(src, row, row && c + 1 < a.C, a.O, o, wide));
      for (d += CONV_THREADS / 8; d >= t.depth; d -= t.depth) tap++;
    }
  }

  // With float, one row of weights makes a row of words …
  DEV uint4 read(const float *src, bool row, bool, uint32_t O, uint32_t o, bool wide) {
    float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (wide) {
      if (row && o < O) {
        const float4 all = read_vector<float4>(src + o);
        v[0] = all.x, v[1] = all.y, v[2] = all.z, v[3] = all.w;
      }
    } else {
#pragma unroll
      for (uint32_t i = 0; i < 4; i++)
        if (row && o + i < O) v[i] = src[o + i];
    }
    return {float_bits(P::store(v[0])), float_bits(P::store(v[1])), float_bits(P::store(v[2])),
            float_bits(P::store(v[3]))};
  }
  // … with bf16, the rows of channels c and c+1 do.
  DEV uint4 read(const uint16_t *src, bool row, bool pair, uint32_t O, uint32_t o, bool wide) {
    uint2 lo = {0, 0}, hi = {0, 0};
    if (wide) {
      if (row && o < O) lo = read_vector<uint2>(src + o);
      if (pair && o < O) hi = read_vector<uint2>(src + O + o);
    } else {
      if (row) lo = gather(src, O, o);
      if (pair) hi = gather(src + O, O, o);
    }
    return {(lo.x & 0xffff) | hi.x << 16, lo.x >> 16 | (hi.x & 0xffff0000u),
            (lo.y & 0xffff) | hi.y << 16, lo.y >> 16 | (hi.y & 0xffff0000u)};
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

  DEV Path path(const ConvArgs &a) {
    return conv_path(a, CONV_THREADS, conv_per_word<P> * conv_piece(a, conv_per_word<P>));
  }

  DEV void load(uint32_t *patch, const ConvArgs &a, const Path &path, ConvPlace p) {
    const act *x = static_cast<const act *>(a.x) + (size_t)blockIdx.y * a.B * a.H * a.W * a.pixel;
    conv_load_pixels<P>(patch, x, a, path, {p.b, 2 * p.i - a.pad, 2 * p.j - a.pad}, CONV_THREADS);
  }

  typedef ConvSums<P> Sums;
  DEV void store(const Sums &sums, const ConvArgs &a, ConvPlace p, const uint32_t (&own)[Sums::WINDOWS],
                 const float *bias, uint32_t o) {
    constexpr uint32_t N = Sums::OUTPUTS;
    const uint32_t HP = a.HP, WP = a.WP;
    const uint32_t first = Sums::output(), room = o + first < a.O ? a.O - o - first : 0;
    const size_t slot = (size_t)blockIdx.y * a.B * HP * WP * a.O + o + first;
    const bool aligned = a.O % N == 0;
#pragma unroll
    for (uint32_t q = 0; q < Sums::WINDOWS; q++) {
      const uint32_t w = kept(own[q]), b = p.b + w % 256, i = p.i + w / 256 % 256, j = p.j + w / 65536;
      if (w % 256 >= a.tile.images || b >= a.B || i >= HP || j >= WP) continue;
      float y[N];
      uint32_t arg[N / 4] = {};
#pragma unroll
      for (uint32_t c = 0; c < N; c++) {
        float m = Sums::of(sums, q, c, 0);
        uint32_t at = 0;
#pragma unroll
        for (uint32_t k = 1; k < 4; k++) {
          const float v = Sums::of(sums, q, c, k);
          if (v > m || v != v) m = v, at = k;
        }
        m = m + bias[first + c];
        if (m <= 0.0f) m = 0.0f, at = 4;
        y[c] = m;
        arg[c / 4] |= at << (8 * (c % 4));
      }
      const size_t at = slot + ((b * HP + i) * WP + j) * a.O;
      conv_store<P>(static_cast<act *>(a.y) + at, y, room, aligned);
      if (aligned) {
        if (room < N) continue;
        if constexpr (N == 8) write_vector(a.arg + at, uint2{arg[0], arg[1]});
        else *reinterpret_cast<uint32_t *>(a.arg + at) = arg[0];
        continue;
      }
#pragma unroll
      for (uint32_t c = 0; c < N; c++)
        if (c < room) a.arg[at + c] = (uint8_t)(arg[c / 4] >> (8 * (c % 4)));
    }
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
