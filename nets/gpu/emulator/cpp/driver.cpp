// driver.cpp: the emulated driver: its errors, and API calls about streams and events.
#include "driver.h"

#include <time.h>

namespace emu {

namespace {

double now_ms() {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

} // namespace

// Why the latest call of this thread failed.
thread_local int detail_code = success;
thread_local std::string detail;

int error(int code, const std::string &why) {
	detail_code = code;
	detail = why;
	return code;
}

Driver &driver() {
	static Driver *d = new Driver; // never freed, since calls may come while the process ends
	return *d;
}

// init reads the environment and lists the visible devices, unless a context is in use already.
int Driver::init() {
	std::lock_guard<std::mutex> hold(lock);
	for (Device *d : visible) {
		std::lock_guard<std::recursive_mutex> of(d->lock);
		if (d->retained > 0) return success;
	}
	settings = read_settings();
	visible.clear();
	for (const Seat &seat : visible_seats(settings)) {
		Device *&d = devices[seat];
		if (d == nullptr) d = new Device;
		d->seat = seat;
		d->settings = settings;
		visible.push_back(d);
	}
	if (visible.empty()) return error(no_device);
	initialized = true;
	return success;
}

Device *visible_device(int number, int *code) {
	Driver &all = driver();
	std::lock_guard<std::mutex> hold(all.lock);
	if (!all.initialized) {
		*code = error(not_initialized);
	} else if (number < 0 || (size_t)number >= all.visible.size()) {
		*code = error(invalid_device);
	} else {
		return all.visible[(size_t)number];
	}
	return nullptr;
}

Call::Call(int number) : d(visible_device(number, &code)) {
	if (d != nullptr) enter();
}

Call::Call() : d(current_device) {
	if (d == nullptr) {
		code = error(invalid_context, "none is current on this thread");
		return;
	}
	enter();
	if (code == success && current_context != d->context) {
		code = error(invalid_context, "none is current on this thread");
	}
}

void Call::enter() {
	hold = std::unique_lock<std::recursive_mutex>(d->lock);
	if (d->lost != success) code = error(d->lost, d->lost_why);
}

int Device::lose(int code, const std::string &why) {
	if (lost == success) {
		lost = code;
		lost_why = why;
		fprintf(stderr, "emulator: %s\n", why.c_str());
	}
	return error(lost, lost_why);
}

// begin_context reads the environment again for the first user of the context.
void Device::begin_context() {
	settings = read_settings();
	launch_calls = kernels_run = graphs_run = 0;
}

Stream *Device::stream(void *handle) {
	if (handle == nullptr) return &null_stream;
	Stream *s = static_cast<Stream *>(handle);
	return streams.count(s) != 0 ? s : nullptr;
}

// submit queues an operation.
int Device::submit(Stream *s, std::function<int()> op) {
	s->queue.push_back({std::move(op), nullptr});
	return success;
}

// flush performs the queued work of a stream.
int Device::flush(Stream *s) {
	while (lost == success && !s->queue.empty()) {
		Work w = std::move(s->queue.front());
		s->queue.pop_front();
		if (w.reach != nullptr) {
			w.reach->done = true;
			w.reach->ms = now_ms();
		}
		if (w.run) {
			if (int code = w.run()) return lose(code, detail); // the latest error of this thread
		}
	}
	return lost;
}

// flush_all performs the queued work of all streams.
int Device::flush_all() {
	if (int code = flush(&null_stream)) return code;
	for (Stream *s : streams) {
		if (int code = flush(s)) return code;
	}
	return check_guards();
}

// charge takes n bytes of device memory for a call, in whole pages, or fails if there are too few.
int Device::charge(const char *call, size_t n) {
	bool planned = settings.short_in == call && used > settings.short_above;
	if (planned || n > settings.memory || used + charged(n) > settings.memory) {
		return error(out_of_memory, planned ? std::string(call) + ": ROLLCALL_EMULATOR_SHORT_IN" : "");
	}
	used += charged(n);
	return success;
}

} // namespace emu

using namespace emu;

EMU_API cuStreamCreate(void **out, unsigned flags) {
	EMU_ENTER;
	if (flags != 1) return d.error(invalid_value, "a stream that waits for the default stream is not emulated");
	Stream *s = new Stream;
	s->maker = std::this_thread::get_id();
	d.streams.insert(s);
	*out = s;
	return success;
}

EMU_API cuStreamDestroy_v2(void *handle) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	if (s == nullptr || handle == nullptr) return d.error(invalid_handle);
	int code = d.flush(s); // a real driver lets the work finish later, but here its marks must not outlive the stream
	d.streams.erase(s);
	delete s;
	return code;
}

EMU_API cuStreamSynchronize(void *handle) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	if (s == nullptr) return d.error(invalid_handle);
	if (int code = d.flush(s)) return code;
	return d.check_guards();
}

EMU_API cuCtxSynchronize() {
	EMU_ENTER;
	return d.flush_all();
}

EMU_API cuEventCreate(void **out, unsigned) {
	EMU_ENTER;
	Event *e = new Event;
	d.events.insert(e);
	*out = e;
	return success;
}

EMU_API cuEventDestroy_v2(void *event) {
	EMU_ENTER;
	Event *e = static_cast<Event *>(event);
	if (d.events.erase(e) == 0) return d.error(invalid_handle);
	delete e;
	return success;
}

EMU_API cuEventRecord(void *event, void *handle) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	Event *e = static_cast<Event *>(event);
	if (s == nullptr || d.events.count(e) == 0) return d.error(invalid_handle);
	e->mark = std::make_shared<Mark>();
	s->queue.push_back({nullptr, e->mark});
	return success;
}

EMU_API cuEventElapsedTime(float *ms, void *from, void *to) {
	EMU_ENTER;
	Event *a = static_cast<Event *>(from), *b = static_cast<Event *>(to);
	for (Event *e : {a, b}) {
		if (d.events.count(e) == 0 || e->mark == nullptr) return d.error(invalid_handle);
	}
	if (!a->mark->done || !b->mark->done) return not_ready;
	*ms = (float)(b->mark->ms - a->mark->ms);
	return success;
}
