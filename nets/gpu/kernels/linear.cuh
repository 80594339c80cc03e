// What the kernels of fully connected layers share: their arguments and tiles.
#pragma once
#include "gemm.cuh"
#include "work.cuh"

// y[k,b,o] = bias[k,o] + Σ over i of x[k,b,i] w[k,i,o], clamped at 0 if relu.
struct LinearArgs {
  const Work *work;
  const void *x;                // [K,B,I] act
  void *y;                      // [K,B,O] act, or float if y_float
  const void *gy;               // [K,B,O] act, gradient in front of the ReLU: relu_backward has run
  void *dx;                     // [K,B,I] act
  float *grad;                  // [K,P] dw at w_offset, db at b_offset; null: the weights are updated at once
  float *partial;               // [K,parts,B,O] sums over a share of the inputs each; parts = 1: unused
  uint32_t w_offset, b_offset;  // of w [I,O] and bias [O] in a row
  uint32_t B, I, O, P;
  uint32_t relu, y_float;       // 0 or 1
  uint32_t parts;               // 1 or more, of the sum over I in linear_forward
  uint32_t step, E, unused;
};

// The tiles of the kernels; linear.go has the same sizes. A stage is 128 bytes deep, 32, 24 or 16 KB in all. Layers of
// at most 16 outputs have a narrow tile. On tensor cores, layers of many inputs have a wide one, since there are blocks
// enough and L2 is the limit; it has 128 sums per thread.
template <class P> using ForwardTile = Tile<64, 64, 128 / (int)sizeof(typename P::act), 64, 32, 2, 3>;
template <class P> using BackwardTile = Tile<128, 64, 128 / (int)sizeof(typename P::act), 64, 32, 1, 3>;
template <class P> using WideTile = Tile<128, 128, 128 / (int)sizeof(typename P::act), 64, 64, 1, 3>;
template <class P> using NarrowTile = Tile<32, 16, 64, 32, 16, 4, 3>;

// wide says whether a layer has the wide tile.
template <class P>
DEV bool wide(const LinearArgs &a) {
  return by_mma<P> && a.I >= 1024 && a.O > BackwardTile<P>::BN;
}
