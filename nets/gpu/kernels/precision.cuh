// How each precision stores activations and multiplies matrices.
#pragma once
#include "prelude.cuh"

// tf32_float rounds to 10 bits of mantissa, ties away from zero.
DEV float tf32_float(float v) { return bits_float(cvt_tf32(v) & 0xffffe000u); }

// fp32: everything in float, products by fused multiply-adds.
struct FP32 {
  typedef float act;
  DEV float load(act v) { return v; }
  DEV act store(float v) { return v; }
};

// tf32: activations are kept in float, rounded to 10 bits of mantissa by whoever writes them; tensor cores, sums in float.
struct TF32 {
  typedef float act;
  DEV float load(act v) { return v; }
  DEV act store(float v) { return tf32_float(v); }
};

// bf16: activations are kept in 16 bits; tensor cores, sums in float.
struct BF16 {
  typedef uint16_t act;
  DEV float load(act v) { return from_bf16(v); }
  DEV act store(float v) { return to_bf16(v); }
};
