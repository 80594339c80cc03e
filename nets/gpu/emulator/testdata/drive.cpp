// drive LIBRARY CASE runs one case against a library that the emulator made from the kernels of this folder.
#include "drive.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <map>

struct ArrayArgs { float *x; uint32_t n; };
struct ShuffleArgs { const float *x; const double *y; float *out; double *sums; uint32_t *votes; };
struct MatrixArgs { const uint16_t *x; uint32_t *out; };
struct BitsArgs { const uint32_t *a, *b; uint32_t *d; };
struct CopyArgs { const float *x; float *y; uint32_t n, limit, wait; };
struct MemoryArgs { float *x; uint32_t *order; uint32_t n; };
struct PairArgs { uint32_t *words; };
template <class T> struct MathArgs { const T *x; T *y; uint32_t n, what; };

static std::vector<float> ramp(size_t n) {
	std::vector<float> v(n);
	for (size_t i = 0; i < n; i++) v[i] = (float)i;
	return v;
}

static uint32_t state = 12345;
static float uniform() { // in (-1, 1)
	state = state * 1664525u + 1013904223u;
	return (float)(int32_t)state / 2147483648.0f;
}

static void reverse_case() {
	Array<float> x(ramp(3 * 256));
	start("reverse", {3, 256}, ArrayArgs{x.ptr(), 0});
	auto got = x.get();
	for (int i = 0; i < 3 * 256; i++) expect(got[i] == (float)(i / 256 * 256 + 255 - i % 256), "x[%d] = %g", i, got[i]);
}

// A kernel without its barrier must compute something wrong. The seed decides which elements are wrong.
static void reverse_dropped_case() {
	Array<float> x(ramp(256));
	start("reverse_dropped", {1, 256}, ArrayArgs{x.ptr(), 0});
	auto got = x.get();
	int wrong = 0;
	for (int i = 0; i < 256; i++) wrong += got[i] != (float)(255 - i);
	printf("%d of 256 wrong\n", wrong);
	expect(wrong > 0, "no element differs");
}

static void rotate_dropped_case() {
	Array<float> x(ramp(128));
	start("rotate_dropped", {1, 128}, ArrayArgs{x.ptr(), 4});
	auto got = x.get();
	int wrong = 0;
	for (int i = 0; i < 128; i++) wrong += got[i] != (float)((i + 4) % 128);
	printf("%d of 128 wrong\n", wrong);
	expect(wrong > 0, "no element differs");
}

// fails runs a kernel that must end as a launch failure, and prints the diagnosis, which the caller checks.
static void fails(const char *name, uint32_t n) {
	Array<float> x(ramp(128));
	start(name, {2, 128}, ArrayArgs{x.ptr(), n});
	int code = cuCtxSynchronize();
	printf("%d %s\n", code, text_of(code).c_str());
	expect(code == 719, "got %d, want 719", code);
	expect(cuCtxSynchronize() == 719, "the error does not stick");
	Ptr p;
	expect(cuMemAlloc_v2(&p, 16) == 719, "memory from a lost context");
}

static void shuffles_case() {
	std::vector<float> x(32);
	std::vector<double> y(32);
	double sum = 0;
	uint32_t votes = 0;
	for (int i = 0; i < 32; i++) {
		x[i] = uniform();
		y[i] = i * 0.5;
		sum += y[i];
		votes |= (uint32_t)(x[i] > 0) << i;
	}
	Array<float> dx(x), out(128);
	Array<double> dy(y), sums(32);
	Array<uint32_t> dv(32);
	start("shuffles", {1, 32}, ShuffleArgs{dx.ptr(), dy.ptr(), out.ptr(), sums.ptr(), dv.ptr()});
	auto got = out.get();
	for (int i = 0; i < 32; i++) {
		expect(got[i] == x[i ^ 5], "xor: lane %d got %g, want %g", i, got[i], x[i ^ 5]);
		expect(got[32 + i] == x[i + 3 > 31 ? i : i + 3], "down: lane %d got %g", i, got[32 + i]);
		expect(got[64 + i] == x[7], "idx: lane %d got %g, want %g", i, got[64 + i], x[7]);
		expect(got[96 + i] == x[i < 16 ? i ^ 1 : i ^ 2], "half: lane %d got %g", i, got[96 + i]);
		expect(sums.get()[i] == sum, "sum: lane %d got %g, want %g", i, sums.get()[i], sum);
		expect(dv.get()[i] == votes, "ballot: lane %d got %08x, want %08x", i, dv.get()[i], votes);
	}
}

