// machine.h: the multiprocessor that each host thread emulates: one block at a time, its threads, warps and shared
// memory.
#pragma once
#include <string>
#include <vector>

#include "emulator.h"
#include "fiber.h"

namespace emu {

struct Block;
struct Warp;

// Copy is a cp.async that has not been performed yet.
struct Copy {
	uint8_t *dst;
	const void *src; // nullptr: zeros
	uint32_t bytes;
};

// Fiber is one thread of the block that runs on this host thread: its stack, and the arguments and the result of the
// collective that it waits in.
struct Fiber : Thread {
	void *sp = nullptr;
	uint8_t *stack = nullptr; // lowest usable byte
	Block *block = nullptr;
	Warp *warp = nullptr;
	uint32_t lane = 0;
	Op op = Op::run; // what the thread waits for
	uint32_t mask = 0;
	Where where{};
	uint32_t value = 0, result = 0; // of a shuffle or a ballot
	int32_t arg = 0;
	float *d = nullptr; // fragments of mma
	const uint32_t *a = nullptr, *b = nullptr;
	uint32_t *r = nullptr; // ldmatrix: destination of the lane's result
	uint32_t row[4] = {};  // ldmatrix: the 16 bytes at the lane's address
	std::vector<Copy> copies;     // cp.async: issued, not yet performed
	std::vector<uint32_t> groups; // cp.async: copies in each committed group, oldest first
};

// current returns the fiber that runs on this host thread, or nullptr between blocks.
inline Fiber *current() { return static_cast<Fiber *>(thread); }

// Kernel describes one __global__ function.
struct Kernel {
	const char *name;
	size_t arg_bytes;
	void (*call)(const void *args); // runs one thread
};

// kernel_named returns the kernel with a name, or nullptr.
const Kernel *kernel_named(const std::string &name);

// Launch is one kernel launch. args points to the kernel's parameter structure.
struct Launch {
	const Kernel *kernel;
	const void *args;
	uint3 grid, block;
	uint32_t dynamic_bytes;
	uint64_t seed; // for the order of blocks, warps and lanes
	int arch;      // compute capability: 86 is 8.6
};

// Hosts are the host threads that a device has for its blocks, besides the calling one.
struct Hosts;
Hosts *new_hosts(); // never freed, since the threads may outlive main

// launch runs every block on so many host threads. It returns the diagnosis of the first block that failed, or "". The
// launches of one Hosts come one after the other.
std::string launch(Hosts *hosts, const Launch &l, unsigned host_threads);

constexpr uint32_t max_threads = 1024;
constexpr uint32_t dynamic_limit = 227 << 10, static_limit = 48 << 10; // of compute capability 9.0
constexpr uint32_t static_base = 256 << 10, arena_bytes = 512 << 10;   // dynamic shared memory lies below static_base

// Warp is the state of 32 threads, one bit for each lane.
struct Warp {
	uint32_t lanes = 0;    // the lanes that exist
	uint32_t runnable = 0; // bit p is lane p ^ flip
	uint32_t waiting = 0;  // the lanes in a warp collective
	uint32_t flip = 0;     // changes the order in which lanes run
};

// Shared is the array of one SHARED declaration.
struct Shared {
	const void *key;
	uint32_t offset, bytes;
};

// Block runs the blocks of launches, one after the other.
struct Block {
	const Launch *launch = nullptr;
	Fiber *threads = nullptr;
	Warp warps[max_threads / 32];
	uint8_t order[max_threads / 32] = {};
	uint32_t size = 0, warp_count = 0, cursor = 0;
	uint32_t at_barrier = 0, exited = 0;
	uint64_t random = 0;
	uint8_t *arena = nullptr; // shared memory [arena_bytes]
	std::vector<Shared> statics;
	uint32_t static_end = 0;
	std::string failure;
	void *host_sp = nullptr;
	HostStack host;

	Block();
	void begin(const Launch &l); // prepares for the blocks of a launch
	void run(uint3 index);       // runs one block; failure says what went wrong
	void next();                 // runs other threads until the calling thread is runnable again
	void release(Warp &w, uint32_t mask); // makes lanes runnable
	void reorder();
	std::string diagnosis() const;
	std::string place_text() const;
};

// fail ends the block with a diagnosis and does not return.
[[noreturn]] void fail(Where where, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *name_of(Op op);

// multiply_tf32 and multiply_bf16 do the mma of a warp, whose 32 fibers lie side by side, as the tensor cores of a
// compute capability do.
void multiply_tf32(Fiber *lanes, int arch);
void multiply_bf16(Fiber *lanes, int arch);

// shared_bytes returns the memory at a shared address. It fails unless all bytes lie in one array of shared memory.
uint8_t *shared_bytes(uint32_t address, uint32_t bytes, const char *what, Where where);

} // namespace emu
