// module.cpp: API calls about modules, functions and launches. The emulator runs the compiled sources of the kernels
// and not the PTX. It checks that each entry of the PTX is one of its kernels and takes as many bytes of parameters,
// which fails if the PTX is older than the source.
#include <string.h>

#include <chrono>

#include "driver.h"

using namespace emu;

namespace {

// number_after returns the first number behind key in text[from, to), or -1.
long number_after(const std::string &text, const std::string &key, size_t from, size_t to) {
	size_t p = text.find(key, from);
	if (p == std::string::npos || p >= to) return -1;
	return strtol(text.c_str() + p + key.size(), nullptr, 10);
}

// without_comments replaces comments by spaces, so that an entry in a comment does not count.
std::string without_comments(std::string s) {
	for (size_t i = 0; i + 1 < s.size(); i++) {
		if (s[i] != '/' || (s[i + 1] != '/' && s[i + 1] != '*')) continue;
		size_t end = s[i + 1] == '/' ? s.find('\n', i) : s.find("*/", i);
		if (end == std::string::npos) end = s.size();
		for (; i < end; i++) {
			if (s[i] != '\n') s[i] = ' ';
		}
	}
	return s;
}

// shared_of returns the bytes of the file's shared arrays, ".shared .align 16 .b8 name[bytes]", that are named in
// ptx[from, to): the static shared memory of the kernel that lies there. The arrays may stand in it, or before it.
uint32_t shared_of(const std::string &ptx, size_t from, size_t to) {
	const std::string key = ".shared .align ", outside = ".extern ";
	uint32_t bytes = 0;
	for (size_t p = ptx.find(key); p != std::string::npos; p = ptx.find(key, p + 1)) {
		if (p >= outside.size() && ptx.compare(p - outside.size(), outside.size(), outside) == 0) continue; // dynamic
		size_t open = ptx.find('[', p), space = ptx.rfind(' ', open);
		size_t used = ptx.find(ptx.substr(space + 1, open - space - 1), from);
		if (used < to) bytes += (uint32_t)number_after(ptx, "[", open, to);
	}
	return bytes;
}

// parse fills a module with the entries of PTX. It returns what is wrong with the PTX, or "".
std::string parse(const std::string &ptx, Module *m) {
	for (size_t p = ptx.find(".entry"), next; p != std::string::npos; p = next) {
		next = ptx.find(".entry", p + 1);
		size_t name_at = ptx.find_first_not_of(" \t\n", p + 6), name_end = ptx.find_first_of("( \t\n", name_at);
		if (name_at == std::string::npos || name_end == std::string::npos) return ".entry without a name";
		std::string name = ptx.substr(name_at, name_end - name_at);
		const Kernel *k = kernel_named(name);
		if (k == nullptr) return "entry " + name + " is not in the emulator's library";
		size_t end = next == std::string::npos ? ptx.size() : next;
		long bytes = number_after(ptx, name + "_param_0[", p, end);
		if (bytes != (long)k->arg_bytes) {
			return "entry " + name + " takes " + std::to_string(bytes) + " bytes in the PTX, " +
				std::to_string(k->arg_bytes) + " in the source";
		}
		Function f{k};
		long x = number_after(ptx, ".maxntid", p, end);
		if (x > 0) f.max_threads = (uint32_t)x;
		f.static_bytes = shared_of(ptx, p, end);
		f.dynamic_limit -= f.static_bytes;
		m->functions.emplace(name, f);
	}
	if (m->functions.empty()) return "no .entry in the PTX";
	return "";
}

// load fills a module with the entries of PTX. An error is explained in *log.
int load(const Device &d, const std::string &ptx, Module *m, std::string *log) {
	*log = d.settings.fail_jit ? "ptxas fatal: ROLLCALL_EMULATOR_FAIL_JIT is set" : parse(ptx, m);
	return log->empty() ? success : invalid_ptx;
}

// function returns the function of a handle, or nullptr.
Function *function(Device &d, void *handle) {
	for (Module *m : d.modules) {
		for (auto &[name, f] : m->functions) {
			if (&f == handle) return &f;
		}
	}
	return nullptr;
}

// bad_launch returns what is wrong with the sizes of a launch, or "".
std::string bad_launch(const Function &f, uint3 g, uint3 b, uint32_t dynamic_bytes) {
	uint64_t threads = (uint64_t)b.x * b.y * b.z;
	char text[200] = "";
	if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > 0x7fffffff || g.y > 65535 || g.z > 65535) {
		snprintf(text, sizeof text, "grid (%u,%u,%u), limits (2147483647,65535,65535)", g.x, g.y, g.z);
	} else if (b.x == 0 || b.y == 0 || b.z == 0 || b.x > 1024 || b.y > 1024 || b.z > 64 || threads > f.max_threads) {
		snprintf(text, sizeof text, "block (%u,%u,%u), limits (1024,1024,64) and %u threads", b.x, b.y, b.z,
			f.max_threads);
	} else if (dynamic_bytes > f.dynamic_limit) {
		snprintf(text, sizeof text, "%u bytes of dynamic shared memory, limit %u", dynamic_bytes, f.dynamic_limit);
	} else {
		return "";
	}
	return std::string(f.kernel->name) + ": " + text;
}

} // namespace