// ldmatrix reads four matrices from stdin, or makes some, and writes what the lanes receive in every form.
static void ldmatrix_case() {
	std::vector<uint16_t> x(256);
	for (int i = 0; i < 256; i++) x[i] = (uint16_t)(i * 257);
	size_t given = fread(x.data(), 2, x.size(), stdin);
	expect(given % x.size() == 0, "%zu elements, want %zu", given, x.size());
	Array<uint16_t> dx(x);
	Array<uint32_t> out(std::vector<uint32_t>(6 * 128, 0));
	start("matrices", {1, 32}, MatrixArgs{dx.ptr(), out.ptr()});
	auto got = out.get();
	for (int form = 0; form < 6; form++) {
		int count = 1 << form % 3;
		for (int l = 0; l < 32; l++) {
			for (int m = 0; m < 4; m++) {
				auto at = [&](int row, int column) { return (uint32_t)x[m * 64 + row * 8 + column]; };
				int c = 2 * (l % 4), r = l / 4;
				uint32_t want = 0;
				if (m < count) want = form < 3 ? at(r, c) | at(r, c + 1) << 16 : at(c, r) | at(c + 1, r) << 16;
				uint32_t have = got[form * 128 + l * 4 + m];
				expect(have == want, "form %d lane %d matrix %d: got %08x, want %08x", form, l, m, have, want);
			}
		}
	}
	fwrite(got.data(), 4, got.size(), stdout);
}

// mma reads fragments of mma from stdin, for each mma a [32,4], b [32,2] and c [32,4], and writes those of d.
static void mma_case(const char *name) {
	std::vector<uint32_t> a, b, d, one(320);
	while (fread(one.data(), 4, one.size(), stdin) == one.size()) {
		a.insert(a.end(), one.begin(), one.begin() + 128);
		b.insert(b.end(), one.begin() + 128, one.begin() + 192);
		d.insert(d.end(), one.begin() + 192, one.end());
	}
	Array<uint32_t> da(a), db(b), dd(d);
	start(name, {(unsigned)d.size() / 128, 32}, BitsArgs{da.ptr(), db.ptr(), dd.ptr()});
	auto got = dd.get();
	fwrite(got.data(), 4, got.size(), stdout);
}

static std::vector<float> pipeline(const char *name, unsigned bytes, uint32_t wait, uint32_t limit) {
	const uint32_t n = 64 * bytes / 4 * 6;
	Array<float> x(ramp(n)), y(n);
	start(name, {1, 64, 2 * 64 * bytes}, CopyArgs{x.ptr(), y.ptr(), n, limit, wait});
	return y.get();
}

static void cp_async_case() {
	const std::pair<const char *, unsigned> pipelines[] = {{"pipeline4", 4}, {"pipeline8", 8}, {"pipeline16", 16}};
	for (auto [name, bytes] : pipelines) {
		uint32_t n = 64 * bytes / 4 * 6, limit = n - 20;
		auto got = pipeline(name, bytes, 1, limit);
		for (uint32_t i = 0; i < n; i++) {
			float want = i < limit ? 2.0f * (float)i : 0;
			expect(got[i] == want, "%s: y[%u] = %g, want %g", name, i, got[i], want);
		}
	}
}

static void cp_async_no_wait_case() {
	auto got = pipeline("pipeline16", 16, 0, 1 << 30);
	auto wrong = std::count_if(got.begin(), got.end(), [](float v) { return isnan(v); });
	printf("%zu of %zu NaN\n", (size_t)wrong, got.size());
	expect(wrong == (long)got.size(), "a stage was read before its wait and came out as data");
}

static void poison_case() {
	Array<float> x(64);
	for (float v : x.get()) expect(isnan(v), "fresh device memory is %g, want NaN", v);
	start("forgets", {1, 64}, MemoryArgs{x.ptr(), nullptr, 0});
	auto got = x.get();
	for (int i = 0; i < 64; i++) expect(i == 5 ? isnan(got[i]) : got[i] == 1, "x[%d] = %g", i, got[i]);
}

static void overrun(const char *name, uint32_t n, unsigned dynamic_bytes) {
	Array<float> x(32);
	start(name, {1, name[0] == 'g' ? 64u : 32u, dynamic_bytes}, MemoryArgs{x.ptr(), nullptr, n});
	int code = cuCtxSynchronize();
	printf("%d %s\n", code, text_of(code).c_str());
	exit(code == 0 ? 0 : 3);
}

