// driver.h: the state of the emulated driver: one device, one primary context, and streams, whose work waits for a
// synchronisation.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "machine.h"

#define EMU_API extern "C" __attribute__((visibility("default"))) int

namespace emu {

// Code lists the error numbers of the driver API that the emulator returns.
enum Code {
	success = 0,
	invalid_value = 1,
	out_of_memory = 2,
	not_initialized = 3,
	no_device = 100,
	invalid_device = 101,
	invalid_context = 201,
	no_binary = 209,
	invalid_ptx = 218,
	unsupported_ptx = 222,
	invalid_handle = 400,
	not_found = 500,
	not_ready = 600,
	illegal_address = 700,
	launch_out_of_resources = 701,
	launch_failed = 719,
	unknown = 999
};

// Settings come from the environment. cuInit reads them, and the first retain of the primary context reads them again.
struct Settings {
	uint64_t memory = 4ull << 30;
	uint64_t page = 512; // an allocation counts for a multiple of so many bytes, a graph and a module for so many
	uint64_t seed = 1;
	unsigned threads = 2;
	int driver = 12000;
	int devices = 1;
	int major = 9, minor = 0;
	bool fail_jit = false;
	int slow_jit = 0;         // milliseconds that the driver takes to compile a module
	std::string short_in;     // this call runs out of memory while more than short_above bytes are allocated
	uint64_t short_above = 0;
	int64_t fail_launch = -1; // so many launches of kernels and graphs succeed before one fails; -1: all succeed
	int64_t lose_device = -1; // so many kernels run before the device is lost; -1: it never is
};
Settings read_settings();

struct Stream;

// Mark is a point in a stream that other streams may wait for.
struct Mark {
	bool done = false;
	Stream *stream = nullptr;
	double ms = 0; // the time when it was reached
};

// Work is one entry of a stream: an operation to run, a mark to reach, or a mark to wait for.
struct Work {
	std::function<int()> run;
	std::shared_ptr<Mark> reach, wait;
};

struct Stream {
	std::thread::id maker;
	bool blocking = true; // waits for, and is waited for by, the default stream
	std::deque<Work> queue;
};

// Event is recorded when its mark is set.
struct Event {
	bool timed = true;
	std::shared_ptr<Mark> mark;
};

// Node is an operation of a graph, and the numbers of the nodes that it waits for.
struct Node {
	std::function<int()> run;
	std::vector<size_t> after;
};

// Graph is a graph that is being built, or an executable one.
struct Graph {
	std::shared_ptr<std::vector<Node>> nodes = std::make_shared<std::vector<Node>>();
};

// Function is a kernel of a loaded module, with the attributes that its PTX declares.
struct Function {
	const Kernel *kernel;
	uint32_t max_threads = emu::max_threads;
	uint32_t static_bytes = 0; // of shared memory
	uint32_t dynamic_limit = 48 << 10;
	uint32_t local_bytes = 0;
};

struct Module {
	std::map<std::string, Function> functions;
};

struct Allocation {
	void *base;    // start of a guard, the bytes and another guard
	size_t bytes;
};

// Driver is the state of the driver, which one lock protects.
struct Driver {
	std::recursive_mutex lock;
	Settings settings;
	bool initialized = false;
	int retained = 0;
	unsigned context_flags = 0; // of cuDevicePrimaryCtxSetFlags
	uint64_t context = 1;       // counts the contexts: a thread may have had an earlier one current
	int lost = success; // the error that lost the context: every later call returns it
	std::map<uintptr_t, Allocation> memory, pinned;
	uint64_t used = 0;
	Stream null_stream;
	std::set<Stream *> streams;
	std::set<Event *> events;
	std::set<Graph *> graphs, execs;
	std::set<Module *> modules;
	int64_t launch_calls = 0, kernels_run = 0, graphs_run = 0;
	int detail_code = success;
	std::string detail;

	// error remembers why a call fails, for cuGetErrorString, and returns the code.
	int error(int code, const std::string &why = "");
	// lose ends the context: every later call returns the same error.
	int lose(int code, const std::string &why);

	int submit(Stream *s, std::function<int()> op);
	int prepare(std::function<int()> *run, void *function, uint3 grid, uint3 block, unsigned dynamic_bytes,
		void **params, void **extra);
	int run_until(Stream *s, const Mark *m);
	int flush(Stream *s) { return run_until(s, nullptr); }
	int flush_all();
	std::shared_ptr<Mark> mark_now(Stream *s);
	int charge(const char *call, size_t n);
	size_t charged(size_t n) const { return (n + settings.page - 1) / settings.page * settings.page; }
	Stream *stream(void *handle);
	void forget_context();
	int check_guards();
	int check_device(uint64_t p, size_t n, const char *what);
};

Driver &driver();

// current_context is the context that is current on this thread; 0: none.
inline thread_local uint64_t current_context = 0;

// Call holds the driver's lock during one API call. The call may go on if code is success.
struct Call {
	std::lock_guard<std::recursive_mutex> hold;
	Driver &d;
	int code = success;
	Call();
};

} // namespace emu

// EMU_ENTER_DEVICE begins a function of the API: it takes the lock and returns early if the driver is unusable.
#define EMU_ENTER_DEVICE \
	::emu::Call call; \
	[[maybe_unused]]::emu::Driver &d = call.d; \
	if (call.code != ::emu::success) return call.code

// EMU_ENTER begins a function that works in the context, which must be current on the calling thread.
#define EMU_ENTER \
	EMU_ENTER_DEVICE; \
	if (::emu::current_context != d.context) return d.error(::emu::invalid_context, "none is current on this thread")
