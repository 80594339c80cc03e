// launch.cpp: spreads the blocks of a launch over host threads, in a random order. The calling thread is one of them.
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include "machine.h"

namespace emu {

namespace {

// kernels returns the registry, which exists before the first Entry registers a kernel.
std::map<std::string, Kernel> &kernels() {
	static std::map<std::string, Kernel> all;
	return all;
}

// mix scrambles a seed (the finalizer of splitmix64).
uint64_t mix(uint64_t x) {
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

// Grid hands out the blocks of one launch. The i-th block is (first + i step) mod count: with step and count coprime,
// each block has its turn once.
struct Grid {
	const Launch *launch;
	uint64_t count, first, step;
	std::atomic<uint64_t> taken{0};
	std::mutex lock;
	std::string failure;

	explicit Grid(const Launch &l)
		: launch(&l), count((uint64_t)l.grid.x * l.grid.y * l.grid.z), first(mix(l.seed) % count), step(1) {
		if (count < 3) return;
		step = mix(l.seed + 1) % count;
		while (step == 0 || std::gcd(step, count) != 1) step = (step + 1) % count;
	}

	// work runs blocks until none is left or a block has failed.
	void work(Block &b) {
		b.begin(*launch);
		for (;;) {
			uint64_t i = taken.fetch_add(1, std::memory_order_relaxed);
			if (i >= count) return;
			uint64_t n = (uint64_t)((first + (unsigned __int128)i * step) % count);
			uint64_t width = launch->grid.x, height = launch->grid.y;
			b.run({(uint32_t)(n % width), (uint32_t)(n / width % height), (uint32_t)(n / width / height)});
			if (!b.failure.empty()) {
				taken.store(count, std::memory_order_relaxed);
				std::lock_guard<std::mutex> hold(lock);
				if (failure.empty()) failure = b.failure;
				return;
			}
		}
	}
};

} // namespace

// Hosts holds the host threads of a device besides the caller. They live as long as the process.
struct Hosts {
	std::mutex lock;
	std::condition_variable wake, done;
	std::vector<std::unique_ptr<Block>> blocks;
	Grid *grid = nullptr;
	uint64_t round = 0;
	unsigned wanted = 0, busy = 0, threads = 0;

	// helper is what the thread `id` of the pool does.
	void helper(unsigned id) {
		uint64_t seen = 0;
		for (;;) {
			Grid *g;
			{
				std::unique_lock<std::mutex> hold(lock);
				wake.wait(hold, [&] { return round != seen && id <= wanted; });
				seen = round;
				g = grid;
			}
			g->work(*blocks[id]);
			std::lock_guard<std::mutex> hold(lock);
			if (--busy == 0) done.notify_one();
		}
	}

	// run runs the blocks of a launch on so many host threads and waits for all of them.
	void run(Grid &g, unsigned host_threads) {
		unsigned helpers = (unsigned)std::min<uint64_t>(host_threads, g.count) - 1;
		while (blocks.size() <= helpers) blocks.push_back(std::make_unique<Block>());
		if (helpers > 0) {
			{
				std::lock_guard<std::mutex> hold(lock);
				grid = &g;
				wanted = busy = helpers;
				round++;
			}
			while (threads < helpers) start(++threads);
			wake.notify_all();
		}
		g.work(*blocks[0]);
		if (helpers > 0) {
			std::unique_lock<std::mutex> hold(lock);
			done.wait(hold, [&] { return busy == 0; });
		}
	}

	// start makes a helper. It blocks the signals that are meant for the program, but not the signals of its own
	// faults.
	void start(unsigned id) {
		sigset_t all, old;
		sigfillset(&all);
		for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, s);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		std::thread([this, id] { helper(id); }).detach();
		pthread_sigmask(SIG_SETMASK, &old, nullptr);
	}
};

Hosts *new_hosts() { return new Hosts; }

void add_kernel(const char *name, size_t arg_bytes, void (*call)(const void *args)) {
	kernels()[name] = {name, arg_bytes, call};
}

const Kernel *kernel_named(const std::string &name) {
	auto found = kernels().find(name);
	return found == kernels().end() ? nullptr : &found->second;
}

std::string launch(Hosts *hosts, const Launch &l, unsigned host_threads) {
	Grid g(l);
	hosts->run(g, host_threads < 1 ? 1 : host_threads);
	return g.failure;
}

} // namespace emu
