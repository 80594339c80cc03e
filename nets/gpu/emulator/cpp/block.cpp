// block.cpp: runs the threads of one block in turn. A thread runs until it waits. The other lanes of its warp run next,
// and then another warp, so that warps drift as far apart as the barriers allow: a kernel that forgets a barrier then
// computes something wrong. The order of warps and lanes is random, and new at every barrier.
#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "machine.h"

namespace emu {

thread_local Thread *thread = nullptr;
thread_local Place place{};

namespace {

// draw returns the next number of xorshift64*, which is fast and random enough to order threads.
uint64_t draw(uint64_t &state) {
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ull;
}

// thread_main is where every thread of a block starts.
void thread_main() {
#ifdef EMU_ASAN
	__sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
	Fiber *t = current();
	const Launch *l = t->block->launch;
	l->kernel->call(l->args);
	t->op = Op::exited;
	t->block->exited++;
	t->block->next();
	abort(); // next never returns to a thread that has left
}

} // namespace

Block::Block() {
	void *p = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("emulator: shared memory");
		abort();
	}
	arena = static_cast<uint8_t *>(p);
	threads = new Fiber[max_threads];
	for (uint32_t i = 0; i < max_threads; i++) {
		threads[i].block = this;
		threads[i].warp = &warps[i / 32];
		threads[i].lane = i % 32;
	}
}

void Block::begin(const Launch &l) {
	launch = &l;
	size = l.block.x * l.block.y * l.block.z;
	warp_count = (size + 31) / 32;
	failure.clear();
	statics.clear();
	static_end = static_base;
	poison(arena, arena_bytes);
	unpoison(arena, l.dynamic_bytes);
	for (uint32_t i = 0; i < size; i++) {
		Fiber &t = threads[i];
		if (t.stack == nullptr) t.stack = new_stack();
		t.index = {i % l.block.x, i / l.block.x % l.block.y, i / (l.block.x * l.block.y)};
	}
	for (uint32_t w = 0; w < warp_count; w++) {
		uint32_t n = size - w * 32;
		warps[w].lanes = n >= 32 ? 0xffffffffu : (1u << n) - 1;
		order[w] = (uint8_t)w;
	}
	host = host_stack();
}

// reorder draws a new order of warps and lanes, and makes every thread runnable.
void Block::reorder() {
	for (uint32_t w = warp_count; w > 1; w--) {
		uint32_t other = (uint32_t)((draw(random) >> 32) * w >> 32);
		uint8_t x = order[w - 1];
		order[w - 1] = order[other];
		order[other] = x;
	}
	cursor = 0;
	for (uint32_t w = 0; w < warp_count; w++) {
		warps[w].flip = (uint32_t)(draw(random) >> 59);
		warps[w].runnable = 0;
		release(warps[w], warps[w].lanes);
	}
}

void Block::release(Warp &w, uint32_t mask) {
	if (mask == 0xffffffffu) {
		w.runnable = mask;
		return;
	}
	for (; mask != 0; mask &= mask - 1) w.runnable |= 1u << ((uint32_t)__builtin_ctz(mask) ^ w.flip);
}

void Block::run(uint3 index) {
	place = {index, launch->block, launch->grid};
	random = launch->seed + index.x * 0x9e3779b97f4a7c15ull + index.y * 0xbf58476d1ce4e5b9ull +
		index.z * 0x94d049bb133111ebull;
	random = (random ^ random >> 31) * 0x7fb5d329728ea185ull | 1; // never 0, the one state that xorshift never leaves
	at_barrier = exited = 0;
	for (uint32_t i = 0; i < size; i++) {
		Fiber &t = threads[i];
		t.op = Op::run;
		unpoison(t.stack + stack_bytes - 8192, 8192); // the last thread on this stack never returned from thread_main
		t.sp = start_of(t.stack, thread_main, i);
		if (!t.copies.empty() || !t.groups.empty()) {
			t.copies.clear();
			t.groups.clear();
		}
	}
	for (uint32_t w = 0; w < warp_count; w++) warps[w].waiting = 0;
	memset(arena, 0xff, launch->dynamic_bytes);
	for (const Shared &s : statics) memset(arena + s.offset, 0xff, s.bytes);
	reorder();
	thread = nullptr;
	next();
	thread = nullptr;
	if (failure.empty() && exited != size) failure = place_text() + ": " + diagnosis();
	if (!failure.empty()) { // threads stopped in mid-call, and the red zones of their stack frames are still marked
		for (uint32_t i = 0; i < size; i++) unpoison(threads[i].stack, stack_bytes);
	}
}

