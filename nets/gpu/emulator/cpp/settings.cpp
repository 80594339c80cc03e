// settings.cpp: what the environment asks of the emulated driver.
#include <string.h>

#include <cstdlib>

#include "driver.h"

namespace emu {

namespace {

// number reads a number from the environment.
int64_t number(const char *name, int64_t otherwise) {
	const char *text = getenv(name);
	return text == nullptr || *text == 0 ? otherwise : strtoll(text, nullptr, 10);
}

} // namespace

Settings read_settings() {
	Settings s;
	s.memory = (uint64_t)number("ROLLCALL_EMULATOR_MEMORY", (int64_t)s.memory);
	s.seed = (uint64_t)number("ROLLCALL_EMULATOR_SEED", (int64_t)s.seed);
	s.threads = (unsigned)number("ROLLCALL_EMULATOR_THREADS", s.threads);
	s.driver = (int)number("ROLLCALL_EMULATOR_DRIVER", s.driver);
	s.devices = (int)number("ROLLCALL_EMULATOR_DEVICES", s.devices);
	s.page = (uint64_t)number("ROLLCALL_EMULATOR_PAGE", (int64_t)s.page);
	s.slow_jit = (int)number("ROLLCALL_EMULATOR_SLOW_JIT", 0);
	s.fail_jit = number("ROLLCALL_EMULATOR_FAIL_JIT", 0) != 0;
	s.fail_launch = number("ROLLCALL_EMULATOR_FAIL_LAUNCH", -1);
	s.lose_device = number("ROLLCALL_EMULATOR_LOSE_DEVICE", -1);
	const char *capability = getenv("ROLLCALL_EMULATOR_CAPABILITY"); // such as 8.6
	if (capability != nullptr) sscanf(capability, "%d.%d", &s.major, &s.minor);
	const char *call = getenv("ROLLCALL_EMULATOR_SHORT_IN"); // such as cuGraphLaunch:1000000
	const char *above = call == nullptr ? nullptr : strchr(call, ':');
	if (above != nullptr) {
		s.short_in.assign(call, (size_t)(above - call));
		s.short_above = strtoull(above + 1, nullptr, 10);
	}
	return s;
}

} // namespace emu
