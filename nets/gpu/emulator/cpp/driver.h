// driver.h: the state of the emulated driver: devices, each with a primary context and a lock of its own, and their
// streams, whose work waits for a synchronisation.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
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
	invalid_ptx = 218,
	invalid_handle = 400,
	not_found = 500,
	not_ready = 600,
	illegal_address = 700,
	launch_out_of_resources = 701,
	launch_failed = 719,
	unknown = 999
};

// Settings come from the environment. cuInit reads them, and the first retain of a primary context reads them again for
// its device.
struct Settings {
	uint64_t memory = 4ull << 30;
	uint64_t page = 512; // an allocation counts for a multiple of so many bytes, a graph and a module for so many
	uint64_t seed = 1;
	unsigned threads = 2;
	int driver = 12000;
	int devices = 1;                           // physical ones
	int mig = 0;                               // MIG instances of each of them; 0: it is whole
	std::vector<std::pair<int, int>> capability = {{9, 0}}; // of the physical devices; the last one is of all others too
	bool fail_jit = false;
	int slow_jit = 0;         // milliseconds that the driver takes to compile a module
	int slow_find = 0;        // and to find a function of it
	std::string short_in;     // this call runs out of memory while more than short_above bytes are allocated
	uint64_t short_above = 0;
	int64_t fail_launch = -1; // so many launches of kernels and graphs succeed before one fails; -1: all succeed
	std::map<int, int64_t> lose; // so many kernels run on a physical device before it is lost; -1: on every other one

	std::pair<int, int> capability_of(int physical) const;
	int64_t lost_after(int physical) const; // -1: it never is
};
Settings read_settings();

// Seat says which device it is: the physical one, and its MIG instance; -1: it is whole.
struct Seat {
	int physical = 0, instance = -1;
	bool operator<(const Seat &o) const { return std::tie(physical, instance) < std::tie(o.physical, o.instance); }
	std::array<uint8_t, 16> uuid() const;
	std::string uuid_text() const; // GPU-… or MIG-…, as nvidia-smi -L prints it
};

// visible_seats returns the devices that a process sees, in its order: all, or those of CUDA_VISIBLE_DEVICES.
std::vector<Seat> visible_seats(const Settings &s);

// error remembers why a call of this thread fails, for cuGetErrorString, and returns the code.
int error(int code, const std::string &why = "");
extern thread_local int detail_code;
extern thread_local std::string detail;

// Mark is a point in a stream, and the time when it was reached.
struct Mark {
	bool done = false;
	double ms = 0;
};

// Work is one entry of a stream: an operation to run, or a mark to reach.
struct Work {
	std::function<int()> run;
	std::shared_ptr<Mark> reach;
};

struct Stream {
	std::thread::id maker;
	std::deque<Work> queue;
};

// Event is recorded when its mark is set.
struct Event {
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
	int carveout = -1; // preferred percent of shared memory; -1: the driver decides
};

struct Module {
	std::map<std::string, Function> functions;
};

struct Allocation {
	void *base;    // start of a guard, the bytes and another guard
	size_t bytes;
};

// Device is a device and its primary context, which one lock protects.
struct Device {
	std::recursive_mutex lock;
	Seat seat;
	Settings settings;
	Hosts *hosts = nullptr; // host threads; nullptr: nothing has run yet
	int retained = 0;
	unsigned context_flags = 0; // of cuDevicePrimaryCtxSetFlags
	uint64_t context = 1;       // counts the contexts: a thread may have had an earlier one current
	int lost = success; // the error that lost the context: every later call returns it
	std::string lost_why;
	bool gone = false; // the device itself is lost, and a new context is too
	std::map<uintptr_t, Allocation> memory, pinned;
	uint64_t used = 0;
	Stream null_stream;
	std::set<Stream *> streams;
	std::set<Event *> events;
	std::set<Graph *> graphs, execs;
	std::set<Module *> modules;
	int64_t launch_calls = 0, kernels_run = 0, graphs_run = 0; // in this context
	int64_t kernels_ever = 0;                                  // in all contexts of the process

	int error(int code, const std::string &why = "") { return emu::error(code, why); }
	// lose ends the context: every later call returns the same error.
	int lose(int code, const std::string &why);

	int submit(Stream *s, std::function<int()> op);
	int prepare(std::function<int()> *run, void *function, uint3 grid, uint3 block, unsigned dynamic_bytes,
		void **params, void **extra);
	int flush(Stream *s);
	int flush_all();
	int charge(const char *call, size_t n);
	size_t charged(size_t n) const { return (n + settings.page - 1) / settings.page * settings.page; }
	Stream *stream(void *handle);
	void begin_context();
	void forget_context();
	int run_kernel(const Kernel *k, const std::vector<uint64_t> &args, uint3 grid, uint3 block, uint32_t dynamic_bytes);
	int check_guards();
	int check_device(uint64_t p, size_t n, const char *what);
};

// Driver is what the devices share. Its lock is taken before the lock of a device.
struct Driver {
	std::mutex lock;
	Settings settings;
	bool initialized = false;
	std::map<Seat, Device *> devices; // all that were ever visible; none is freed, since calls may come at the very end
	std::vector<Device *> visible;
	int init();
};
Driver &driver();

// The device whose context is current on this thread, and which context of that device; nullptr: none is.
inline thread_local Device *current_device = nullptr;
inline thread_local uint64_t current_context = 0;

// visible_device returns the visible device with a number; nullptr: there is none, and *code says why.
Device *visible_device(int number, int *code);

// Call holds a device's lock during one API call. The call may go on if code is success.
struct Call {
	Device *d = nullptr;
	std::unique_lock<std::recursive_mutex> hold;
	int code = success;
	explicit Call(int number); // about a visible device
	Call();                    // in the current context
private:
	void enter();
};

} // namespace emu

// EMU_ENTER_DEVICE begins a function of the API about a device: it takes its lock and returns early if the driver or the
// device is unusable.
#define EMU_ENTER_DEVICE(number) \
	::emu::Call call(number); \
	if (call.code != ::emu::success) return call.code; \
	[[maybe_unused]]::emu::Device &d = *call.d

// EMU_ENTER begins a function that works in the context, which must be current on the calling thread.
#define EMU_ENTER \
	::emu::Call call; \
	if (call.code != ::emu::success) return call.code; \
	[[maybe_unused]]::emu::Device &d = *call.d