static void misaligned_case() {
	Array<float> x(32);
	start("misaligned", {1, 32}, MemoryArgs{x.ptr(), nullptr, 1});
	ok(cuCtxSynchronize());
}

// block_order prints the order in which blocks ran. The caller compares the orders of two seeds.
static void block_order_case() {
	Array<uint32_t> order(std::vector<uint32_t>(101, 0));
	start("block_order", {100, 32}, MemoryArgs{nullptr, order.ptr(), 0});
	auto got = order.get();
	std::vector<uint32_t> sorted(got.begin() + 1, got.end());
	std::sort(sorted.begin(), sorted.end());
	for (uint32_t i = 0; i < 100; i++) expect(sorted[i] == i, "block %u did not run once", i);
	for (int i = 1; i <= 100; i++) printf("%u ", got[i]);
	printf("\n");
}

// deferred checks that a stream does nothing before somebody waits, and that a copy reads its source when it is
// performed.
static void deferred_case() {
	void *s = nullptr, *other = nullptr;
	ok(cuStreamCreate(&s, 1));
	ok(cuStreamCreate(&other, 1));
	float *in, *out;
	ok(cuMemHostAlloc((void **)&in, 128, 0));
	ok(cuMemHostAlloc((void **)&out, 128, 0));
	Array<float> x(32);
	for (int i = 0; i < 32; i++) in[i] = 1;
	ok(cuMemcpyHtoDAsync_v2(x.p, in, 128, s));
	start("add", {1, 32, 0, s}, MemoryArgs{x.ptr(), nullptr, 10});
	ok(cuMemcpyDtoHAsync_v2(out, x.p, 128, s));
	expect(isnan(out[0]), "the copy out was performed at once: %g", out[0]);
	in[0] = 5; // too early: the copy in has not been waited for
	ok(cuStreamSynchronize(other));
	expect(isnan(out[0]), "another stream's wait performed the copy: %g", out[0]);
	ok(cuStreamSynchronize(s));
	expect(out[0] == 15 && out[1] == 11, "got %g %g, want 15 (the staging buffer's later value) 11", out[0], out[1]);
}

// executable makes a graph executable, and gives the graph back.
static void *executable(void *graph) {
	void *exec = nullptr;
	ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ok(cuGraphDestroy(graph));
	return exec;
}

// graph_turns runs a graph four times and returns in how many of them y = 2x came out, for the x that the graph adds 1
// to before. waits says whether the copy of x to y waits for that.
static int graph_turns(bool waits) {
	const uint32_t n = 64 * 6;
	void *s = nullptr, *graph = nullptr;
	ok(cuStreamCreate(&s, 1));
	Array<float> x(ramp(n)), y(n);
	ok(cuGraphCreate(&graph, 0));
	std::vector<void *> first = {add(graph, "add", {n / 32, 32}, MemoryArgs{x.ptr(), nullptr, 1}, {})};
	add(graph, "pipeline4", {1, 64, 2 * 64 * 4}, CopyArgs{x.ptr(), y.ptr(), n, n, 1},
		waits ? first : std::vector<void *>());
	void *exec = executable(graph);
	expect(x.get()[3] == 3, "building the graph ran it: x[3] = %g", x.get()[3]);
	int right = 0;
	for (int turn = 1; turn <= 4; turn++) {
		ok(cuGraphLaunch(exec, s));
		ok(cuStreamSynchronize(s));
		expect(x.get()[3] == (float)(3 + turn), "turn %d: x[3] = %g", turn, x.get()[3]);
		right += y.get()[3] == 2 * (float)(3 + turn);
	}
	ok(cuGraphExecDestroy(exec));
	return right;
}

// graph checks that a launch of a graph runs behind those that it waits for, and only by luck behind others.
static void graph_case() {
	int with = graph_turns(true), without = graph_turns(false);
	expect(with == 4 && without < 4, "right in %d of 4 turns, and in %d without the wait", with, without);
	void *graph = nullptr, *node = nullptr, *strange = (void *)9;
	ok(cuGraphCreate(&graph, 0));
	MemoryArgs args{nullptr, nullptr, 1};
	void *params[] = {&args};
	KernelNode k{function("add", sizeof args), 1, 1, 1, 2048, 1, 1, 0, params, nullptr, nullptr, nullptr};
	int code = cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &k);
	expect(code == 1, "a block of 2048: got %d, want 1", code);
	k.bx = 32;
	code = cuGraphAddKernelNode_v2(&node, graph, &strange, 1, &k);
	expect(code == 1, "a wait for a node that is not in the graph: got %d, want 1", code);
	ok(cuGraphDestroy(graph));
}

