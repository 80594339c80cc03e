// The product that conv_forward and conv_backward_data share, of pixels with weights, and where its sums lie.
//
// A warp multiplies 16 windows × 32 outputs. On tensor cores weights are the operand a of mma, and the pixels at one
// place of eight windows are b: so a pair of words that is read at once is all of b, and a thread holds the four places
// of a window. Weights lie in shared memory in the order of a, so that one read of 16 bytes is all of a: no register is
// moved.
#pragma once
#include "conv_patch.cuh"

// ConvSums has the sums of a thread, lane = 4g+t: of WINDOWS windows, each at its four places, OUTPUTS neighbouring
// outputs. Row g of product m is output 4g+2m, row g+8 output 4g+2m+1; a column is a window:
// d[4h+place][m][2r+c] is output 4g+2m+r at a place of window 8h+2t+c.
template <class P> struct ConvSums {
  static constexpr uint32_t WINDOWS = 4, OUTPUTS = 4;
  static constexpr uint32_t STEP = 8 * CONV_OUTPUTS;  // words of weights in a step of 8 words of the sum
  float d[8][2][4];

  // window returns the q-th window of a thread, output its first output.
  DEV uint32_t window(uint32_t q) { return q / 2 * 8 + threadIdx.x % 4 * 2 + q % 2; }
  DEV uint32_t output() { return threadIdx.x % 32 / 4 * 4; }
  // of returns the sum of the n-th output at a place of the q-th window.
  DEV float of(const ConvSums &s, uint32_t q, uint32_t n, uint32_t place) {
    return s.d[q / 2 * 4 + place][n / 2][n % 2 * 2 + q % 2];
  }
  // weight returns where output n of a word of the sum lies among the weights. Word 2u+c of a step is column u+4c of a.
  DEV uint32_t weight(uint32_t word, uint32_t n) {
    const uint32_t lane = n / 4 * 4 + word % 8 / 2;
    return word / 8 * STEP + n % 4 / 2 * 128 + 4 * lane + word % 2 * 2 + n % 2;
  }
  // put writes the weights of outputs n … n+3, n being a multiple of 4.
  DEV void put(uint32_t *w, uint32_t word, uint32_t n, const uint4 &v) {
    w += weight(word, n);
    write_vector(w, uint2{v.x, v.y});
    write_vector(w + 128, uint2{v.z, v.w});
  }
};

// In fp32 a thread has outputs 8t … 8t+7 of windows g and 8+g: d[2q+place/2][j][2(place%2)+h] is output 8t+4h+j.
template <> struct ConvSums<FP32> {
  static constexpr uint32_t WINDOWS = 2, OUTPUTS = 8;
  static constexpr uint32_t LD = CONV_OUTPUTS + 4, STEP = 8 * LD;  // words of a row: rows 2t and 2t+2 start 8 banks apart
  float d[4][4][4];

  DEV uint32_t window(uint32_t q) { return q * 8 + threadIdx.x % 32 / 4; }
  DEV uint32_t output() { return threadIdx.x % 4 * 8; }
  DEV float of(const ConvSums &s, uint32_t q, uint32_t n, uint32_t place) {
    return s.d[2 * q + place / 2][n % 4][place % 2 * 2 + n / 4];
  }
  DEV uint32_t weight(uint32_t word, uint32_t n) { return word * LD + n; }
  DEV void put(uint32_t *w, uint32_t word, uint32_t n, const uint4 &v) { write_vector(w + weight(word, n), v); }
};

// conv_pair_at reads two words at once. Without `kept` clang would take the pair apart into two loads, and these would
// meet in one bank.
DEV uint2 conv_pair_at(const uint32_t *x) {
  const uint64_t pair = kept(*reinterpret_cast<const uint64_t *>(x));
  return {(uint32_t)pair, (uint32_t)(pair >> 32)};
}

