// shared.cpp: the shared memory of a block, and asynchronous copies into it. There are gaps between arrays, to catch
// overruns, and an array has the same place in every block of a launch. Every byte is 0xff (NaN, or -1) when a block
// begins.
#include <string.h>

#include "machine.h"

namespace emu {

constexpr uint32_t red_zone = 64;

void *shared_static(const void *key, size_t bytes, Where where) {
	Block &b = *current()->block;
	for (const Shared &s : b.statics) {
		if (s.key == key) return b.arena + s.offset;
	}
	uint32_t offset = b.static_end + red_zone, used = (uint32_t)bytes;
	for (const Shared &s : b.statics) used += (s.bytes + 15) / 16 * 16;
	if (used > static_limit) fail(where, "%u bytes of static shared memory, limit %u", used, static_limit);
	if (used + b.launch->dynamic_bytes > dynamic_limit) {
		fail(where, "%u bytes of static and %u of dynamic shared memory, limit %u", used, b.launch->dynamic_bytes,
			dynamic_limit);
	}
	b.static_end = offset + ((uint32_t)bytes + 15) / 16 * 16;
	b.statics.push_back({key, offset, (uint32_t)bytes});
	unpoison(b.arena + offset, bytes);
	memset(b.arena + offset, 0xff, bytes);
	return b.arena + offset;
}

void *shared_dynamic() { return current()->block->arena; }

uint32_t shared_address(const void *p, Where where) {
	const Block &b = *current()->block;
	const uint8_t *q = static_cast<const uint8_t *>(p);
	if (q < b.arena || q >= b.arena + arena_bytes) fail(where, "smem_u32: %p is no address in shared memory", p);
	return (uint32_t)(q - b.arena);
}

uint8_t *shared_bytes(uint32_t address, uint32_t bytes, const char *what, Where where) {
	Block &b = *current()->block;
	uint8_t *p = b.arena + address;
	if (address < static_base) {
		if (address + bytes > b.launch->dynamic_bytes) {
			fail(where, "%s: shared address %u + %u beyond the launch's %u dynamic bytes", what, address, bytes,
				b.launch->dynamic_bytes);
		}
		return p;
	}
	for (const Shared &s : b.statics) {
		if (address >= s.offset && address + bytes <= s.offset + s.bytes) return p;
	}
	fail(where, "%s: shared address %u + %u lies in no SHARED array", what, address, bytes);
}

// The bytes move when the thread waits for their group. Until then the destination is NaN, so that a kernel which reads
// it too early, and would be wrong on a GPU, is wrong here.
void cp_async(uint32_t dst, const void *src, uint32_t bytes, bool valid, Where where) {
	uint8_t *to = shared_bytes(dst, bytes, "cp_async", where);
	if (dst % bytes != 0) fail(where, "cp_async%u: shared address %u is no multiple of %u", bytes, dst, bytes);
	if (valid) {
		if (reinterpret_cast<uintptr_t>(src) % bytes != 0) {
			fail(where, "cp_async%u: global address %p is no multiple of %u", bytes, src, bytes);
		}
#ifdef EMU_ASAN
		// Reads here, so that the report of an overrun has the line of the .cu file on its stack.
		const volatile uint8_t *from = static_cast<const uint8_t *>(src);
		(void)from[0];
		(void)from[bytes - 1];
#endif
	}
	memset(to, 0xff, bytes);
	current()->copies.push_back({to, valid ? src : nullptr, bytes});
}

void cp_async_commit() {
	Fiber *t = current();
	uint32_t n = (uint32_t)t->copies.size();
	for (uint32_t g : t->groups) n -= g;
	t->groups.push_back(n);
}

void cp_async_wait(size_t groups) {
	Fiber *t = current();
	if (t->groups.size() <= groups) return;
	size_t done = t->groups.size() - groups, n = 0;
	for (size_t i = 0; i < done; i++) n += t->groups[i];
	for (size_t i = 0; i < n; i++) {
		const Copy &c = t->copies[i];
		if (c.src == nullptr) {
			memset(c.dst, 0, c.bytes);
		} else {
			memcpy(c.dst, c.src, c.bytes);
		}
	}
	t->copies.erase(t->copies.begin(), t->copies.begin() + (ptrdiff_t)n);
	t->groups.erase(t->groups.begin(), t->groups.begin() + (ptrdiff_t)done);
}

} // namespace emu
