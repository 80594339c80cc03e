// prelude.cuh: the device language of all kernels here.
//
// The same names are PTX under clang, without NVIDIA's headers and libdevice, and fibers on the CPU under
// g++ -DROLLCALL_EMULATOR (emulator.h). Kernels have no inline assembly and no atomics of their own, so that both sides
// run the same source. Both are compiled with -ffp-contract=off: a product and a sum are fused where fmaf_ says so and
// nowhere else. Numbers then have the same bits on both sides; a NaN may have others, as a CPU's arithmetic hands it on.
//
// A kernel takes one structure by value: extern "C" __global__ void __launch_bounds__(128) name(const NameArgs a).
#pragma once

#ifdef ROLLCALL_EMULATOR
#include "emulator.h"
#else

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define DEV static __device__ inline __attribute__((always_inline))

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __SIZE_TYPE__ size_t;

struct uint3 { uint32_t x, y, z; };

// SHARED(float, tile, [32][33]); declares an array in shared memory, 16-byte aligned; SHARED(float, total); one value.
#define SHARED(T, name, ...) __shared__ __attribute__((aligned(16))) T name __VA_ARGS__
// DYNAMIC_SHARED(float, stage); declares a pointer to the dynamic shared memory of the launch, 128-byte aligned. A
// kernel has one such region.
#define DYNAMIC_SHARED(T, name) \
	extern __shared__ __attribute__((aligned(128))) unsigned char dynamic_shared_bytes[]; \
	T *name = reinterpret_cast<T *>(dynamic_shared_bytes)

#define ROLLCALL_INDEX(name, reg) \
	DEV uint3 name() { \
		return {(uint32_t)__nvvm_read_ptx_sreg_##reg##_x(), (uint32_t)__nvvm_read_ptx_sreg_##reg##_y(), \
			(uint32_t)__nvvm_read_ptx_sreg_##reg##_z()}; \
	}
ROLLCALL_INDEX(thread_index, tid)
ROLLCALL_INDEX(block_index, ctaid)
ROLLCALL_INDEX(block_size, ntid)
ROLLCALL_INDEX(grid_size, nctaid)
#undef ROLLCALL_INDEX
#define threadIdx thread_index()
#define blockIdx block_index()
#define blockDim block_size()
#define gridDim grid_size()

// __syncthreads is a builtin of clang. Every lane that the mask of a warp collective names must call it, and none may
// have returned.
DEV void __syncwarp(uint32_t mask = 0xffffffffu) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }
DEV uint32_t __ballot_sync(uint32_t mask, int predicate) { return __nvvm_vote_ballot_sync(mask, predicate); }
DEV uint32_t __shfl_xor_sync(uint32_t mask, uint32_t v, int lanes) {
	return __nvvm_shfl_sync_bfly_i32(mask, v, lanes, 0x1f);
}
DEV uint32_t __shfl_down_sync(uint32_t mask, uint32_t v, int lanes) {
	return __nvvm_shfl_sync_down_i32(mask, v, lanes, 0x1f);
}
DEV uint32_t __shfl_sync(uint32_t mask, uint32_t v, int lane) { return __nvvm_shfl_sync_idx_i32(mask, v, lane, 0x1f); }

