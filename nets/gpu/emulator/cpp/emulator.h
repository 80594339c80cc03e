// emulator.h: the device language of prelude.cuh, on the CPU. Kernels compile against this file alone. Each thread of a
// block is a fiber (fiber.h), and the functions below switch from one thread to another where a thread has to wait.
#pragma once
#include <stddef.h>
#include <stdint.h>

// compile.go finds the kernels of a preprocessed source by this attribute: change both together.
#define __global__ __attribute__((used, noinline))
#define __device__
#define __launch_bounds__(...)
#define DEV static inline
#define __shared__ static_assert(false, "__shared__: write SHARED(type, name, [dims]) or DYNAMIC_SHARED(type, name)");

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#endif

struct uint3 {
	uint32_t x, y, z;
};

namespace emu {

// Where is a place in a .cu file, for diagnoses. EMU_CALLER at the end of a function's parameters stands for the place
// of the call. It is two plain values and no Where, since g++ takes the caller's place only for plain default values.
struct Where {
	const char *file;
	int line;
};
#define EMU_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define EMU_WHERE (emu::Where{file, line})

// Op says what a thread waits for: run for nothing, exited for ever.
enum class Op : uint8_t {
	run,
	exited,
	syncthreads,
	syncwarp,
	ballot,
	shfl_xor,
	shfl_down,
	shfl,
	mma_tf32,
	mma_bf16,
	ldmatrix
};

// Thread is the part of a thread that a kernel sees. Fiber (machine.h) extends it.
struct Thread {
	uint3 index{};
};

// Place is the block that runs on this host thread, and the sizes of its launch.
struct Place {
	uint3 block, block_size, grid;
};

extern thread_local Thread *thread __attribute__((tls_model("initial-exec")));
extern thread_local Place place __attribute__((tls_model("initial-exec")));

// The functions below do what the PTX instructions of the same names do, for the thread that runs. They end the block
// with a diagnosis where a GPU would hang or read garbage.
void syncthreads(Where where);
void syncwarp(uint32_t mask, Where where);
uint32_t shuffle(Op op, uint32_t mask, uint32_t v, int32_t arg, Where where);
void mma(Op op, float *d, const uint32_t *a, const uint32_t *b, Where where);
void ldmatrix(uint32_t *r, int matrices, bool trans, uint32_t row, Where where);
void cp_async(uint32_t dst, const void *src, uint32_t bytes, bool valid, Where where);
void cp_async_commit();
void cp_async_wait(size_t groups);

// shared_static returns the block's array for one SHARED declaration, which key identifies.
void *shared_static(const void *key, size_t bytes, Where where);
// shared_dynamic returns the block's dynamic shared memory.
void *shared_dynamic();
// shared_address returns the address of p within shared memory, as ldmatrix and cp.async take it.
uint32_t shared_address(const void *p, Where where);

// add_kernel registers a kernel: its name, the size of its parameter structure, and a function that runs one thread.
// An Entry registers the kernel F when the library is loaded.
void add_kernel(const char *name, size_t arg_bytes, void (*call)(const void *args));
template <auto F> struct Entry;
template <class Args, void (*F)(Args)> struct Entry<F> {
	static void call(const void *args) { F(*static_cast<const Args *>(args)); }
	explicit Entry(const char *name) { add_kernel(name, sizeof(Args), call); }
};

} // namespace emu

#define SHARED(T, name, ...) \
	typedef T name##_shared_type __VA_ARGS__; \
	static const char name##_shared_key = 0; \
	name##_shared_type &name = *static_cast<name##_shared_type *>(::emu::shared_static( \
		&name##_shared_key, sizeof(name##_shared_type), ::emu::Where{__FILE__, __LINE__}))
#define DYNAMIC_SHARED(T, name) T *name = static_cast<T *>(::emu::shared_dynamic())

#define threadIdx (::emu::thread->index)
#define blockIdx (::emu::place.block)
#define blockDim (::emu::place.block_size)
#define gridDim (::emu::place.grid)

DEV void __syncthreads(EMU_CALLER) { emu::syncthreads(EMU_WHERE); }
DEV void __syncwarp(uint32_t mask = 0xffffffffu, EMU_CALLER) { emu::syncwarp(mask, EMU_WHERE); }
DEV uint32_t __ballot_sync(uint32_t mask, int predicate, EMU_CALLER) {
	return emu::shuffle(emu::Op::ballot, mask, predicate != 0, 0, EMU_WHERE);
}
DEV uint32_t __shfl_xor_sync(uint32_t mask, uint32_t v, int lanes, EMU_CALLER) {
	return emu::shuffle(emu::Op::shfl_xor, mask, v, lanes, EMU_WHERE);
}
DEV uint32_t __shfl_down_sync(uint32_t mask, uint32_t v, int lanes, EMU_CALLER) {
	return emu::shuffle(emu::Op::shfl_down, mask, v, lanes, EMU_WHERE);
}
DEV uint32_t __shfl_sync(uint32_t mask, uint32_t v, int lane, EMU_CALLER) {
	return emu::shuffle(emu::Op::shfl, mask, v, lane, EMU_WHERE);
}