// run_kernel performs a launch. args holds a copy of the parameter structure.
int Device::run_kernel(const Kernel *k, const std::vector<uint64_t> &args, uint3 grid, uint3 block,
	uint32_t dynamic_bytes) {
	int64_t most = settings.lost_after(seat.physical);
	if (most >= 0 && kernels_ever >= most) {
		gone = true;
		return error(unknown, std::string(k->name) + ": device lost: ROLLCALL_EMULATOR_LOSE_DEVICE");
	}
	kernels_ever++;
	if (hosts == nullptr) hosts = new_hosts();
	uint64_t order = settings.seed * 0x9e3779b97f4a7c15ull + (uint64_t)kernels_run++;
	auto [major, minor] = settings.capability_of(seat.physical);
	Launch l{k, args.data(), grid, block, dynamic_bytes, order, 10 * major + minor};
	std::string failure = launch(hosts, l, settings.threads);
	return failure.empty() ? success : error(launch_failed, failure);
}

EMU_API cuModuleLoadDataEx(void **out, const void *ptx, unsigned options, const int *names, void **values) {
	// As long as others may call.
	std::this_thread::sleep_for(std::chrono::milliseconds(read_settings().slow_jit));
	EMU_ENTER;
	auto m = std::make_unique<Module>();
	std::string log;
	int code = d.charge("cuModuleLoadDataEx", 1);
	if (code == success) {
		code = load(d, without_comments(static_cast<const char *>(ptx)), m.get(), &log);
		if (code != success) d.used -= d.charged(1);
	}
	if (code == success) {
		*out = m.get();
		d.modules.insert(m.release());
		return success;
	}
	char *buffer = nullptr;
	size_t capacity = 0;
	for (unsigned i = 0; i < options; i++) {
		if (names[i] == 5) buffer = static_cast<char *>(values[i]);
		if (names[i] == 6) capacity = reinterpret_cast<size_t>(values[i]);
	}
	if (buffer != nullptr && capacity > 0) snprintf(buffer, capacity, "%s", log.c_str());
	return d.error(code, log);
}

EMU_API cuModuleUnload(void *module) {
	EMU_ENTER;
	Module *m = static_cast<Module *>(module);
	if (d.modules.erase(m) == 0) return d.error(invalid_handle);
	d.used -= d.charged(1);
	delete m;
	return success;
}

EMU_API cuModuleGetFunction(void **out, void *module, const char *name) {
	// As long as others may call.
	std::this_thread::sleep_for(std::chrono::milliseconds(read_settings().slow_find));
	EMU_ENTER;
	Module *m = static_cast<Module *>(module);
	if (d.modules.count(m) == 0) return d.error(invalid_handle);
	auto found = m->functions.find(name);
	if (found == m->functions.end()) return d.error(not_found, std::string("no entry ") + name + " in the PTX");
	*out = &found->second;
	return success;
}

EMU_API cuFuncGetAttribute(int *v, int attribute, void *handle) {
	EMU_ENTER;
	Function *f = function(d, handle);
	if (f == nullptr) return d.error(invalid_handle);
	switch (attribute) {
	case 0: *v = (int)f->max_threads; return success;
	case 1: *v = (int)f->static_bytes; return success;
	case 4: *v = 32; return success; // registers: a CPU has none to report, and every kernel may have 32
	case 9: *v = f->carveout; return success;
	}
	return d.error(invalid_value);
}

EMU_API cuFuncSetAttribute(void *handle, int attribute, int v) {
	EMU_ENTER;
	Function *f = function(d, handle);
	if (f == nullptr) return d.error(invalid_handle);
	if (attribute == 8 && v >= 0 && (uint32_t)v + f->static_bytes <= dynamic_limit) {
		f->dynamic_limit = (uint32_t)v;
		return success;
	}
	if (attribute == 9 && v >= -1 && v <= 100) {
		f->carveout = v;
		return success;
	}
	return d.error(invalid_value);
}

EMU_API cuFuncGetParamInfo(void *handle, size_t index, size_t *offset, size_t *size) {
	EMU_ENTER;
	Function *f = function(d, handle);
	if (f == nullptr) return d.error(invalid_handle);
	if (index != 0) return d.error(invalid_value);
	*offset = 0;
	if (size != nullptr) *size = f->kernel->arg_bytes;
	return success;
}

// prepare checks a launch and returns the operation that performs it, with a copy of its arguments.
int Device::prepare(std::function<int()> *run, void *handle, uint3 grid, uint3 block, unsigned dynamic_bytes,
	void **params, void **extra) {
	Function *f = function(*this, handle);
	if (f == nullptr) return error(invalid_handle);
	if (params == nullptr || extra != nullptr) return error(invalid_value, "arguments by kernelParams only");
	std::string bad = bad_launch(*f, grid, block, dynamic_bytes);
	if (!bad.empty()) return error(invalid_value, bad);
	if (settings.fail_launch >= 0 && launch_calls++ == settings.fail_launch) {
		return error(launch_out_of_resources, std::string(f->kernel->name) + ": ROLLCALL_EMULATOR_FAIL_LAUNCH");
	}
	const Kernel *k = f->kernel;
	std::vector<uint64_t> args((k->arg_bytes + 7) / 8 + 1); // aligned for a structure of pointers
	memcpy(args.data(), params[0], k->arg_bytes);
	*run = [this, k, args = std::move(args), grid, block, dynamic_bytes] {
		return run_kernel(k, args, grid, block, dynamic_bytes);
	};
	return success;
}

EMU_API cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned dynamic_bytes, void *stream, void **params, void **extra) {
	EMU_ENTER;
	Stream *s = d.stream(stream);
	if (s == nullptr) return d.error(invalid_handle);
	std::function<int()> run;
	if (int code = d.prepare(&run, handle, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, params, extra)) return code;
	return d.submit(s, std::move(run));
}
