// settings.cpp: what the environment asks of the emulated driver, and which devices a process sees.
#include <string.h>

#include <algorithm>
#include <cstdlib>

#include "driver.h"

namespace emu {

namespace {

// number reads a number from the environment.
int64_t number(const char *name, int64_t otherwise) {
	const char *text = getenv(name);
	return text == nullptr || *text == 0 ? otherwise : strtoll(text, nullptr, 10);
}

// list splits a text at its commas. An empty text is one empty part.
std::vector<std::string> list(const std::string &text) {
	std::vector<std::string> parts;
	for (size_t from = 0, comma; from != std::string::npos; from = comma == std::string::npos ? comma : comma + 1) {
		comma = text.find(',', from);
		parts.push_back(text.substr(from, comma == std::string::npos ? comma : comma - from));
	}
	return parts;
}

// named returns the one device that an entry of CUDA_VISIBLE_DEVICES names, by its index or by the beginning of its
// UUID; -1: it names none, or several. The index of a device with MIG instances names the first of these.
int named(const std::string &entry, const std::vector<Seat> &all) {
	bool index = !entry.empty() && entry.find_first_not_of("0123456789") == std::string::npos;
	int found = -1;
	for (size_t i = 0; i < all.size(); i++) {
		const Seat &s = all[i];
		Seat whole{s.physical};
		bool is = false;
		if (index) {
			is = s.instance <= 0 && entry == std::to_string(s.physical);
		} else if (entry.size() > 4) {
			is = s.uuid_text().compare(0, entry.size(), entry) == 0 ||
				(s.instance == 0 && whole.uuid_text().compare(0, entry.size(), entry) == 0);
		}
		if (is && found >= 0) return -1;
		if (is) found = (int)i;
	}
	return found;
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
	s.slow_find = (int)number("ROLLCALL_EMULATOR_SLOW_FIND", 0);
	s.fail_jit = number("ROLLCALL_EMULATOR_FAIL_JIT", 0) != 0;
	s.fail_launch = number("ROLLCALL_EMULATOR_FAIL_LAUNCH", -1);
	s.mig = (int)number("ROLLCALL_EMULATOR_MIG", 0);
	const char *lose = getenv("ROLLCALL_EMULATOR_LOSE_DEVICE"); // such as 100, or 0:100,2:5
	for (const std::string &part : list(lose == nullptr ? "" : lose)) {
		size_t colon = part.find(':');
		if (part.empty()) continue;
		int device = colon == std::string::npos ? -1 : atoi(part.c_str());
		s.lose[device] = strtoll(part.c_str() + (colon == std::string::npos ? 0 : colon + 1), nullptr, 10);
	}
	const char *capability = getenv("ROLLCALL_EMULATOR_CAPABILITY"); // such as 8.6, or 9.0,8.0
	if (capability != nullptr && *capability != 0) {
		s.capability.clear();
		for (const std::string &part : list(capability)) {
			std::pair<int, int> c{0, 0};
			sscanf(part.c_str(), "%d.%d", &c.first, &c.second);
			s.capability.push_back(c);
		}
	}
	const char *call = getenv("ROLLCALL_EMULATOR_SHORT_IN"); // such as cuGraphLaunch:1000000
	const char *above = call == nullptr ? nullptr : strchr(call, ':');
	if (above != nullptr) {
		s.short_in.assign(call, (size_t)(above - call));
		s.short_above = strtoull(above + 1, nullptr, 10);
	}
	return s;
}

std::pair<int, int> Settings::capability_of(int physical) const {
	return capability[std::min((size_t)physical, capability.size() - 1)];
}

int64_t Settings::lost_after(int physical) const {
	for (int device : {physical, -1}) {
		auto found = lose.find(device);
		if (found != lose.end()) return found->second;
	}
	return -1;
}

// The first bytes tell devices apart, so that short beginnings of a UUID do too.
std::array<uint8_t, 16> Seat::uuid() const {
	std::array<uint8_t, 16> u{};
	memcpy(u.data() + 6, "rollcall e", 10);
	u[3] = (uint8_t)physical;
	u[5] = (uint8_t)(instance + 1);
	return u;
}

std::string Seat::uuid_text() const {
	std::string text = instance < 0 ? "GPU" : "MIG";
	std::array<uint8_t, 16> u = uuid();
	for (size_t i = 0; i < u.size(); i++) {
		char hex[4];
		snprintf(hex, sizeof hex, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
		text += hex;
	}
	return text;
}

// As CUDA's documentation says, the first entry that names no device ends the list. An entry that repeats a device
// ends it too. With MIG, a process sees one instance at most.
std::vector<Seat> visible_seats(const Settings &s) {
	std::vector<Seat> all, seen;
	for (int d = 0; d < s.devices; d++) {
		if (s.mig == 0) all.push_back({d, -1});
		for (int i = 0; i < s.mig; i++) all.push_back({d, i});
	}
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	if (visible == nullptr) {
		seen = all;
	} else {
		for (const std::string &entry : list(visible)) {
			int i = named(entry, all);
			if (i < 0) break;
			const Seat &seat = all[(size_t)i];
			if (std::any_of(seen.begin(), seen.end(), [&](const Seat &o) { return !(o < seat) && !(seat < o); })) break;
			seen.push_back(seat);
		}
	}
	if (s.mig > 0 && seen.size() > 1) seen.resize(1);
	return seen;
}

} // namespace emu
