// fiber.cpp: allocates stacks, prepares them, and switches between them in assembly.
#include "fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// emu_switch pushes the registers that a function must preserve on the old stack, and pops them from the new one. On
// x86-64 it ends with a jump and no return: the processor would predict a return to the caller, which is wrong every
// time.
#if defined(__x86_64__)
asm(R"(
	.text
	.globl emu_switch
	.hidden emu_switch
	.type emu_switch, @function
emu_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	popq %rcx
	jmp *%rcx
	.size emu_switch, .-emu_switch
)");
constexpr size_t saved_words = 6; // on the stack, below the return address
constexpr bool return_address_on_stack = true;
#elif defined(__aarch64__)
asm(R"(
	.text
	.globl emu_switch
	.hidden emu_switch
	.type emu_switch, %function
emu_switch:
	sub sp, sp, #160
	stp x19, x20, [sp, #0]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x9, sp
	str x9, [x0]
	mov sp, x1
	ldp x19, x20, [sp, #0]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #160
	ret
	.size emu_switch, .-emu_switch
)");
constexpr size_t saved_words = 20;
constexpr bool return_address_on_stack = false; // it is x30, the twelfth saved word
#else
#error "the emulator switches fibers on x86-64 and aarch64 only"
#endif

namespace emu {

uint8_t *new_stack() {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *p = mmap(nullptr, page + stack_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0) {
		perror("emulator: fiber stack");
		abort();
	}
	return static_cast<uint8_t *>(p) + page;
}

void *start_of(uint8_t *stack, void (*entry)(), unsigned colour) {
	void **sp = reinterpret_cast<void **>(stack + stack_bytes - colour % 32 * 128);
	if (return_address_on_stack) {
		*--sp = nullptr; // the return address of entry, which never returns
		*--sp = reinterpret_cast<void *>(entry);
	}
	for (size_t i = 0; i < saved_words; i++) *--sp = nullptr;
	if (!return_address_on_stack) sp[11] = reinterpret_cast<void *>(entry);
	return sp;
}

HostStack host_stack() {
	static thread_local HostStack known;
	if (known.bottom == nullptr) {
		pthread_attr_t attr;
		void *low = nullptr;
		size_t size = 0;
		if (pthread_getattr_np(pthread_self(), &attr) == 0) {
			pthread_attr_getstack(&attr, &low, &size);
			pthread_attr_destroy(&attr);
		}
		known = {low, size};
	}
	return known;
}

} // namespace emu