DEV float fmaf_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEV double fma_d(double a, double b, double c) { return __builtin_fma(a, b, c); }
DEV float sqrtf_(float x) { return __builtin_sqrtf(x); }
DEV double sqrt_d(double x) { return __builtin_sqrt(x); }
// emu_nan is the NaN of PTX: max.NaN.f32 returns it for any NaN, max.f32 for two.
DEV float emu_nan() { return __builtin_bit_cast(float, 0x7fffffff); }
// As the PTX instructions max.f32 and min.f32: of a number and NaN the number, and of the zeros +0 is the larger.
DEV float fmaxf_(float a, float b) {
	if (a == b) return __builtin_signbit(a) ? b : a;
	if (a != a) return b != b ? emu_nan() : b;
	return b > a ? b : a;
}
DEV float fminf_(float a, float b) {
	if (a == b) return __builtin_signbit(a) ? a : b;
	if (a != a) return b != b ? emu_nan() : b;
	return b < a ? b : a;
}
DEV float fmax_nan(float a, float b) { return a != a || b != b ? emu_nan() : fmaxf_(a, b); }
DEV float fmin_nan(float a, float b) { return a != a || b != b ? emu_nan() : fminf_(a, b); }

DEV uint16_t to_bf16(float x) {
	uint32_t u = __builtin_bit_cast(uint32_t, x);
	return x != x ? 0x7fff : (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}
DEV uint32_t pack_bf16(float lo, float hi) { return (uint32_t)to_bf16(hi) << 16 | to_bf16(lo); }
DEV uint32_t cvt_tf32(float x) {
	uint32_t u = __builtin_bit_cast(uint32_t, x);
	return ((u & 0x7f800000u) == 0x7f800000u ? u : u + 0x1000u) & ~0x1fffu; // infinities and NaN are not rounded
}

DEV void mma_tf32_16x8x8(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMU_CALLER) {
	emu::mma(emu::Op::mma_tf32, d, a, b, EMU_WHERE);
}
DEV void mma_bf16_16x8x16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMU_CALLER) {
	emu::mma(emu::Op::mma_bf16, d, a, b, EMU_WHERE);
}

// prelude.cuh stops the compiler from computing kept values anew. Here they are just the value.
DEV uint32_t kept(uint32_t x) { return x; }
DEV uint64_t kept(uint64_t x) { return x; }
template <int M, int N, int C = 0> DEV void named() {}

DEV uint64_t shift_left(uint64_t x, uint32_t n) { return n < 64 ? x << n : 0; }
DEV uint64_t shift_right(uint64_t x, uint32_t n) { return n < 64 ? x >> n : 0; }

DEV uint32_t smem_u32(const void *p, EMU_CALLER) { return emu::shared_address(p, EMU_WHERE); }
DEV void ldmatrix_x1(uint32_t (&r)[1], uint32_t row, EMU_CALLER) { emu::ldmatrix(r, 1, false, row, EMU_WHERE); }
DEV void ldmatrix_x2(uint32_t (&r)[2], uint32_t row, EMU_CALLER) { emu::ldmatrix(r, 2, false, row, EMU_WHERE); }
DEV void ldmatrix_x4(uint32_t (&r)[4], uint32_t row, EMU_CALLER) { emu::ldmatrix(r, 4, false, row, EMU_WHERE); }
DEV void ldmatrix_x1_trans(uint32_t (&r)[1], uint32_t row, EMU_CALLER) { emu::ldmatrix(r, 1, true, row, EMU_WHERE); }
DEV void ldmatrix_x2_trans(uint32_t (&r)[2], uint32_t row, EMU_CALLER) { emu::ldmatrix(r, 2, true, row, EMU_WHERE); }
DEV void ldmatrix_x4_trans(uint32_t (&r)[4], uint32_t row, EMU_CALLER) { emu::ldmatrix(r, 4, true, row, EMU_WHERE); }

DEV void cp_async4(uint32_t dst, const void *src, bool valid = true, EMU_CALLER) {
	emu::cp_async(dst, src, 4, valid, EMU_WHERE);
}
DEV void cp_async8(uint32_t dst, const void *src, bool valid = true, EMU_CALLER) {
	emu::cp_async(dst, src, 8, valid, EMU_WHERE);
}
DEV void cp_async16(uint32_t dst, const void *src, bool valid = true, EMU_CALLER) {
	emu::cp_async(dst, src, 16, valid, EMU_WHERE);
}
DEV void cp_async16_near(uint32_t dst, const void *src, bool valid = true, EMU_CALLER) {
	emu::cp_async(dst, src, 16, valid, EMU_WHERE);
}
DEV void cp_async_commit() { emu::cp_async_commit(); }
template <int N> DEV void cp_async_wait() { emu::cp_async_wait(N); }

#define ROLLCALL_CALLER , EMU_CALLER
#define ROLLCALL_PASS , file, line
