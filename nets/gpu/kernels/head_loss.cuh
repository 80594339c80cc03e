// The loss of the head: of a sample by two lanes, and of the batch by a warp. cross_entropy takes more lanes.
#pragma once
#include "head.cuh"

// sample_loss leaves the loss of a sample and its dlogits in shared memory, from its logits. Two lanes share a sample:
// this one has the outputs o = lane, lane+2 … The exponentials are added as cross_entropy adds them: those whose o
// differ in the highest bit first.
template <class P>
DEV void sample_loss(const HeadArgs &a, const float *logits, int32_t label, double c, uint32_t b, double *losses,
                     unsigned char *dlogits) {
  constexpr uint32_t OWN = OUTPUTS / 2;
  const uint32_t lane = threadIdx.x % 2;
  float top = -__builtin_inff();
  for (uint32_t o = lane; o < a.O; o += 2) top = fmaxf_(top, logits[o]);
  top = fmaxf_(top, __shfl_xor_sync(0xffffffffu, top, 1));
  double e[OWN] = {}, sum[OWN], hit = 0;
#pragma unroll 1 // one copy of exp_d
  for (uint32_t o = lane; o < OUTPUTS; o += 2) {
    const double next = o < a.O ? exp_d((double)logits[o] - top) : 0;
    if ((int32_t)o == label) hit = next;
#pragma unroll
    for (uint32_t i = 0; i < OWN - 1; i++) e[i] = e[i + 1];
    e[OWN - 1] = next;
  }
#pragma unroll
  for (uint32_t i = 0; i < OWN; i++) sum[i] = e[i];
#pragma unroll
  for (uint32_t half = OWN / 2; half > 0; half /= 2)
#pragma unroll
    for (uint32_t i = 0; i < half; i++) sum[i] += sum[i + half];
  const double z = warp_sum(sum[0], 2), f = c / z, own = (hit / z - 1) * c;
  if (lane == 0) losses[b] = label >= 0 ? loss_at({top, z, e[0]}, logits[label]) : 0;
#pragma unroll
  for (uint32_t i = 0; i < OWN; i++) {
    const uint32_t o = lane + 2 * i;
    const double d = (int32_t)o == label ? own : e[i] * f;
    *element<typename Head<P>::DLogits>(dlogits, b, o) = P::store(label >= 0 && o < a.O ? (float)d : 0);
  }
}

// batch_loss writes the loss of the batch; one warp calls it. The samples are added as cross_entropy adds them.
DEV void batch_loss(const HeadArgs &a, const double *losses, int32_t count) {
  const uint32_t groups = ROW_THREADS / row_lanes(a.O);
  double sum = 0;
  for (uint32_t g = threadIdx.x; g < groups; g += 32) {
    double own = 0;
    for (uint32_t b = g; b < a.B; b += groups) own += losses[b];
    sum += own;
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) a.loss[size_t(a.step) * a.capacity + blockIdx.y] = (float)(sum / count);
}
