// What every kernel of a local step reads: the wave of clients that is trained, and the arguments of each kernel.
//
// The wave sits in device memory at a fixed address and is rewritten before the CUDA graphs that read it are launched, so
// that a graph captured once serves every round: the grid has room for as many clients as the arena, and blocks of a slot
// that is not in use leave at once. nets/gpu/kernels/args.go mirrors every structure here, field by field.
//
// Letters: K slots, E steps, B batch, H×W×C images without border, O outputs, P elements of a row, padding included.
// act is the type of stored activations: float (fp32), float rounded to TF32 (tf32), bfloat16 (bf16).
#pragma once
#include "prelude.cuh"

// One slot: a client that trains, or a part of the samples that a row is evaluated on.
struct Slot {
  float *row;             // [P] the weights: read, and trained in place
  const float *start;     // [P] the weights before the first step
  void *weights;          // [P] act: row as the matrix products read it; with fp32 it is row itself
  float *momentum;        // [P] or null
  const float *drift;     // [P] or null
  uint32_t client, unused;  // client names the random streams
};

// The wave.
struct Work {
  const Slot *slots;      // [K]
  const int32_t *index;   // [K,E,B] samples; -1 pads
  const uint8_t *crop;    // [K,E,B,2] row and column in the image padded by 4; null: (4,4) for all
  const uint8_t *flip;    // [K,E,B]; null: none
  const int32_t *count;   // [K,E] samples that count; a step of none changes nothing
  uint32_t clients;       // slots in use
  uint32_t seed, round;   // of the dropout masks
  float lr, weight_decay, momentum, clip;  // clip is read by clip_scale alone
  uint32_t unused;
};

// gather: a batch of images, cropped, flipped, normalised; or of real-valued features as they are.
struct GatherArgs {
  const Work *work;
  const uint8_t *images;   // [n,H,W,C], or null
  const float *features;   // [n,H,W,C] if images is null
  const uint8_t *classes;  // [n]
  const float *table;      // [C,256] what each byte of a channel becomes
  void *y;                 // [K,B,H,W,C] act
  int32_t *labels;         // [K,B]; -1: does not count
  uint32_t step, E, B, H, W, C;
};

// conv_forward and its gradients: stride 1, `pad` zeros around, bias, ReLU, 2×2 max pooling.
//   y[k,b,i,j,o] = max(0, bias[k,o] + max over {2i,2i+1}×{2j,2j+1} of Σ w[k,r,s,c,o] x[k,b,·+r-pad,·+s-pad,c])
struct ConvArgs {
  const Work *work;
  const void *x;           // [K,B,H,W,C] act
  void *y;                 // [K,B,HP,WP,O] act, HP = (H+2·pad-R+1)/2; backward: not read
  uint8_t *arg;            // [K,B,HP,WP,O] place 0 … 3 of the maximum in its window, row by row; 4: the ReLU is shut
  const void *gy;          // [K,B,HP,WP,O] act, gradient of y
  void *dx;                // [K,B,H,W,C] act
  float *partial;          // [K,chunks,R·S·C·O+O] sums of dw and then db over `images` images each
  uint32_t w_offset, b_offset;  // of w [R,S,C,O] and bias [O] in a row
  uint32_t B, H, W, C, R, S, O, pad;
  uint32_t images, unused;  // per chunk of partial
};

// conv2d_forward and its gradients: stride U, `pad` zeros around, nothing else.
//   y[k,b,i,j,o] = Σ w[k,r,s,c,o] x[k,b,U·i+r-pad,U·j+s-pad,c]
struct Conv2DArgs {
  const Work *work;
  const void *x;           // [K,B,H,W,C] act
  void *y;                 // [K,B,OH,OW,O] act, OH = (H+2·pad-R)/U+1
  const void *gy;          // [K,B,OH,OW,O] act, gradient of y
  void *dx;                // [K,B,H,W,C] act
  float *dw;               // [K,chunks,R·S·C·O] sums over `images` images each
  uint32_t w_offset;       // of w [R,S,C,O] in a row
  uint32_t B, H, W, C, R, S, O, U, pad;
  uint32_t images;         // per chunk of dw
  uint32_t dw_stride;      // elements of dw from slot to slot
};

// conv_reduce: grad[k] = Σ over chunks of partial[k,chunk], in order, for w and bias.
struct ConvReduceArgs {
  const Work *work;
  const float *partial;    // [K,chunks,n+O]
  float *grad;             // [K,P]
  uint32_t w_offset, b_offset;
  uint32_t n, O, chunks, P;  // n = R·S·C·O
  uint32_t step, E;
};

// linear_forward and its gradients: y[k,b,o] = bias[k,o] + Σ x[k,b,i] w[k,i,o], clamped at 0 if relu.
struct LinearArgs {
  const Work *work;
  const void *x;           // [K,B,I] act
  void *y;                 // [K,B,O] act, or float if y_float
  const void *gy;          // [K,B,O] act, gradient in front of the ReLU (relu_backward has been applied)
  void *dx;                // [K,B,I] act
  float *grad;             // [K,P] dw at w_offset, db at b_offset
  uint32_t w_offset, b_offset;  // of w [I,O] and bias [O] in a row
  uint32_t B, I, O, P;
  uint32_t relu, y_float;
};

// relu_backward: d = gy where y > 0, else 0. d may be gy.
struct ReLUArgs {
  const Work *work;
  const void *y, *gy;      // [K,n] act
  void *d;                 // [K,n] act
  uint32_t n, unused;
};

// add: y = a + b, the sum of the gradients of a value that is used twice.
struct AddArgs {
  const Work *work;
  const void *a, *b;       // [K,n] act
  void *y;                 // [K,n] act
  uint32_t n, unused;
};

