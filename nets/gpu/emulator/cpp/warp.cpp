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

void mma(Op op, float *d, const uint32_t *a, const uint32_t *b, Where where) {
	Fiber *t = current();
	t->d = d;
	t->a = a;
	t->b = b;
	if (!arrive(op, 0xffffffffu, where)) return;
	int arch = t->block->launch->arch;
	if (op == Op::mma_tf32) {
		multiply_tf32(t - t->lane, arch);
	} else {
		multiply_bf16(t - t->lane, arch);
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