static void limits_case() {
	size_t available = 0, total = 0;
	ok(cuMemGetInfo_v2(&available, &total));
	expect(total == 1 << 20 && available == total, "got %zu of %zu, want 1 MiB", available, total);
	Ptr a = 0, b = 0;
	ok(cuMemAlloc_v2(&a, 1000 << 10));
	int code = cuMemAlloc_v2(&b, 30 << 10);
	expect(code == 2, "allocation beyond the limit: got %d, want 2", code);
	ok(cuMemFree_v2(a));
	void *f = function("reverse", sizeof(ArrayArgs)), *params[] = {&b};
	code = cuMemAlloc_v2(&b, 1 << 20);
	expect(code == 2, "all memory, of which a module has a page: got %d, want 2", code);
	ok(cuMemAlloc_v2(&b, 8 << 10));
	size_t offset = 1, size = 0;
	ok(cuFuncGetParamInfo(f, 0, &offset, &size));
	expect(offset == 0 && size == sizeof(ArrayArgs), "got %zu %zu", offset, size);
	expect(cuFuncGetParamInfo(f, 1, &offset, &size) == 1, "a second parameter");
	code = cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, nullptr, params, nullptr);
	expect(code == 1, "block of 2048: got %d, want 1", code);
	code = cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 49 << 10, nullptr, params, nullptr);
	expect(code == 1, "49 KiB of dynamic shared memory without leave: got %d, want 1", code);
	int carveout = 0;
	ok(cuFuncGetAttribute(&carveout, 9, f));
	expect(carveout == -1, "carveout %d, want -1: the driver decides", carveout);
	for (auto [set, want] : {std::pair<int, int>{-2, 1}, {101, 1}, {100, 0}, {0, 0}, {25, 0}}) {
		code = cuFuncSetAttribute(f, 9, set);
		expect(code == want, "carveout of %d: got %d, want %d", set, code, want);
	}
	ok(cuFuncGetAttribute(&carveout, 9, f));
	expect(carveout == 25, "carveout %d, want 25", carveout);
	code = cuFuncSetAttribute(f, 7, 25);
	expect(code == 1, "attribute 7: got %d, want 1", code);
	void *module = nullptr;
	for (auto [name, bytes] : {std::pair<const char *, size_t>{"no_such_kernel", 16}, {"reverse", 24}}) {
		char log[200] = "";
		int names[] = {5, 6};
		void *values[] = {log, (void *)sizeof log};
		code = cuModuleLoadDataEx(&module, ptx_for(name, bytes).c_str(), 2, names, values);
		expect(code == 218, "%s of %zu bytes: got %d, want 218", name, bytes, code);
		printf("%s\n", log);
	}
}

// A kernel that fails loses the context, and not the device.
static void lose_context_case() {
	Array<float> x(ramp(128));
	start("lane_missing", {2, 128}, ArrayArgs{x.ptr(), 7});
	int code = cuCtxSynchronize();
	expect(code == 719, "got %d, want 719", code);
	ok(cuDevicePrimaryCtxRelease_v2(0));
	ok(cuDevicePrimaryCtxRetain(&context, 0));
	expect(cuMemFree_v2(x.p) == 201, "the lost context is still current");
	ok(cuCtxSetCurrent(context));
	Array<float> y(ramp(32));
	expect(y.get()[3] == 3, "got %g", y.get()[3]);
}

// list prints the devices that the process sees: UUID and compute capability.
static void list_case() {
	int n = 0;
	ok(cuDeviceGetCount(&n));
	for (int i = 0; i < n; i++) {
		unsigned char u[16];
		int major = 0, minor = 0;
		ok(cuDeviceGetUuid_v2(u, i));
		ok(cuDeviceGetAttribute(&major, 75, i));
		ok(cuDeviceGetAttribute(&minor, 76, i));
		printf("%02x%02x%02x%02x-%02x%02x %d.%d\n", u[0], u[1], u[2], u[3], u[4], u[5], major, minor);
	}
}