void Block::next() {
	Fiber *from = current(), *to = nullptr;
	for (uint32_t seen = 0; seen <= warp_count; seen++) {
		uint32_t w = order[cursor];
		if (warps[w].runnable != 0) {
			uint32_t p = (uint32_t)__builtin_ctz(warps[w].runnable);
			warps[w].runnable &= warps[w].runnable - 1;
			to = &threads[w * 32 + (p ^ warps[w].flip)];
			break;
		}
		cursor = cursor + 1 == warp_count ? 0 : cursor + 1;
	}
	if (to == from) {
		if (to != nullptr) return;
		failure = "no threads";
		return;
	}
	thread = to;
	void **save = from == nullptr ? &host_sp : &from->sp;
	if (to == nullptr) {
		switch_stack(save, host_sp, host.bottom, host.size);
	} else {
		switch_stack(save, to->sp, to->stack, stack_bytes);
	}
}

void fail(Where where, const char *format, ...) {
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	Block &b = *current()->block;
	const uint3 i = thread->index;
	char line[1024];
	snprintf(line, sizeof line, "%s, thread (%u,%u,%u): %s:%d: %s", b.place_text().c_str(), i.x, i.y, i.z, where.file,
		where.line, text);
	b.failure = line;
	Fiber *from = current();
	thread = nullptr;
	switch_stack(&from->sp, b.host_sp, b.host.bottom, b.host.size);
	abort();
}

std::string Block::place_text() const {
	char text[256];
	const uint3 i = place.block, g = launch->grid;
	snprintf(text, sizeof text, "%s: block (%u,%u,%u) of (%u,%u,%u)", launch->kernel->name, i.x, i.y, i.z, g.x, g.y,
		g.z);
	return text;
}

// diagnosis says which threads wait where. It is for a block in which no thread can go on.
std::string Block::diagnosis() const {
	struct Group {
		uint32_t count = 0;
		uint3 first{};
	};
	std::map<std::string, Group> groups;
	for (uint32_t i = 0; i < size; i++) {
		const Fiber &t = threads[i];
		std::string what = "returned";
		if (t.op != Op::exited) {
			char line[256];
			snprintf(line, sizeof line, "at %s of %s:%d", name_of(t.op), t.where.file, t.where.line);
			what = line;
			if (t.op != Op::syncthreads && t.mask != 0xffffffffu) {
				snprintf(line, sizeof line, " mask %08x", t.mask);
				what += line;
			}
		}
		Group &g = groups[what];
		if (g.count++ == 0) g.first = t.index;
	}
	std::string text = "threads wait for each other: ";
	const char *separator = "";
	for (const auto &[what, g] : groups) {
		char line[512];
		snprintf(line, sizeof line, "%s%u %s (first (%u,%u,%u))", separator, g.count, what.c_str(), g.first.x,
			g.first.y, g.first.z);
		text += line;
		separator = ", ";
	}
	return text;
}

const char *name_of(Op op) {
	switch (op) {
	case Op::run: return "run";
	case Op::exited: return "return";
	case Op::syncthreads: return "__syncthreads";
	case Op::syncwarp: return "__syncwarp";
	case Op::ballot: return "__ballot_sync";
	case Op::shfl_xor: return "__shfl_xor_sync";
	case Op::shfl_down: return "__shfl_down_sync";
	case Op::shfl: return "__shfl_sync";
	case Op::mma_tf32: return "mma_tf32_16x8x8";
	case Op::mma_bf16: return "mma_bf16_16x8x16";
	case Op::ldmatrix: return "ldmatrix";
	}
	return "?";
}

} // namespace emu