DEV float fmaf_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEV double fma_d(double a, double b, double c) { return __builtin_fma(a, b, c); }
DEV float sqrtf_(float x) { float y; asm("sqrt.rn.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEV double sqrt_d(double x) { double y; asm("sqrt.rn.f64 %0, %1;" : "=d"(y) : "d"(x)); return y; }
// fmaxf_ and fminf_ return the number where one argument is NaN; fmax_nan and fmin_nan return NaN then.
DEV float fmaxf_(float a, float b) { float y; asm("max.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
DEV float fminf_(float a, float b) { float y; asm("min.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
DEV float fmax_nan(float a, float b) { float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
DEV float fmin_nan(float a, float b) { float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }

// pack_bf16 rounds both to nearest even. lo is the half at the lower address. A NaN becomes 0x7fff.
DEV uint32_t pack_bf16(float lo, float hi) {
	uint32_t r;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
	return r;
}
DEV uint16_t to_bf16(float x) { uint16_t r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
// cvt_tf32 rounds to 10 bits of mantissa, ties away from zero. The 13 low bits of the result have no meaning.
DEV uint32_t cvt_tf32(float x) { uint32_t r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }

// mma_tf32_16x8x8: d[16×8] += a[16×8] b[8×8]. With g = lane/4 and t = lane%4, a lane has
// a = {(g,t), (g+8,t), (g,t+4), (g+8,t+4)}, b = {(t,g), (t+4,g)}, d = {(g,2t), (g,2t+1), (g+8,2t), (g+8,2t+1)}.
DEV void mma_tf32_16x8x8(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
	asm volatile(
	    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// mma_bf16_16x8x16: d[16×8] += a[16×16] b[16×8], in pairs of bf16 with the lower column (a) or row (b) in the low half.
// A lane has
// a = {(g,2t..), (g+8,2t..), (g,2t+8..), (g+8,2t+8..)}, b = {(2t..,g), (2t+8..,g)}, d as above.
DEV void mma_bf16_16x8x16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
	asm volatile(
	    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// shift_left and shift_right return 0 where n is 64 or more.
DEV uint64_t shift_left(uint64_t x, uint32_t n) { asm("shl.b64 %0, %0, %1;" : "+l"(x) : "r"(n)); return x; }
DEV uint64_t shift_right(uint64_t x, uint32_t n) { asm("shr.u64 %0, %0, %1;" : "+l"(x) : "r"(n)); return x; }

// smem_u32 returns the address in shared memory that cp_async and ldmatrix take. Bytes may be added to it.
DEV uint32_t smem_u32(const void *p) { return (uint32_t)(uint64_t)(const __attribute__((address_space(3))) char *)p; }

// ldmatrix loads 8×8 matrices of 16 bits. Lanes 8i … 8i+7 give the addresses of the rows of matrix i, 16-byte aligned.
// Lane l receives in r[i] the elements (l/4, 2(l%4)) and (l/4, 2(l%4)+1), with _trans (2(l%4), l/4) and (2(l%4)+1,
// l/4). All 32 lanes pass an address.
#define ROLLCALL_LDMATRIX(name, suffix) \
	DEV void ldmatrix_x1##name(uint32_t (&r)[1], uint32_t row) { \
		asm volatile("ldmatrix.sync.aligned.m8n8.x1" suffix ".shared.b16 {%0}, [%1];" \
			: "=r"(r[0]) : "r"(row) : "memory"); \
	} \
	DEV void ldmatrix_x2##name(uint32_t (&r)[2], uint32_t row) { \
		asm volatile("ldmatrix.sync.aligned.m8n8.x2" suffix ".shared.b16 {%0,%1}, [%2];" \
			: "=r"(r[0]), "=r"(r[1]) : "r"(row) : "memory"); \
	} \
	DEV void ldmatrix_x4##name(uint32_t (&r)[4], uint32_t row) { \
		asm volatile("ldmatrix.sync.aligned.m8n8.x4" suffix ".shared.b16 {%0,%1,%2,%3}, [%4];" \
			: "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory"); \
	}
ROLLCALL_LDMATRIX(, "")
ROLLCALL_LDMATRIX(_trans, ".trans")
#undef ROLLCALL_LDMATRIX

// kept returns x, but clang must take every result for a new value. So clang does not compute ahead what depends on it
// in a loop, and does not hold the results in registers from then on.
DEV uint32_t kept(uint32_t x) { asm volatile("" : "+r"(x)); return x; }
DEV uint64_t kept(uint64_t x) { asm volatile("" : "+l"(x)); return x; }

// named gives the loop that it stands in a name, for which `make check-ptx` has limits: `multiply MxN`, by what a warp
// or a block multiplies in it. The name is a comment in the PTX. Where loops for so many channels differ, C tells them
// apart.
template <int M, int N> DEV void named() { asm volatile("// loop multiply %0x%1" ::"n"(M), "n"(N)); }
template <int M, int N, int C> DEV void named() {
  asm volatile("// loop multiply %0x%1 of %2 channels" ::"n"(M), "n"(N), "n"(C));
}

// cp_asyncN begins to copy N bytes from global to shared memory, both aligned to N; if not valid it writes zeros and
// reads nothing. This thread may read the bytes after cp_async_wait of their group, other threads after a barrier
// behind that.
DEV void cp_async4(uint32_t dst, const void *src, bool valid = true) {
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(dst), "l"(src), "r"(valid ? 4 : 0) : "memory");
}
DEV void cp_async8(uint32_t dst, const void *src, bool valid = true) {
	asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(dst), "l"(src), "r"(valid ? 8 : 0) : "memory");
}
DEV void cp_async16(uint32_t dst, const void *src, bool valid = true) {
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(valid ? 16 : 0) : "memory");
}
// cp_async16_near is cp_async16 by way of the first cache, for bytes that the block will read again.
DEV void cp_async16_near(uint32_t dst, const void *src, bool valid = true) {
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(valid ? 16 : 0) : "memory");
}
DEV void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// cp_async_wait<N> waits for all groups but the N that were committed last.
template <int N> DEV void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

#define ROLLCALL_CALLER // the emulator passes the caller's line along
#define ROLLCALL_PASS
#endif // ROLLCALL_EMULATOR

// From here on both sides have the same code.

// Lambdas are inlined, [&](uint32_t i) INLINE { … }, because one that is not would keep its captures in local memory.
#define INLINE __attribute__((always_inline))

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) uint2 { uint32_t x, y; };
struct alignas(16) uint4 { uint32_t x, y, z, w; };

// read_vector and write_vector move one of these structures in one instruction. Clang takes plain copies of structures
// apart: it merges equal parts of the stores of two branches, and the rest is no vector any more.
template <class V> DEV V read_vector(const void *p) {
	typedef uint32_t words __attribute__((vector_size(sizeof(V)), may_alias));
	return __builtin_bit_cast(V, *static_cast<const words *>(p));
}
template <class V> DEV void write_vector(void *p, const V &v) {
	typedef uint32_t words __attribute__((vector_size(sizeof(V)), may_alias));
	*static_cast<words *>(p) = __builtin_bit_cast(words, v);
}

DEV uint32_t float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
DEV float bits_float(uint32_t u) { return __builtin_bit_cast(float, u); }
DEV uint64_t double_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
DEV double bits_double(uint64_t u) { return __builtin_bit_cast(double, u); }
DEV uint32_t mulhi_u32(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a * b) >> 32); }
DEV float from_bf16(uint16_t h) { return bits_float((uint32_t)h << 16); }
DEV float bf16_lo(uint32_t pair) { return bits_float(pair << 16); }
DEV float bf16_hi(uint32_t pair) { return bits_float(pair & 0xffff0000u); }
DEV float fabsf_(float x) { return bits_float(float_bits(x) & 0x7fffffffu); }
DEV float rsqrtf_(float x) { return 1.0f / sqrtf_(x); }
DEV double fabs_d(double x) { return bits_double(double_bits(x) & ~(1ull << 63)); }

#define ROLLCALL_SHUFFLES(name) \
	DEV float name(uint32_t mask, float v, int l ROLLCALL_CALLER) { \
		return bits_float(name(mask, float_bits(v), l ROLLCALL_PASS)); \
	} \
	DEV int32_t name(uint32_t mask, int32_t v, int l ROLLCALL_CALLER) { \
		return (int32_t)name(mask, (uint32_t)v, l ROLLCALL_PASS); \
	} \
	DEV double name(uint32_t mask, double v, int l ROLLCALL_CALLER) { \
		uint32_t lo = name(mask, (uint32_t)double_bits(v), l ROLLCALL_PASS); \
		uint32_t hi = name(mask, (uint32_t)(double_bits(v) >> 32), l ROLLCALL_PASS); \
		return bits_double((uint64_t)hi << 32 | lo); \
	}
ROLLCALL_SHUFFLES(__shfl_xor_sync)
ROLLCALL_SHUFFLES(__shfl_down_sync)
ROLLCALL_SHUFFLES(__shfl_sync)
#undef ROLLCALL_SHUFFLES
#undef ROLLCALL_CALLER
#undef ROLLCALL_PASS

// expf_ returns e^x within 1 ulp, gradual underflow included: x = n ln 2 + r with |r| ≤ ln 2 / 2, and a Taylor series
// in r.
DEV float expf_(float x) {
	if (!(x < 89.0f)) return x != x ? x : bits_float(0x7f800000u);
	if (x < -104.0f) return 0.0f;
	float n = fmaf_(x, 1.44269504f, 12582912.0f) - 12582912.0f; // nearest integer: beside 1.5·2²³ no fraction fits
	float r = fmaf_(n, -0.693359375f, x);  // ln 2 in two parts; n times the first, of 10 bits, is exact
	r = fmaf_(n, 2.12194440e-4f, r);
	float p = fmaf_(r, 1.0f / 40320, 1.0f / 5040);
	p = fmaf_(r, p, 1.0f / 720);
	p = fmaf_(r, p, 1.0f / 120);
	p = fmaf_(r, p, 1.0f / 24);
	p = fmaf_(r, p, 1.0f / 6);
	p = fmaf_(r, p, 0.5f);
	p = fmaf_(r * r, p, r) + 1.0f;
	int e = (int)n, half = e >> 1; // two factors, as 2^128 and 2^-150 are no normal floats
	return p * bits_float((uint32_t)(half + 127) << 23) * bits_float((uint32_t)(e - half + 127) << 23);
}

// logf_ returns ln x within 1 ulp, -inf at 0, NaN below. With x = 2^e (1+f) and s = f/(2+f),
// ln(1+f) = 2 artanh s = f − s (f − 2s²(1/3 + s²/5 + …)).
DEV float logf_(float x) {
	if (!(x > 0.0f)) return x == 0.0f ? bits_float(0xff800000u) : bits_float(0x7fc00000u);
	if (x > 3.4028235e38f) return x;
	float e = 0.0f;
	if (x < 1.17549435e-38f) {
		x *= 8388608.0f;
		e = -23.0f;
	}
	uint32_t u = float_bits(x) - 0x3f3504f3u; // 1+f in [√½, √2)
	e += (float)((int32_t)u >> 23);
	float f = bits_float((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f, s = f / (2.0f + f), z = s * s;
	float p = fmaf_(z, 2.0f / 9, 2.0f / 7);
	p = fmaf_(z, p, 2.0f / 5);
	p = fmaf_(z, p, 2.0f / 3);
	float tail = fmaf_(s, f - z * p, e * 2.12194440e-4f);
	return fmaf_(e, 0.693359375f, f - tail);
}

// exp_d returns e^x to 2e-16 relative, by the method of expf_.
DEV double exp_d(double x) {
	if (!(x < 710.0)) return x != x ? x : bits_double(0x7ffull << 52);
	if (x < -746.0) return 0.0;
	double n = fma_d(x, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
	double r = fma_d(n, -0.693147180369123816490, x);
	r = fma_d(n, -1.90821492927058770002e-10, r);
	const double c[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
	                    1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
	double p = 1.0 / 6227020800;
#pragma unroll
	for (int i = 0; i < 11; i++) p = fma_d(r, p, c[i]);
	p = fma_d(r * r, p, r) + 1.0;
	int e = (int)n, half = e >> 1;
	return p * bits_double((uint64_t)(half + 1023) << 52) * bits_double((uint64_t)(e - half + 1023) << 52);
}

// log_d returns ln x to 2e-16 relative, by the method of logf_.
DEV double log_d(double x) {
	if (!(x > 0.0)) return x == 0.0 ? bits_double(0xfffull << 52) : bits_double(0x7ff8ull << 48);
	if (x > 1.7976931348623157e308) return x;
	double e = 0.0;
	if (x < 2.2250738585072014e-308) {
		x *= 18014398509481984.0;
		e = -54.0;
	}
	uint64_t u = double_bits(x) - 0x3fe6a09e667f3bcdull;
	e += (double)((int64_t)u >> 52);
	double f = bits_double((u & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1.0, s = f / (2.0 + f), z = s * s;
	const double c[] = {2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3};
	double p = 2.0 / 21;
#pragma unroll
	for (int i = 0; i < 9; i++) p = fma_d(z, p, c[i]);
	double tail = fma_d(s, f - z * p, e * -1.90821492927058770002e-10);
	return fma_d(e, 0.693147180369123816490, f - tail);
}
