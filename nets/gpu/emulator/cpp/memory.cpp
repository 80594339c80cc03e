// memory.cpp: API calls about memory. Device memory is host memory. Each allocation lies between two guards and is
// filled with 0xff, which is NaN. Under AddressSanitizer there are no guards: the allocation ends where its bytes end,
// so that the report of an overrun names the line of the .cu file.
#include <string.h>

#include <cstdlib>

#include "driver.h"

namespace emu {

namespace {

constexpr size_t alignment = 256;

#ifdef EMU_ASAN
constexpr size_t guard = 0;
#else
constexpr size_t guard = 256;
#endif
constexpr int guard_byte = 0xa5;

// take allocates n bytes and their guards. It returns 0 if the host has no memory.
uintptr_t take(size_t n, Allocation *a) {
	void *p = nullptr;
	if (posix_memalign(&p, alignment, guard + n + guard) != 0) return 0;
	uint8_t *bytes = static_cast<uint8_t *>(p);
	memset(bytes, guard_byte, guard);
	memset(bytes + guard, 0xff, n);
	memset(bytes + guard + n, guard_byte, guard);
	*a = {p, n};
	return reinterpret_cast<uintptr_t>(bytes + guard);
}

// intact reports whether the guards of an allocation are as they were.
bool intact(const Allocation &a) {
	const uint8_t *before = static_cast<const uint8_t *>(a.base), *after = before + guard + a.bytes;
	for (size_t i = 0; i < guard; i++) {
		if (before[i] != guard_byte || after[i] != guard_byte) return false;
	}
	return true;
}

// release waits for all work and frees one of the driver's allocations. It returns -1 if p is none of them.
int release(Device &d, std::map<uintptr_t, Allocation> &all, uintptr_t p) {
	auto found = all.find(p);
	if (found == all.end()) return -1;
	int code = d.flush_all();
	free(found->second.base);
	if (&all == &d.memory) d.used -= d.charged(found->second.bytes);
	all.erase(found);
	return code;
}

} // namespace

// check_guards loses the device if a kernel wrote beside an allocation, as a real device would for another page.
int Device::check_guards() {
	if (lost != success) return lost;
	for (const auto *all : {&memory, &pinned}) {
		for (const auto &[p, a] : *all) {
			if (!intact(a)) {
				char text[128];
				snprintf(text, sizeof text, "bytes beside the allocation of %zu at %#zx were overwritten", a.bytes,
					(size_t)p);
				return lose(illegal_address, text);
			}
		}
	}
	return success;
}

// check_device fails unless the n bytes at p lie within one allocation.
int Device::check_device(uint64_t p, size_t n, const char *what) {
	auto next = memory.upper_bound(p);
	if (next != memory.begin()) {
		const auto &[base, a] = *std::prev(next);
		if (p + n <= base + a.bytes) return success;
	}
	char text[160];
	snprintf(text, sizeof text, "%s: %zu bytes at %#llx lie in no allocation", what, n, (unsigned long long)p);
	return error(invalid_value, text);
}

// forget_context frees all that the context holds.
void Device::forget_context() {
	null_stream.queue.clear();
	for (Stream *s : streams) delete s;
	for (Event *e : events) delete e;
	for (Graph *g : graphs) delete g;
	for (Graph *g : execs) delete g;
	for (Module *m : modules) delete m;
	streams.clear();
	events.clear();
	graphs.clear();
	execs.clear();
	modules.clear();
	for (auto *all : {&memory, &pinned}) {
		for (const auto &[p, a] : *all) free(a.base);
		all->clear();
	}
	used = 0;
	if (!gone) lost = success;
	context++;
}

} // namespace emu

using namespace emu;

namespace {

void *at(uint64_t p) { return reinterpret_cast<void *>((uintptr_t)p); }

} // namespace

EMU_API cuMemGetInfo_v2(size_t *available, size_t *total) {
	EMU_ENTER;
	*available = d.settings.memory - d.used;
	*total = d.settings.memory;
	return success;
}

EMU_API cuMemAlloc_v2(uint64_t *out, size_t n) {
	EMU_ENTER;
	if (n == 0) return d.error(invalid_value, "cuMemAlloc of 0 bytes");
	if (int code = d.charge("cuMemAlloc", n)) return code;
	Allocation a;
	uintptr_t p = take(n, &a);
	if (p == 0) {
		d.used -= d.charged(n);
		return d.error(out_of_memory);
	}
	d.memory[p] = a;
	*out = p;
	return success;
}

EMU_API cuMemFree_v2(uint64_t p) {
	EMU_ENTER;
	if (p == 0) return success;
	// A driver is not bound to wait for work that may still use the memory.
	for (Stream *s : d.streams) {
		if (s->maker == std::this_thread::get_id() && !s->queue.empty()) {
			return d.error(invalid_value, "cuMemFree while the thread's streams have work: synchronize first");
		}
	}
	int code = release(d, d.memory, (uintptr_t)p);
	return code < 0 ? d.error(invalid_value, "cuMemFree of what cuMemAlloc did not give") : code;
}

EMU_API cuMemHostAlloc(void **out, size_t n, unsigned) {
	EMU_ENTER;
	if (n == 0) return d.error(invalid_value, "cuMemHostAlloc of 0 bytes");
	Allocation a;
	uintptr_t p = take(n, &a);
	if (p == 0) return d.error(out_of_memory);
	d.pinned[p] = a;
	*out = reinterpret_cast<void *>(p);
	return success;
}

EMU_API cuMemFreeHost(void *p) {
	EMU_ENTER;
	int code = release(d, d.pinned, reinterpret_cast<uintptr_t>(p));
	return code < 0 ? d.error(invalid_value, "cuMemFreeHost of what cuMemHostAlloc did not give") : code;
}

EMU_API cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t n) {
	EMU_ENTER;
	if (int code = d.check_device(dst, n, "cuMemcpyHtoD")) return code;
	if (int code = d.flush(&d.null_stream)) return code; // the copy goes through that stream
	memcpy(at(dst), src, n);
	return success;
}

EMU_API cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t n) {
	EMU_ENTER;
	if (int code = d.check_device(src, n, "cuMemcpyDtoH")) return code;
	if (int code = d.flush(&d.null_stream)) return code; // the copy goes through that stream
	memcpy(dst, at(src), n);
	return d.check_guards();
}

EMU_API cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t n, void *handle) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	if (s == nullptr) return d.error(invalid_handle);
	if (int code = d.check_device(dst, n, "cuMemcpyHtoDAsync")) return code;
	return d.submit(s, [=] { memcpy(at(dst), src, n); return 0; });
}

EMU_API cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t n, void *handle) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	if (s == nullptr) return d.error(invalid_handle);
	if (int code = d.check_device(src, n, "cuMemcpyDtoHAsync")) return code;
	return d.submit(s, [=] { memcpy(dst, at(src), n); return 0; });
}

EMU_API cuMemsetD32Async(uint64_t dst, unsigned v, size_t count, void *handle) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	if (s == nullptr) return d.error(invalid_handle);
	if (dst % 4 != 0) return d.error(invalid_value, "cuMemsetD32: address no multiple of 4");
	if (int code = d.check_device(dst, count * 4, "cuMemsetD32")) return code;
	return d.submit(s, [=] {
		uint32_t *p = static_cast<uint32_t *>(at(dst));
		for (size_t i = 0; i < count; i++) p[i] = v;
		return 0;
	});
}
