// The product of conv_backward_filter, of pixels of x with dY, and where its sums lie.
//
// A warp multiplies 32·TILES rows (r,s,c) of dw × 32 outputs, over steps of 8 words of pixels. On tensor cores dY is the
// operand a of mma, in the order of a in shared memory, so that one read of 16 bytes is all of a; x is b. A word of dY
// is one pixel of an output; with bf16 it is two neighbours.
#pragma once
#include "conv_patch.cuh"

constexpr uint32_t FILTER_WARPS = 6, FILTER_THREADS = 32 * FILTER_WARPS;  // conv.go has the same numbers

// FilterSums has the sums of a thread, lane = 4g+t. Row g of product m is output 4g+2m, row g+8 output 4g+2m+1; column n
// of product j is row 8j+n of dw: d[j][m][2r+c] is row 8j+2t+c, output 4g+2m+r. With three tiles the channels are a
// multiple of 32: the rows of a tile have the same tap, and one address.
template <class P, int TILES> struct FilterSums {
  static constexpr uint32_t ROWS = 8 * TILES, OUTPUTS = 4;  // of a thread
  static constexpr int BASES = TILES == 1 ? 4 : TILES;      // addresses of rows
  float d[4 * TILES][2][4];

  // row returns the i-th row of dw of a thread, output its first output, of the sum of its n-th output.
  DEV uint32_t row(uint32_t i) { return i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2; }
  DEV uint32_t output() { return threadIdx.x % 32 / 4 * 4; }
  DEV float of(const FilterSums &s, uint32_t i, uint32_t n) { return s.d[i / 2][n / 2][n % 2 * 2 + i % 2]; }
};

// In fp32 a thread has outputs 8t … 8t+7 of rows 8i+g: d[i][j][h] is output 8t+4h+j.
template <int TILES> struct FilterSums<FP32, TILES> {
  static constexpr uint32_t ROWS = 4 * TILES, OUTPUTS = 8;
  static constexpr int BASES = 4 * TILES;
  float d[4 * TILES][4][2];

  DEV uint32_t row(uint32_t i) { return i * 8 + threadIdx.x % 32 / 4; }
  DEV uint32_t output() { return threadIdx.x % 4 * 8; }
  DEV float of(const FilterSums &s, uint32_t i, uint32_t n) { return s.d[i][n % 4][n / 4]; }
};

// FilterGradient says where dY lies in shared memory. STEP is the words of a step; first and apart say which two words
// of a step a thread multiplies. Both are words of b, and columns t and t+4 of a.
template <class P> struct FilterGradient {
  static constexpr uint32_t STEP = 8 * CONV_OUTPUTS, apart = conv_per_word<P> == 2 ? 4 : 1;
  DEV uint32_t first() { return conv_per_word<P> == 2 ? threadIdx.x % 4 : threadIdx.x % 4 * 2; }
  // at returns where a word of outputs n and n+1 lies, n being even.
  DEV uint32_t at(uint32_t word, uint32_t n) {
    const uint32_t u = conv_per_word<P> == 2 ? word % 4 : word % 8 / 2, c = conv_per_word<P> == 2 ? word / 4 % 2 : word % 2;
    return word / 8 * STEP + n % 4 / 2 * 128 + 4 * (n / 4 * 4 + u) + 2 * c;
  }
};
template <> struct FilterGradient<FP32> {
  static constexpr uint32_t LD = CONV_OUTPUTS + 4, STEP = 8 * LD, apart = 1;
  DEV uint32_t first() { return 0; }
};

// filter_word reads the word so many bytes behind x.
DEV uint32_t filter_word(const uint32_t *x, uint32_t bytes) {
  return *reinterpret_cast<const uint32_t *>(reinterpret_cast<const char *>(x) + bytes);
}

