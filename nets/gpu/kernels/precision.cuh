// How each precision stores activations and multiplies matrices. A kernel with a version for each takes one of these
// structures as a template parameter P: P::act is a stored activation, P::load reads one, P::store rounds one.
#pragma once
#include "prelude.cuh"

// tf32_float returns v rounded to 10 bits of mantissa, ties away from zero.
DEV float tf32_float(float v) { return bits_float(cvt_tf32(v) & 0xffffe000u); }

// fp32: activations are float, products are fused multiply-adds.
struct FP32 {
  typedef float act;
  DEV float load(act v) { return v; }
  DEV act store(float v) { return v; }
};

// tf32: activations are float, rounded to 10 bits of mantissa by the kernel that writes them. Products run on tensor
// cores and are summed in float.
struct TF32 {
  typedef float act;
  DEV float load(act v) { return v; }
  DEV act store(float v) { return tf32_float(v); }
};

// bf16: activations have 16 bits. Products run on tensor cores and are summed in float.
struct BF16 {
  typedef uint16_t act;
  DEV float load(act v) { return from_bf16(v); }
  DEV act store(float v) { return to_bf16(v); }
};