// Every device has a context, memory and streams of its own, which those of another are not taken for.
static void devices_case() {
	void *contexts[2], *functions[2], *streams[2], *module = nullptr;
	for (int i = 0; i < 2; i++) {
		ok(cuDevicePrimaryCtxRetain(&contexts[i], i));
		ok(cuCtxSetCurrent(contexts[i]));
		ok(cuModuleLoadDataEx(&module, ptx_for("add", sizeof(MemoryArgs)).c_str(), 0, nullptr, nullptr));
		ok(cuModuleGetFunction(&functions[i], module, "add"));
		ok(cuStreamCreate(&streams[i], 1));
	}
	expect(contexts[0] != contexts[1], "one context of two devices");
	size_t available = 0, total = 0;
	ok(cuMemGetInfo_v2(&available, &total)); // of device 1, which is current
	Ptr big = 0, other = 0;
	ok(cuMemAlloc_v2(&big, available));
	expect(cuMemAlloc_v2(&other, 512) == 2, "a full device has memory");
	ok(cuCtxSetCurrent(contexts[0]));
	ok(cuMemAlloc_v2(&other, available));
	expect(cuMemFree_v2(big) == 1, "memory of the other device is freed");
	expect(cuStreamSynchronize(streams[1]) == 400, "a stream of the other device is taken");
	MemoryArgs args{reinterpret_cast<float *>(other), nullptr, 1};
	void *params[] = {&args};
	int code = cuLaunchKernel(functions[1], 1, 1, 1, 32, 1, 1, 0, streams[0], params, nullptr);
	expect(code == 400, "a kernel of the other device: got %d, want 400", code);
	ok(cuDevicePrimaryCtxRelease_v2(1));
	expect(cuCtxSetCurrent(contexts[1]) == 201, "the context of device 1 lives on");
	ok(cuCtxSetCurrent(contexts[0]));
	ok(cuStreamSynchronize(streams[0]));
}

template <class T> std::vector<T> apply(const char *name, uint32_t what, const std::vector<T> &x) {
	Array<T> dx(x), dy(x.size());
	start(name, {4, 64}, MathArgs<T>{dx.ptr(), dy.ptr(), (uint32_t)x.size(), what});
	return dy.get();
}

// worst returns the largest error, in units in the last place of a float (or, for double, relative to 2^-52), denormals
// included.
template <class T>
double worst(const char *what, const std::vector<T> &x, const std::vector<T> &got,
	std::function<long double(long double)> f) {
	double most = 0;
	T at = 0;
	for (size_t i = 0; i < x.size(); i++) {
		long double want = f(x[i]);
		int digits = sizeof(T) == 4 ? 24 : 53, lowest = sizeof(T) == 4 ? -149 : -1074;
		int e = want == 0 ? lowest : std::max(lowest, ilogbl(want) - digits + 1);
		if (isinf((T)want)) {
			expect(got[i] == (T)want, "%s(%.9g) = %g, want %Lg", what, (double)x[i], (double)got[i], want);
			continue;
		}
		double ulps = (double)fabsl(ldexpl((long double)got[i] - want, -e));
		if (!(ulps <= most)) {
			most = ulps;
			at = x[i];
		}
	}
	printf("%s: %.3f ulp at %.9g, %zu points\n", what, most, (double)at, x.size());
	return most;
}

