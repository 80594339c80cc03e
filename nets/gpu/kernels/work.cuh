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