// filter_step adds the products of a step of 8 words of pixels. y and offset are at the words of the thread. rows[i] is where the channel and the tap of a row of dw lie behind a pixel, in bytes: of every 8th row from g
// on, or of every 32nd.
template <class P, int TILES>
DEV void filter_step(FilterSums<P, TILES> &sums, const uint32_t *patch, const uint32_t *y, const uint32_t *offset,
                     const uint32_t (&rows)[FilterSums<P, TILES>::BASES], uint32_t pitch) {
  constexpr int EACH = 4 * TILES / FilterSums<P, TILES>::BASES;  // products that share an address
  const uint32_t *x0 = patch + offset[0];
  // Two words of float are neighbours in a row of pixels.
  const uint32_t *x1 = conv_per_word<P> == 2 ? patch + offset[FilterGradient<P>::apart] : x0 + pitch;
  const uint4 y0 = read_vector<uint4>(y), y1 = read_vector<uint4>(y + 128);
#pragma unroll
  for (int j = 0; j < 4 * TILES; j++) {
    const uint32_t row = rows[j / EACH], channel = 8 * (j % EACH);
    const uint32_t b[2] = {filter_word(x0 + channel, row), filter_word(x1 + channel, row)};
    conv_mma<P>(sums.d[j][0], {y0.x, y0.y, y0.z, y0.w}, b);
    conv_mma<P>(sums.d[j][1], {y1.x, y1.y, y1.z, y1.w}, b);
  }
}

// filter_multiply adds the products of the words of a unit from `word` on, 8 words of every `stride`.
template <class P, int TILES>
DEV void filter_multiply(FilterSums<P, TILES> &sums, const uint32_t *patch, const uint32_t *dY, const uint32_t *offset,
                         const uint32_t (&rows)[FilterSums<P, TILES>::BASES], uint32_t word, uint32_t words,
                         uint32_t stride, uint32_t pitch) {
  constexpr uint32_t EIGHTH = FilterGradient<P>::STEP / 8;  // of a step of dY, for each word
  dY += 4 * (kept(threadIdx.x) % 32);
  offset += FilterGradient<P>::first();
  if constexpr (TILES == 1) {
    const uint32_t *y = dY + EIGHTH * word, *at = offset + word;
    for (; word + stride < words; word += 2 * stride) {  // in twos: clang unrolls no loop with assembly
      named<32 * TILES, 32>();
      filter_step<P, TILES>(sums, patch, y, at, rows, pitch);
      y += EIGHTH * stride, at += stride;
      filter_step<P, TILES>(sums, patch, y, at, rows, pitch);
      y += EIGHTH * stride, at += stride;
    }
    if (word < words) filter_step<P, TILES>(sums, patch, y, at, rows, pitch);
    return;
  }
  for (; word < words; word += stride) {
    named<32 * TILES, 32>();
    const uint32_t at = kept(word);  // otherwise clang counts three addresses up
    filter_step<P, TILES>(sums, patch, dY + EIGHTH * at, offset + at, rows, pitch);
  }
}

template <int TILES>
DEV void filter_multiply(FilterSums<FP32, TILES> &sums, const uint32_t *patch, const uint32_t *dY,
                         const uint32_t *offset, const uint32_t (&rows)[4 * TILES], uint32_t word, uint32_t words,
                         uint32_t stride, uint32_t) {
  constexpr uint32_t LD = FilterGradient<FP32>::LD;
  dY += FilterSums<FP32, TILES>::output();
  for (; word < words; word += stride) {
    named<32 * TILES, 32>();
    const uint32_t at = kept(word);
#pragma unroll 1
    for (uint32_t k = at; k < at + 8; k++) {
      const uint32_t *x = patch + offset[k];
      const float4 b0 = read_vector<float4>(dY + k * LD), b1 = read_vector<float4>(dY + k * LD + 4);
      const float b[4][2] = {{b0.x, b1.x}, {b0.y, b1.y}, {b0.z, b1.z}, {b0.w, b1.w}};
#pragma unroll
      for (int i = 0; i < 4 * TILES; i++) {
        const float v = bits_float(filter_word(x, rows[i]));
#pragma unroll
        for (int j = 0; j < 8; j++) {
          float &d = sums.d[i][j % 4][j / 4];
          d = fmaf_(v, b[j % 4][j / 4], d);
        }
      }
    }
  }
}
