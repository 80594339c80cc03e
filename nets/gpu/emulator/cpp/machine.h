// machine.h: one host thread's multiprocessor: the block that it runs, its threads, warps and shared memory.
#pragma once
#include <string>
#include <vector>

#include "emulator.h"
#include "fiber.h"

namespace emu {

struct Block;
struct Warp;

struct Copy {
	uint8_t *dst;
	const void *src; // nullptr: zeros
	uint32_t bytes;
};

// Fiber is one thread of the block that runs on this host thread.
struct Fiber : Thread {
	void *sp = nullptr;
	uint8_t *stack = nullptr; // its lowest usable byte
	Block *block = nullptr;
	Warp *warp = nullptr;
	uint32_t lane = 0;
	Op op = Op::run; // what it waits for
	uint32_t mask = 0;
	Where where{};
	uint32_t value = 0, result = 0; // shuffles and ballots
	int32_t arg = 0;
	float *d = nullptr; // mma fragments
	const uint32_t *a = nullptr, *b = nullptr;
	uint32_t *r = nullptr; // ldmatrix: where the lane's result goes
	uint32_t row[4] = {};  // ldmatrix: the 16 bytes that the lane's address names
	std::vector<Copy> copies;     // cp.async: issued and not yet performed
	std::vector<uint32_t> groups; // cp.async: copies in each committed group, oldest first
};

// current is the fiber that runs on this host thread; nullptr between blocks.
inline Fiber *current() { return static_cast<Fiber *>(thread); }

// Kernel is what the registry knows of one __global__ function.
struct Kernel {
	const char *name;
	size_t arg_bytes;
	void (*call)(const void *args); // runs one thread
};

// kernel_named is nullptr if there is none.
const Kernel *kernel_named(const std::string &name);

// Launch is one kernel launch; args holds the kernel's struct.
struct Launch {
	const Kernel *kernel;
	const void *args;
	uint3 grid, block;
	uint32_t dynamic_bytes;
	uint64_t seed; // of the order of blocks, warps and lanes
};

// launch runs every block on the host's threads and returns the first diagnosis, or "" if all went well.
std::string launch(const Launch &l, unsigned host_threads);

constexpr uint32_t max_threads = 1024;
constexpr uint32_t dynamic_limit = 227 << 10, static_limit = 48 << 10; // as compute capability 9.0
constexpr uint32_t static_base = 256 << 10, arena_bytes = 512 << 10;   // dynamic shared memory lies below static_base

struct Warp {
	uint32_t lanes = 0;    // that exist
	uint32_t runnable = 0; // bit p is lane p ^ flip
	uint32_t waiting = 0;  // lanes in a warp collective
	uint32_t flip = 0;
};

struct Shared {
	const void *key;
	uint32_t offset, bytes;
};

struct Block {
	const Launch *launch = nullptr;
	Fiber *threads = nullptr;
	Warp warps[max_threads / 32];
	uint8_t order[max_threads / 32] = {};
	uint32_t size = 0, warp_count = 0, cursor = 0;
	uint32_t at_barrier = 0, exited = 0;
	uint64_t random = 0;
	uint8_t *arena = nullptr; // [arena_bytes] shared memory
	std::vector<Shared> statics;
	uint32_t static_end = 0;
	std::string failure;
	void *host_sp = nullptr;
	HostStack host;

	Block();
	void begin(const Launch &l); // once per launch, before its blocks
	void run(uint3 index);
	void next(); // give way: run another thread until this one is runnable again
	void release(Warp &w, uint32_t mask);
	void reorder();
	std::string diagnosis() const;
	std::string place_text() const;
};

// fail ends the block with a diagnosis; it does not return.
[[noreturn]] void fail(Where where, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *name_of(Op op);

// shared_bytes is the memory behind a shared address; it fails where that is not in one piece of shared memory.
uint8_t *shared_bytes(uint32_t address, uint32_t bytes, const char *what, Where where);

} // namespace emu
