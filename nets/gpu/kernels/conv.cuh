// What the kernels of convolutions with bias, ReLU and pooling share: their arguments, the pixels below a tile of
// windows in shared memory, and the product of these pixels with weights.
//
// A window is the 2×2 pixels of a convolution that are pooled into one. A word is four bytes along the dimension that
// is summed over: one float, or two bf16. A patch is the pixels of x, in shared memory, that the windows of a unit of
// work need: [images][height][width][pitch] words, with zeros outside the image.
//
// conv_forward and conv_backward_data compute the same product: out[pixel, n] = Σ over taps and depth of
// patch[pixel + tap, depth] w[tap, depth, n]. They cut it in units of up to 64 windows × 32 outputs. A warp owns 16
// windows, so that the four pixels of a window meet in the registers of one thread.
#pragma once
#include "precision.cuh"
#include "work.cuh"

// How a kernel cuts a convolution. ConvTile of conv.go computes it once per launch from sizes and precision; here it
// lies among the parameters, in constant memory, and costs no registers.
struct ConvTile {
  uint32_t depth, pitch;           // words of a pixel: along the sum, and in a patch
  uint32_t slice, slices;          // words of the depth that a patch holds at a time, and how often; 0: always all
  uint32_t images, rows, columns;  // of windows in a unit
  uint32_t height, width, patch;   // pixels of a patch, and its words
  uint32_t bands, strips, units;   // units down, units across, and all units of a slot
  uint32_t tiles;                  // of 32 outputs
  // conv_forward and conv_backward_data:
  uint32_t steps, resident;        // steps of 8 words: all, and with weights in shared memory at a time
  uint32_t stages;                 // patches in shared memory: 1 or 2
  // conv_backward_filter:
  uint32_t windows;                // of a unit, in whole steps: of four, in fp32 of two
  uint32_t warp_tiles;             // tiles of 32 rows of dw that a warp owns: 1 or 3
  uint32_t groups, parts;          // groups of warps, each with its own rows; warps of a group, which share the pixels
  uint32_t runs;                   // blocks that all rows take
};

// The arguments of all three kernels.
//   y[k,b,i,j,o] = max(0, bias[k,o] + max over {2i,2i+1}×{2j,2j+1} of Σ w[k,r,s,c,o] x[k,b,·+r-pad,·+s-pad,c])
struct ConvArgs {
  const Work *work;
  const void *x;                // [K,B,H,W,pixel] act, of which C are channels and the others 0
  void *y;                      // [K,B,HP,WP,O] act; backward: not read
  uint8_t *arg;                 // [K,B,HP,WP,O] place 0 … 3 of the maximum in its window, by rows; 4: the ReLU is shut
  const void *gy;               // [K,B,HP,WP,O] act, gradient of y
  void *dx;                     // [K,B,H,W,C] act
  float *partial;               // [K,chunks,R·S·C·O+O] sums of dw, then of db, over `images` images each
  uint32_t w_offset, b_offset;  // of w [R,S,C,O] and of bias [O] in a row
  uint32_t B, H, W, C, R, S, O, pad;
  uint32_t HP, WP;              // HP = (H+2·pad-R+1)/2, WP likewise
  uint32_t images, chunks;      // images of a chunk, chunks of a slot
  uint32_t pixel, unused;       // elements of a pixel of x, at least C
  ConvTile tile;
};

// conv.go has the same numbers.
constexpr uint32_t CONV_THREADS = 128, CONV_WINDOWS = 64, CONV_OUTPUTS = 32;
// With slices of the depth: words of a pixel along the sum, and in a patch.
constexpr uint32_t CONV_SLICE = 16, CONV_SLICE_PITCH = 20;

// conv_per_word is how many elements are in a word.
template <class P> constexpr uint32_t conv_per_word = sizeof(uint32_t) / sizeof(typename P::act);

// conv_tensor says whether products run on tensor cores.
template <class P> constexpr bool conv_tensor = true;
template <> constexpr bool conv_tensor<FP32> = false;

DEV uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

// ConvPlace is where a unit of a slot lies: its images begin at b, its windows at (i,j).
struct ConvPlace {
  uint32_t b, i, j;
};

// conv_store writes N neighbouring outputs, 4 or 8; the first `room` of them exist. aligned: every row is a multiple of
// N long.
template <class P, uint32_t N>
DEV void conv_store(typename P::act *dst, const float (&v)[N], uint32_t room, bool aligned) {
  if (!aligned) {
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
      if (i < room) dst[i] = P::store(v[i]);
    return;
  }
  if (room == 0) return;
#pragma unroll
  for (uint32_t i = 0; i < N; i += 4) {
    if constexpr (conv_per_word<P> == 2)
      write_vector(dst + i, uint2{pack_bf16(v[i], v[i + 1]), pack_bf16(v[i + 2], v[i + 3])});
    else
      write_vector(dst + i, float4{P::store(v[i]), P::store(v[i + 1]), P::store(v[i + 2]), P::store(v[i + 3])});
  }
}

// conv_mma adds one product of the tensor cores to d.
template <class P> DEV void conv_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (conv_per_word<P> == 2) mma_bf16_16x8x16(d, a, b);
  else mma_tf32_16x8x8(d, a, b);
}