static void math_case() {
	std::vector<float> e, l;
	for (int i = 0; i < 400000; i++) e.push_back(-106.0f + (float)i * (196.0f / 400000));
	for (int i = 0; i < 20000; i++) e.push_back(uniform() * 1e-3f);
	for (uint32_t u = 1; u < 0x7f800000u; u += 4999) {
		float v;
		memcpy(&v, &u, 4);
		l.push_back(v);
	}
	for (int i = -20000; i < 20000; i++) l.push_back(1 + (float)i * 1e-5f);
	double ulps = worst<float>("expf_", e, apply("math_float", 0, e), [](long double x) { return expl(x); });
	expect(ulps <= 1, "expf_: %g ulp, want at most 1", ulps);
	ulps = worst<float>("logf_", l, apply("math_float", 1, l), [](long double x) { return logl(x); });
	expect(ulps <= 1, "logf_: %g ulp, want at most 1", ulps);
	ulps = worst<float>("rsqrtf_", l, apply("math_float", 2, l), [](long double x) { return 1 / sqrtl(x); });
	expect(ulps <= 1.5, "rsqrtf_: %g ulp, want at most 1.5: two roundings, the first of which may count twice", ulps);
	std::vector<double> ed, ld;
	for (int i = 0; i < 200000; i++) ed.push_back(-750.0 + i * (1465.0 / 200000));
	for (int i = 0; i < 20000; i++) ed.push_back(uniform() * 1e-3);
	for (int i = 0; i < 200000; i++) ld.push_back(ldexp(1 + 0.5 * (1 + uniform()), -1074 + i % 2097));
	for (int i = -20000; i < 20000; i++) ld.push_back(1 + i * 1e-5);
	ulps = worst<double>("exp_d", ed, apply("math_double", 0, ed), [](long double x) { return expl(x); });
	expect(ulps <= 2, "exp_d: %g ulp, want at most 2", ulps);
	ulps = worst<double>("log_d", ld, apply("math_double", 1, ld), [](long double x) { return logl(x); });
	expect(ulps <= 2, "log_d: %g ulp, want at most 2", ulps);

	const float inf = INFINITY, nan = NAN;
	std::vector<float> edge{0, -inf, inf, nan, -1};
	auto x = apply("math_float", 0, edge), y = apply("math_float", 1, edge);
	expect(x[0] == 1 && x[1] == 0 && x[2] == inf && isnan(x[3]), "expf_ of 0 -inf inf NaN: %g %g %g %g", x[0], x[1],
		x[2], x[3]);
	expect(y[0] == -inf && isnan(y[1]) && y[2] == inf && isnan(y[3]) && isnan(y[4]),
		"logf_ of 0 -inf inf NaN -1: %g %g %g %g %g", y[0], y[1], y[2], y[3], y[4]);
	std::vector<double> edged(edge.begin(), edge.end());
	auto xd = apply("math_double", 0, edged), yd = apply("math_double", 1, edged);
	expect(xd[0] == 1 && xd[1] == 0 && xd[2] == inf && isnan(xd[3]), "exp_d of 0 -inf inf NaN: %g %g %g %g", xd[0],
		xd[1], xd[2], xd[3]);
	expect(yd[0] == -inf && isnan(yd[1]) && yd[2] == inf && isnan(yd[3]) && isnan(yd[4]), "log_d of 0 -inf inf NaN -1");
}

// math_bits reads the words of math_bits from stdin and writes what the kernel makes of them.
static void math_bits_case() {
	std::vector<uint32_t> words, one(7 * 64);
	while (fread(one.data(), 4, one.size(), stdin) == one.size()) words.insert(words.end(), one.begin(), one.end());
	Array<uint32_t> w(words);
	start("math_bits", {(unsigned)(words.size() / one.size()), 64}, PairArgs{w.ptr()});
	auto got = w.get();
	fwrite(got.data(), 4, got.size(), stdout);
}

int main(int argc, char **argv) {
	std::map<std::string, std::function<void()>> cases{
		{"reverse", reverse_case}, {"reverse_dropped", reverse_dropped_case}, {"rotate_dropped", rotate_dropped_case},
		{"leaves_early", [] { fails("leaves_early", 64); }}, {"two_barriers", [] { fails("two_barriers", 32); }},
		{"lane_missing", [] { fails("lane_missing", 7); }}, {"lanes_disagree", [] { fails("lanes_disagree", 0); }},
		{"mma_half", [] { fails("mma_half", 0); }}, {"shuffles", shuffles_case}, {"ldmatrix", ldmatrix_case},
		{"mma_tf32", [] { mma_case("mma_tf32"); }}, {"mma_bf16", [] { mma_case("mma_bf16"); }},
		{"cp_async", cp_async_case}, {"cp_async_no_wait", cp_async_no_wait_case}, {"poison", poison_case},
		{"global_overrun", [] { overrun("global_overrun", 32, 0); }},
		{"shared_overrun", [] { overrun("shared_overrun", 1, 0); }},
		{"dynamic_overrun", [] { overrun("dynamic_overrun", 65, 256); }}, {"misaligned", misaligned_case},
		{"block_order", block_order_case}, {"deferred", deferred_case}, {"graph", graph_case}, {"limits", limits_case},
		{"lose_context", lose_context_case}, {"list", list_case}, {"devices", devices_case}, {"math", math_case},
		{"math_bits", math_bits_case},
	};
	if (argc != 3 || cases.count(argv[2]) == 0) {
		fprintf(stderr, "drive LIBRARY CASE\n");
		return 2;
	}
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	expect(library != nullptr, "%s", dlerror());
#define LOAD(name, ...) \
	name = reinterpret_cast<int (*)(__VA_ARGS__)>(dlsym(library, #name)); \
	expect(name != nullptr, "%s", #name);
	DRIVER_CALLS(LOAD)
	ok(cuInit(0));
	ok(cuDevicePrimaryCtxRetain(&context, 0));
	ok(cuCtxSetCurrent(context));
	cases[argv[2]]();
	return 0;
}