// ConvStep is what a thread multiplies in a step of 8 words on the tensor cores. Words 2t and 2t+1 stand for columns t
// and t+4 of a, so that a thread reads both at once.
struct ConvStep {
  uint32_t a[2][4];
  uint2 b[8];  // of place p of window 8h+g at 4h+p

  // read reads the words of the thread: x0 and x1 are at the first pixel of windows g and 8+g; the next pixel is `right`
  // words behind, the pixel below `down` words.
  DEV ConvStep read(const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down, const uint32_t *w) {
    const uint4 w0 = read_vector<uint4>(w), w1 = read_vector<uint4>(w + 128);
    ConvStep s = {{{w0.x, w0.y, w0.z, w0.w}, {w1.x, w1.y, w1.z, w1.w}}};
#pragma unroll
    for (int p = 0; p < 8; p++) s.b[p] = conv_pair_at((p / 4 ? x1 : x0) + (p / 2 % 2 ? down : 0) + (p % 2 ? right : 0));
    return s;
  }
};

// conv_step adds the products of a step.
template <class P> DEV void conv_step(ConvSums<P> &sums, const ConvStep &s) {
#pragma unroll
  for (int p = 0; p < 8; p++)
#pragma unroll
    for (int m = 0; m < 2; m++) conv_mma<P>(sums.d[p][m], s.a[m], {s.b[p].x, s.b[p].y});
}

// conv_pair adds the products of 2 words on the ordinary cores. w is their first row of weights, from output 8t on.
DEV void conv_pair(ConvSums<FP32> &sums, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down,
                   const uint32_t *w) {
  uint2 x[8];
#pragma unroll
  for (int q = 0; q < 2; q++) {
    const uint32_t *p = q ? x1 : x0;
    x[4 * q] = conv_pair_at(p);
    x[4 * q + 1] = conv_pair_at(p + right);
    x[4 * q + 2] = conv_pair_at(p + down);
    x[4 * q + 3] = conv_pair_at(p + down + right);
  }
#pragma unroll
  for (int k = 0; k < 2; k++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float4 v = read_vector<float4>(w + k * ConvSums<FP32>::LD + 4 * h);
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const float xi = bits_float(k ? x[i].y : x[i].x);
        const int at = 2 * (i % 2) + h;
        float(&d)[4][4] = sums.d[i / 2];
        d[0][at] = fmaf_(xi, v.x, d[0][at]);
        d[1][at] = fmaf_(xi, v.y, d[1][at]);
        d[2][at] = fmaf_(xi, v.z, d[2][at]);
        d[3][at] = fmaf_(xi, v.w, d[3][at]);
      }
    }
}

// conv_multiply adds the products of `steps` steps of 8 words. Pair p of the words of a window lies offset[p] words
// behind its first pixel.
template <class P>
DEV void conv_multiply(ConvSums<P> &sums, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down,
                       const uint32_t *w, const uint32_t *offset, uint32_t steps) {
  constexpr uint32_t STEP = ConvSums<P>::STEP;
  w += 4 * (threadIdx.x % 32);
  offset += threadIdx.x % 4;
  // While a step is multiplied the next one is read, and the offsets of those behind it. Behind the last step the last
  // weights and the first pixels are read again, and not used: what lies behind the weights may be a patch that other
  // threads write. In twos: clang unrolls no loop with assembly, and no register is moved.
  auto read = [&](uint32_t o, const uint32_t *w) INLINE {
    return ConvStep::read(x0 + o, x1 + o, right, down, w);
  };
  uint32_t s = 0, o0 = offset[0], o1 = offset[4];
  ConvStep even = read(o0, w);
  for (; s + 2 <= steps; s += 2) {
    named<64, 32>();
    offset += 8;
    o0 = offset[0];
    const ConvStep odd = read(o1, w + STEP);
    o1 = offset[4];
    conv_step(sums, even);
    const bool more = s + 2 < steps;
    if (more) w += 2 * STEP;
    even = read(more ? o0 : 0, w);
    conv_step(sums, odd);
  }
  if (s < steps) conv_step(sums, even);
}

