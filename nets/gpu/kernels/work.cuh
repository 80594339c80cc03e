// The wave of clients that every kernel of a local step serves.
//
// A CUDA graph is made once and launched in every round, so its kernels cannot take the round's clients as
// arguments. They take the address of a Work, which is rewritten before each launch of the graph. The grid has blocks
// for as many slots as the arena has room for (blockIdx.y is the slot), and the blocks of a slot that is not in use
// return at once.
//
// The letters of all shapes: K slots, E local steps, B batch, H×W×C images without border, O outputs, P elements of a
// row of parameters, padding included. act is the type of stored activations: float (fp32), float rounded to TF32
// (tf32), or bfloat16 (bf16).
#pragma once
#include "prelude.cuh"

// One slot: a client that trains, or a share of the samples that one row of weights is evaluated on.
struct Slot {
  float *row;               // [P] the weights: read, and trained in place
  const float *start;       // [P] the weights before the first step
  void *weights;            // [P] what matrix products read: with bf16 a copy of row in bf16, else row itself
  float *momentum;          // [P] or null
  const float *drift;       // [P] or null: a constant that is added to every gradient
  uint32_t client, unused;  // client: the number that selects its random streams
};

// The wave.
struct Work {
  const Slot *slots;      // [K]
  const int32_t *index;   // [K,E,B] samples of each batch; -1: no sample
  const uint8_t *crop;    // [K,E,B,2] row and column of the crop in the image padded by 4; null: (4,4) for all
  const uint8_t *flip;    // [K,E,B] not 0: mirror the image; null: mirror none
  const int32_t *count;   // [K,E] samples of each batch that count; a step without any changes nothing
  uint32_t clients;       // slots in use
  uint32_t seed, round;   // of the dropout masks
  float lr, weight_decay, momentum, clip;  // only clip_scale reads clip
  uint32_t unused;
};
