// warp.cpp: barriers and warp collectives. The last thread that arrives computes the results of all, so that every
// thread finds its result when it goes on.
#include <string.h>

#include "machine.h"

namespace emu {

// same reports whether two places are the same line of the same file.
static bool same(Where a, Where b) { return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0); }

void syncthreads(Where where) {
	Fiber *t = current();
	Block &b = *t->block;
	t->op = Op::syncthreads;
	t->where = where;
	if (++b.at_barrier == b.size) {
		for (uint32_t i = 0; i < b.size; i++) {
			Fiber &other = b.threads[i];
			if (!same(other.where, where)) fail(where, "%s", b.diagnosis().c_str());
			other.op = Op::run;
		}
		b.at_barrier = 0;
		b.reorder();
	}
	b.next();
}

namespace {

// arrive notes that the thread waits for op. It returns true in the last lane of the mask to arrive, at once; in the
// other lanes it returns false, after the last lane has called leave.
bool arrive(Op op, uint32_t mask, Where where) {
	Fiber *t = current();
	Warp &w = *t->warp;
	t->op = op;
	t->mask = mask;
	t->where = where;
	if ((mask >> t->lane & 1) == 0) {
		fail(where, "%s: mask %08x does not name lane %u, which calls it", name_of(op), mask, t->lane);
	}
	if ((mask & ~w.lanes) != 0) {
		fail(where, "%s: mask %08x names lanes that the block does not have: %08x", name_of(op), mask, mask & ~w.lanes);
	}
	w.waiting |= 1u << t->lane;
	if ((w.waiting & mask) != mask) {
		t->block->next();
		return false;
	}
	const Fiber *first = t - t->lane;
	for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
		const Fiber &other = first[__builtin_ctz(rest)];
		if (other.op != op || other.mask != mask || !same(other.where, where)) {
			fail(where, "%s with mask %08x, but lane %u is at %s with mask %08x, %s:%d", name_of(op), mask, other.lane,
				name_of(other.op), other.mask, other.where.file, other.where.line);
		}
	}
	return true;
}

// leave ends a collective: it makes the other lanes of the mask runnable.
void leave(uint32_t mask) {
	Fiber *t = current();
	Fiber *first = t - t->lane;
	Warp &w = *t->warp;
	w.waiting &= ~mask;
	for (uint32_t rest = mask; rest != 0; rest &= rest - 1) first[__builtin_ctz(rest)].op = Op::run;
	t->block->release(w, mask & ~(1u << t->lane)); // the thread itself goes on
}

} // namespace

void syncwarp(uint32_t mask, Where where) {
	if (arrive(Op::syncwarp, mask, where)) leave(mask);
}

uint32_t shuffle(Op op, uint32_t mask, uint32_t v, int32_t arg, Where where) {
	Fiber *t = current();
	t->value = v;
	t->arg = arg;
	if (!arrive(op, mask, where)) return t->result;
	Fiber *first = t - t->lane;
	uint32_t ballot = 0;
	for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(rest);
		ballot |= first[lane].value << lane; // meaningful for ballot alone, where a value is 0 or 1
	}
	for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
		Fiber &lane = first[__builtin_ctz(rest)];
		if (op == Op::ballot) {
			lane.result = ballot;
			continue;
		}
		uint32_t source = (uint32_t)lane.arg & 31;
		if (op == Op::shfl_xor) source ^= lane.lane;
		if (op == Op::shfl_down) source = lane.lane + source > 31 ? lane.lane : lane.lane + source;
		if ((mask >> source & 1) == 0) {
			fail(where, "%s: lane %u reads lane %u, which mask %08x leaves out", name_of(op), lane.lane, source, mask);
		}
		lane.result = first[source].value;
	}
	leave(mask);
	return t->result;
}

namespace {

#ifdef EMU_ASAN
#define EMU_PLAIN __attribute__((no_sanitize("address", "undefined")))
#else
#define EMU_PLAIN
#endif

inline float tf32(uint32_t u) { return __builtin_bit_cast(float, u & ~0x1fffu); }
inline float bf16_low(uint32_t u) { return __builtin_bit_cast(float, u << 16); }
inline float bf16_high(uint32_t u) { return __builtin_bit_cast(float, u & 0xffff0000u); }

typedef float row8 __attribute__((vector_size(32)));

// multiply adds the product of a [16][depth] and b [depth][8] to the warp's fragments, one k after the other. The
// product of two tf32 or bf16 numbers is exact in float.
template <int depth> EMU_PLAIN void multiply(Fiber *lanes, const float (*a)[depth], const row8 *b) {
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
	for (int i = 0; i < 16; i++) {
		row8 sum = d[i];
		for (int k = 0; k < depth; k++) sum += a[i][k] * b[k];
		d[i] = sum;
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

EMU_PLAIN void multiply_tf32(Fiber *lanes) {
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
	multiply<8>(lanes, a, reinterpret_cast<const row8 *>(b));
}

EMU_PLAIN void multiply_bf16(Fiber *lanes) {
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
	multiply<16>(lanes, a, reinterpret_cast<const row8 *>(b));
}

} // namespace

void mma(Op op, float *d, const uint32_t *a, const uint32_t *b, Where where) {
	Fiber *t = current();
	t->d = d;
	t->a = a;
	t->b = b;
	if (!arrive(op, 0xffffffffu, where)) return;
	if (op == Op::mma_tf32) {
		multiply_tf32(t - t->lane);
	} else {
		multiply_bf16(t - t->lane);
	}
	leave(0xffffffffu);
}

void ldmatrix(uint32_t *r, int matrices, bool trans, uint32_t row, Where where) {
	Fiber *t = current();
	t->r = r;
	if ((int)t->lane < 8 * matrices) {
		if (row % 16 != 0) fail(where, "ldmatrix: row address %u is no multiple of 16", row);
		memcpy(t->row, shared_bytes(row, 16, "ldmatrix", where), 16);
	}
	if (!arrive(Op::ldmatrix, 0xffffffffu, where)) return;
	Fiber *first = t - t->lane;
	for (int m = 0; m < matrices; m++) {
		const Fiber *rows = first + 8 * m;
		for (uint32_t l = 0; l < 32; l++) {
			uint32_t lo = rows[2 * (l % 4)].row[l / 8], hi = rows[2 * (l % 4) + 1].row[l / 8], shift = 16 * (l / 4 % 2);
			first[l].r[m] = trans ? (lo >> shift & 0xffff) | (hi >> shift) << 16 : rows[l / 4].row[l % 4];
		}
	}
	leave(0xffffffffu);
}

} // namespace emu