// norm_…: batch normalisation, then perhaps the addition of other maps and ReLU.
//   y[k,b,p,c] = max(0, weight[k,c]·(x[k,b,p,c] − mean[k,c])/√(variance[k,c] + 1e-5) + bias[k,c] + add[k,b,p,c])
struct NormArgs {
  const Work *work;
  const void *x;           // [K,B,pixels,C] act
  const void *add;         // [K,B,pixels,C] act, or null
  void *y;                 // [K,B,pixels,C] act; backward: read if something was added and relu, else null
  const int32_t *labels;   // [K,B]; -1: does not count. Evaluation does not read them
  double *partial;         // [K,chunks,2,C] two sums of every channel
  float *stats;            // [K,8,C] what norm.cuh lists
  const void *gy;          // [K,B,pixels,C] act, gradient of y
  const void *gy2;         // [K,B,pixels,C] act, to be added to gy, or null
  void *d;                 // [K,B,pixels,C] act, gradient behind the ReLU and so of add; null if there is neither add nor gy2
  void *dx;                // [K,B,pixels,C] act
  float *grad;             // [K,P]
  uint32_t w_offset, b_offset, mean_offset, variance_offset;  // of weight, bias and running statistics [C] in a row
  uint32_t B, pixels, C, P;
  uint32_t relu;
  uint32_t lanes, chunks;  // how the maps are cut
  uint32_t step, E, unused;
};

// average_pool: y[k,b,c] = Σ over pixels of x[k,b,p,c]/pixels; and its gradient.
struct AverageArgs {
  const Work *work;
  const void *x;           // [K,B,pixels,C] act
  void *y;                 // [K,B,C] act
  const void *gy;          // [K,B,C] act
  void *dx;                // [K,B,pixels,C] act
  uint32_t B, pixels, C, unused;
};

// subsample: every stride-th pixel, and zeros for channels C … O-1; and its gradient.
struct SubsampleArgs {
  const Work *work;
  const void *x;           // [K,B,H,W,C] act
  void *y;                 // [K,B,⌈H/stride⌉,⌈W/stride⌉,O] act
  const void *gy;          // as y
  void *dx;                // as x
  uint32_t B, H, W, C, O, stride;
};

// log_odds: y[k,b] = (0, x[k,b]), logits of two classes from that of the second; and its gradient, dx[k,b] = gy[k,b,1].
struct LogOddsArgs {
  const Work *work;
  const float *x;          // [K,n]
  float *y;                // [K,n,2]
  const void *gy;          // [K,n,2] act
  void *dx;                // [K,n] act
  uint32_t n, unused;
};

// dropout: y = x·mask/(1-rate); the mask is a function of (seed, round, client, step, layer, element). The gradient is the
// same kernel applied to the gradient. Element e of a client's batch [B,F] takes word e mod 4 of the Philox block at
// counter (round, client, step, e/4), key (seed, 6 | (layer+1)<<16), and is kept if the word is >= threshold.
struct DropoutArgs {
  const Work *work;
  const void *x;           // [K,n] act
  void *y;                 // [K,n] act; may be x
  uint32_t n, layer, threshold, step;
  float scale;
  uint32_t unused;
};

// cross_entropy: loss[k] = mean over samples that count of -log softmax(logits)[label], and its gradient.
struct CrossEntropyArgs {
  const Work *work;
  const float *logits;     // [K,B,O]
  const int32_t *labels;   // [K,B]
  float *loss;             // [E,capacity], loss[step·capacity+k]
  void *dlogits;           // [K,B,O] act, 0 for samples that do not count; null: loss alone
  uint32_t B, O, step, E, capacity, unused;
};

// score: summed cross-entropy, correct samples (the first of equal largest logits; a row with NaN is never correct) and
// samples that count, of each slot.
struct ScoreArgs {
  const Work *work;
  const float *logits;     // [K,B,O]
  const int32_t *labels;   // [K,B]
  double *loss;            // [K]
  int32_t *correct;        // [K,2] correct, counted
  uint32_t B, O;
};

// begin: row = start, weights = row rounded, for every slot; round_weights: weights = row rounded.
struct RowsArgs {
  const Work *work;
  uint32_t P, unused;
};

// combine: dst = Σ c_i src_i, in order (first term a product, then fused multiply-adds); dst may be among src. None: 0.
struct CombineArgs {
  float *dst;              // [P]
  const float *c;          // [terms]
  const float *const *src; // [terms] rows
  uint32_t terms, P;
};

// sum_squares: partial[block] = Σ over 4096 elements of x², in double, in a fixed order.
struct SumSquaresArgs {
  const float *x;          // [n]
  double *partial;         // [⌈n/4096⌉]
  uint32_t n, unused;
};

// grad_squares: the same for the gradient of every slot; clip_scale: scale[k] = min(1, clip/‖grad_k‖).
struct ClipArgs {
  const Work *work;
  const float *grad;       // [K,P], of which the first n elements are gradients
  double *partial;         // [K,⌈n/4096⌉]
  float *scale;            // [K]
  uint32_t P, n;
};

// sgd: one step of every slot whose batch counts, as nets.LocalWork has it; row and weights are rewritten.
//   g = grad·scale; g += weight_decay·w + drift; v = momentum·v + g, g = v; w -= lr·g
// track: the running statistics behind them move towards the batch's, which are in the place of their gradients.
struct SGDArgs {
  const Work *work;
  const float *grad;       // [K,P]
  const float *scale;      // [K] of clip_scale; null: no clipping
  uint32_t P, n;           // n weights; running statistics from there on
  uint32_t step, E;
};
