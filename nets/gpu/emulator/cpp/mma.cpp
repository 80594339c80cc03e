// mma.cpp: how tensor cores multiply and add, bit by bit, as MMA-Sim found on cards (arXiv 2511.10909). Of the number c
// and the exact products, which are not normalised, each is cut towards zero to so many bits behind the point of the
// largest exponent among them. Their sum is exact, and is cut towards zero to float.
#include <math.h>
#include <string.h>

#include <algorithm>

#include "machine.h"

namespace emu {

namespace {

#ifdef EMU_ASAN
#define EMU_PLAIN __attribute__((no_sanitize("address", "undefined")))
#else
#define EMU_PLAIN
#endif

typedef float row8 __attribute__((vector_size(32)));
typedef int32_t ints __attribute__((vector_size(32)));

inline float tf32(uint32_t u) { return __builtin_bit_cast(float, u & ~0x1fffu); }
inline float bf16_low(uint32_t u) { return __builtin_bit_cast(float, u << 16); }
inline float bf16_high(uint32_t u) { return __builtin_bit_cast(float, u & 0xffff0000u); }

constexpr int special = 1024; // added to the exponent of an infinity and of NaN

// exponent returns −126 for zero and subnormal numbers.
inline int exponent(float x) {
	int e = __builtin_bit_cast(int32_t, x) >> 23 & 255;
	return (e == 0 ? 1 : e == 255 ? e + special : e) - 127;
}

inline ints exponents(row8 x) {
	ints e = __builtin_bit_cast(ints, x) >> 23 & 255;
	return e - (e == 0) + (special & (e == 255)) - 127;
}

// cut rounds towards zero, but to infinity from 2^128 on. Zero has no sign.
float cut(double x) {
	double size = fabs(x);
	if (size >= 0x1p128) return (float)x;
	if (size < 0x1p-126) return (float)(trunc(x * 0x1p149) * 0x1p-149 + 0.0);
	return (float)__builtin_bit_cast(double, __builtin_bit_cast(uint64_t, x) >> 29 << 29);
}

// any_sum returns c + Σ a[k] b[8k] for numbers of all sizes.
EMU_PLAIN float any_sum(float c, const float *a, const float *b, int n, int bits) {
	int e = exponent(c);
	double all = c;
	for (int k = 0; k < n; k++) {
		all += (double)a[k] * b[8 * k];
		e = std::max(e, exponent(a[k]) + exponent(b[8 * k]));
	}
	if (all != all) return __builtin_bit_cast(float, 0x7fffffff);
	if (isinf(all)) return (float)all;
	double scale = ldexp(1, bits - e);
	int64_t sum = (int64_t)(c * scale);
	for (int k = 0; k < n; k++) sum += (int64_t)((double)a[k] * b[8 * k] * scale);
	return cut(ldexp((double)sum, e - bits));
}

// sum returns c + Σ a[k] b[k] in the 8 columns of a row, given the exponents of a and b. Where the largest exponent is
// between these bounds, no term that counts underflows in float, and none overflows.
constexpr int smallest = -100, largest = 120;

template <int n> EMU_PLAIN row8 sum(row8 c, const float *a, const int *ea, const row8 *b, const ints *eb, int bits) {
	ints e = exponents(c);
	for (int k = 0; k < n; k++) {
		ints p = ea[k] + eb[k];
		e = p > e ? p : e;
	}
	row8 scale = __builtin_bit_cast(row8, (bits - e + 127) << 23);
	ints part[2] = {__builtin_convertvector(c * scale, ints), {}}; // of 8 products each, so that int32 is enough
	for (int k = 0; k < n; k++) part[k / 8] += __builtin_convertvector(a[k] * b[k] * scale, ints);
	ints outside = (e < smallest) | (e > largest);
	if (n > 8) {
		constexpr int most = (1 << 30) - 64; // of twice as much, the nearest float is below 2^31
		for (ints p : part) outside |= (p >= most) | (p <= -most);
	}
	ints total = part[0] + part[1], size = total < 0 ? -total : total;
	row8 rounded = __builtin_convertvector(size, row8);
	ints cut_size = __builtin_bit_cast(ints, rounded) + (__builtin_convertvector(rounded, ints) > size);
	row8 d = __builtin_bit_cast(row8, cut_size | (total & INT32_MIN)) *
		__builtin_bit_cast(row8, (e - bits + 127) << 23);

	alignas(32) int32_t rest[8];
	memcpy(rest, &outside, sizeof rest);
	int32_t any = 0;
	for (int32_t r : rest) any |= r;
	if (any == 0) return d;
	ints zero = c == 0;
	for (int k = 0; k < n; k++) zero &= (a[k] == 0) | (b[k] == 0);
	zero &= e < smallest; // and not 0·∞
	d = zero ? row8{} : d;
	outside &= ~zero;
	memcpy(rest, &outside, sizeof rest);
	for (int j = 0; j < 8; j++) {
		if (rest[j] != 0) d[j] = any_sum(c[j], a, reinterpret_cast<const float *>(b) + j, n, bits);
	}
	return d;
}

// add adds the product of a [16][depth] and b [depth][8] to the warp's fragments.
template <int depth> EMU_PLAIN void add(Fiber *lanes, const float (*a)[depth], const row8 *b, int arch) {
	alignas(32) row8 d[16];
	float(*cell)[8] = reinterpret_cast<float(*)[8]>(d);
	for (int l = 0; l < 32; l++) {
		int g = l >> 2, t = l & 3;
		const float *f = lanes[l].d;
		cell[g][2 * t] = f[0];
		cell[g][2 * t + 1] = f[1];
		cell[g + 8][2 * t] = f[2];
		cell[g + 8][2 * t + 1] = f[3];
	}
	int ea[depth];
	ints eb[depth];
	for (int k = 0; k < depth; k++) eb[k] = exponents(b[k]);
	for (int i = 0; i < 16; i++) {
		for (int k = 0; k < depth; k++) ea[k] = exponent(a[i][k]);
		if (arch >= 90) {
			d[i] = sum<depth>(d[i], a[i], ea, b, eb, 25);
			continue;
		}
		constexpr int half = depth / 2; // 8.x takes the products in two halves
		d[i] = sum<half>(d[i], a[i], ea, b, eb, 24);
		d[i] = sum<half>(d[i], a[i] + half, ea + half, b + half, eb + half, 24);
	}
	for (int l = 0; l < 32; l++) {
		int g = l >> 2, t = l & 3;
		float *f = lanes[l].d;
		f[0] = cell[g][2 * t];
		f[1] = cell[g][2 * t + 1];
		f[2] = cell[g + 8][2 * t];
		f[3] = cell[g + 8][2 * t + 1];
	}
}

} // namespace

EMU_PLAIN void multiply_tf32(Fiber *lanes, int arch) {
	alignas(32) float a[16][8], b[8][8];
	for (int l = 0; l < 32; l++) {
		int g = l >> 2, t = l & 3;
		const uint32_t *fa = lanes[l].a, *fb = lanes[l].b;
		a[g][t] = tf32(fa[0]);
		a[g + 8][t] = tf32(fa[1]);
		a[g][t + 4] = tf32(fa[2]);
		a[g + 8][t + 4] = tf32(fa[3]);
		b[t][g] = tf32(fb[0]);
		b[t + 4][g] = tf32(fb[1]);
	}
	add<8>(lanes, a, reinterpret_cast<const row8 *>(b), arch);
}

EMU_PLAIN void multiply_bf16(Fiber *lanes, int arch) {
	alignas(32) float a[16][16], b[16][8];
	for (int l = 0; l < 32; l++) {
		int g = l >> 2, t = l & 3;
		const uint32_t *fa = lanes[l].a, *fb = lanes[l].b;
		for (int i = 0; i < 4; i++) {
			int row = g + (i & 1) * 8, column = 2 * t + (i >> 1) * 8;
			a[row][column] = bf16_low(fa[i]);
			a[row][column + 1] = bf16_high(fa[i]);
		}
		for (int i = 0; i < 2; i++) {
			b[2 * t + 8 * i][g] = bf16_low(fb[i]);
			b[2 * t + 8 * i + 1][g] = bf16_high(fb[i]);
		}
	}
	add<16>(lanes, a, reinterpret_cast<const row8 *>(b), arch);
}

} // namespace emu