// conv_multiply_few is conv_multiply with less in registers: no step is read while another is multiplied.
template <class P>
DEV void conv_multiply_few(ConvSums<P> &sums, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down,
                           const uint32_t *w, const uint32_t *offset, uint32_t steps) {
  w += 4 * (threadIdx.x % 32);
  offset += threadIdx.x % 4;
#pragma unroll 1
  for (uint32_t s = 0; s < steps; s++, offset += 4, w += ConvSums<P>::STEP) {
    named<64, 32>();
    conv_step(sums, ConvStep::read(x0 + offset[0], x1 + offset[0], right, down, w));
  }
}

// conv_multiply_3x3 adds the products of a filter of 3×3 taps with a slice of the depth. The four pixels of a window and
// their taps are 4×4 pixels, which a thread reads once for all taps, eight words of the depth at a time. So the sum goes
// along the taps first. w has the weights of the slice's first words. TURNED: the first pixels meet the last tap.
template <bool TURNED, class P>
DEV void conv_multiply_3x3(ConvSums<P> &sums, const uint32_t *x0, const uint32_t *x1, const uint32_t *w,
                           const ConvTile &t) {
  const int32_t tap = (TURNED ? -1 : 1) * (int32_t)(t.depth / 8 * ConvSums<P>::STEP);  // to the weights of the next tap
  const uint32_t down = t.width * CONV_SLICE_PITCH;
  const uint32_t *x[2] = {x0 + threadIdx.x % 4 * 2, x1 + threadIdx.x % 4 * 2};
  w += 4 * (threadIdx.x % 32) - (TURNED ? 8 * tap : 0);
#pragma unroll 1
  for (uint32_t d = 0; d < CONV_SLICE; d += 8) {
    named<64, 32>();
    const uint32_t *from = w, *row[2] = {x[0], x[1]};
    uint2 b[4][2][4];  // of a row and a column of the 4×4 pixels, for windows 8h+g at [row][h][column]
    auto read = [&](uint32_t r) INLINE {
#pragma unroll
      for (uint32_t h = 0; h < 2; h++) {
#pragma unroll
        for (uint32_t c = 0; c < 4; c++) b[r][h][c] = conv_pair_at(row[h] + c * CONV_SLICE_PITCH);
        row[h] += down;
      }
    };
    read(0), read(1);
#pragma unroll
    for (uint32_t r = 0; r < 3; r++) {
      if (r < 2) read(r + 2);
#pragma unroll
      for (uint32_t s = 0; s < 3; s++, from += tap) {
        const uint4 w0 = read_vector<uint4>(from), w1 = read_vector<uint4>(from + 128);
        const uint32_t a[2][4] = {{w0.x, w0.y, w0.z, w0.w}, {w1.x, w1.y, w1.z, w1.w}};
#pragma unroll
        for (uint32_t p = 0; p < 8; p++) {
          const uint2 v = b[r + p / 2 % 2][p / 4][s + p % 2];
#pragma unroll
          for (uint32_t m = 0; m < 2; m++) conv_mma<P>(sums.d[p][m], a[m], {v.x, v.y});
        }
      }
    }
    x[0] += 8, x[1] += 8, w += ConvSums<P>::STEP;
  }
}

DEV void conv_multiply(ConvSums<FP32> &sums, const uint32_t *x0, const uint32_t *x1, uint32_t right, uint32_t down,
                       const uint32_t *w, const uint32_t *offset, uint32_t steps) {
  w += ConvSums<FP32>::output();
  for (uint32_t p = 0; p < 4 * steps; p++, w += 2 * ConvSums<FP32>::LD) {
    named<64, 32>();
    const uint32_t o = offset[p];
    conv_pair(sums, x0 + o, x1 + o, right, down, w);
  }
}
