// fiber.h: stacks, and the switch from one stack to another, of which AddressSanitizer is told.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// emu_switch saves the registers and the stack pointer of the caller in *save, and goes on with the stack `to`.
extern "C" void emu_switch(void **save, void *to);

namespace emu {

#ifdef EMU_ASAN
constexpr size_t stack_bytes = 256 << 10; // red zones make stack frames several times larger
#else
constexpr size_t stack_bytes = 64 << 10;
#endif

// new_stack allocates a stack of stack_bytes, above a page that faults on overflow. It returns the lowest usable byte.
uint8_t *new_stack();

// start_of prepares a stack such that the first emu_switch to the returned pointer calls entry(). colour spreads the
// tops of many stacks over the cache.
void *start_of(uint8_t *stack, void (*entry)(), unsigned colour);

// HostStack is the stack of a host thread itself.
struct HostStack {
	const void *bottom = nullptr;
	size_t size = 0;
};
HostStack host_stack();

// switch_stack goes from one stack to another. bottom and size describe the new stack, for AddressSanitizer.
inline void switch_stack(void **save, void *to, [[maybe_unused]] const void *bottom, [[maybe_unused]] size_t size) {
#ifdef EMU_ASAN
	void *fake = nullptr;
	__sanitizer_start_switch_fiber(&fake, bottom, size);
	emu_switch(save, to);
	__sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
	emu_switch(save, to);
#endif
}

// poison and unpoison do nothing without AddressSanitizer.
inline void poison([[maybe_unused]] const void *p, [[maybe_unused]] size_t n) {
#ifdef EMU_ASAN
	__asan_poison_memory_region(p, n);
#endif
}
inline void unpoison([[maybe_unused]] const void *p, [[maybe_unused]] size_t n) {
#ifdef EMU_ASAN
	__asan_unpoison_memory_region(p, n);
#endif
}

} // namespace emu
