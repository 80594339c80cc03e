// device.cpp: API calls about the driver, its errors, the device and its context.
#include <string.h>

#include "driver.h"

using namespace emu;

namespace {

// Named is an error with CUDA's name and text for it.
struct Named {
	int code;
	const char *name, *text;
};

const Named names[] = {
	{success, "CUDA_SUCCESS", "no error"},
	{invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{invalid_ptx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
	{illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{launch_out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	{launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Named *named(int code) {
	for (const Named &n : names) {
		if (n.code == code) return &n;
	}
	return nullptr;
}

} // namespace

EMU_API cuInit(unsigned) { return driver().init(); }

EMU_API cuDriverGetVersion(int *v) {
	*v = read_settings().driver; // read anew, since callers may ask before cuInit
	return success;
}

EMU_API cuGetErrorName(int code, const char **out) {
	const Named *n = named(code);
	*out = n == nullptr ? nullptr : n->name;
	return n == nullptr ? invalid_value : success;
}

// The text of the latest error also says why, which a real driver leaves to a debugger. It is valid until the thread
// asks again.
EMU_API cuGetErrorString(int code, const char **out) {
	static thread_local std::string text;
	const Named *n = named(code);
	*out = nullptr;
	if (n == nullptr) return invalid_value;
	text = n->text;
	if (code != success && detail_code == code && !detail.empty()) text += " (" + detail + ")";
	*out = text.c_str();
	return success;
}

EMU_API cuDeviceGetCount(int *n) {
	Driver &all = driver();
	std::lock_guard<std::mutex> hold(all.lock);
	if (!all.initialized) return error(not_initialized);
	*n = (int)all.visible.size();
	return success;
}

EMU_API cuDeviceGet(int *device, int ordinal) {
	EMU_ENTER_DEVICE(ordinal);
	*device = ordinal;
	return success;
}

EMU_API cuDeviceGetName(char *out, int n, int device) {
	EMU_ENTER_DEVICE(device);
	snprintf(out, (size_t)n, "rollcall emulator");
	return success;
}

EMU_API cuDeviceGetUuid_v2(char *out, int device) {
	EMU_ENTER_DEVICE(device);
	memcpy(out, d.seat.uuid().data(), 16);
	return success;
}

EMU_API cuDeviceTotalMem_v2(size_t *n, int device) {
	EMU_ENTER_DEVICE(device);
	*n = d.settings.memory;
	return success;
}

EMU_API cuDeviceGetAttribute(int *v, int attribute, int device) {
	EMU_ENTER_DEVICE(device);
	switch (attribute) {
	case 16: *v = (int)d.settings.threads; return success; // multiprocessors
	case 20: *v = 0; return success;                       // compute mode: default
	case 75: *v = d.settings.capability_of(d.seat.physical).first; return success;
	case 76: *v = d.settings.capability_of(d.seat.physical).second; return success;
	case 97: *v = (int)dynamic_limit; return success;
	}
	return d.error(invalid_value, "cuDeviceGetAttribute " + std::to_string(attribute) + " is not emulated");
}

EMU_API cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
	EMU_ENTER_DEVICE(device);
	d.context_flags = flags;
	return success;
}

EMU_API cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
	EMU_ENTER_DEVICE(device);
	*flags = d.context_flags;
	*active = d.retained > 0;
	return success;
}

EMU_API cuDevicePrimaryCtxRetain(void **context, int device) {
	int code = success;
	Device *d = visible_device(device, &code);
	if (d == nullptr) return code;
	std::lock_guard<std::recursive_mutex> hold(d->lock);
	if (d->gone) return error(d->lost, d->lost_why);
	if (d->retained++ == 0) d->begin_context();
	*context = d;
	return success;
}

// The last release ends the context and frees all it holds, even if the device is lost.
EMU_API cuDevicePrimaryCtxRelease_v2(int device) {
	int code = success;
	Device *d = visible_device(device, &code);
	if (d == nullptr) return code;
	std::lock_guard<std::recursive_mutex> hold(d->lock);
	if (d->retained == 0) return error(invalid_context);
	if (--d->retained == 0) d->forget_context();
	return success;
}

EMU_API cuCtxSetCurrent(void *context) {
	current_device = nullptr;
	current_context = 0;
	if (context == nullptr) return success;
	Driver &all = driver();
	Device *found = nullptr;
	{
		std::lock_guard<std::mutex> hold(all.lock);
		for (Device *d : all.visible) {
			if (d == context) found = d;
		}
	}
	if (found == nullptr) return error(invalid_context);
	std::lock_guard<std::recursive_mutex> hold(found->lock);
	if (found->retained == 0) return error(invalid_context);
	current_device = found;
	current_context = found->context;
	return success;
}
