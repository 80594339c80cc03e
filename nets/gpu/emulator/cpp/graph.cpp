// graph.cpp: API calls about graphs. A launch of a graph runs the nodes one by one, each behind all that it waits for,
// and otherwise in an order that is not that in which they were added: a wait that is missing shows in the results.
#include "driver.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace emu;

namespace {

// KernelNode is CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
	void *function;
	unsigned gx, gy, gz, bx, by, bz, dynamic_bytes;
	void **params, **extra;
	void *kernel, *context;
};

// handle returns the driver's name of the node with a number.
void *handle(size_t number) { return reinterpret_cast<void *>(number + 1); }

// order returns the numbers of the nodes in an order in which they may run. Of the nodes that wait for nothing more it
// takes the one of the highest rank. With even seeds the rank is the number, with odd seeds it is drawn: some nodes then
// run as late as they can.
std::vector<size_t> order(const std::vector<Node> &nodes, uint64_t seed) {
	std::vector<size_t> waits(nodes.size()), rank(nodes.size()), ready, done;
	std::iota(rank.begin(), rank.end(), 0);
	if (seed % 2 == 1) std::shuffle(rank.begin(), rank.end(), std::mt19937_64(seed));
	std::vector<std::vector<size_t>> behind(nodes.size());
	for (size_t i = 0; i < nodes.size(); i++) {
		waits[i] = nodes[i].after.size();
		for (size_t n : nodes[i].after) behind[n].push_back(i);
		if (waits[i] == 0) ready.push_back(i);
	}
	while (!ready.empty()) {
		auto next = std::max_element(ready.begin(), ready.end(), [&](size_t a, size_t b) { return rank[a] < rank[b]; });
		size_t node = *next;
		ready.erase(next);
		done.push_back(node);
		for (size_t n : behind[node]) {
			if (--waits[n] == 0) ready.push_back(n);
		}
	}
	return done;
}

} // namespace

EMU_API cuGraphCreate(void **out, unsigned flags) {
	EMU_ENTER;
	if (flags != 0) return d.error(invalid_value);
	Graph *g = new Graph;
	d.graphs.insert(g);
	*out = g;
	return success;
}

EMU_API cuGraphAddKernelNode_v2(void **out, void *graph, void *const *after, size_t n, const KernelNode *k) {
	EMU_ENTER;
	Graph *g = static_cast<Graph *>(graph);
	if (d.graphs.count(g) == 0) return d.error(invalid_handle);
	Node node;
	for (size_t i = 0; i < n; i++) {
		size_t number = reinterpret_cast<size_t>(after[i]) - 1;
		if (number >= g->nodes->size()) return d.error(invalid_value, "a node waits for one that is not in its graph");
		node.after.push_back(number);
	}
	if (int code = d.prepare(&node.run, k->function, {k->gx, k->gy, k->gz}, {k->bx, k->by, k->bz}, k->dynamic_bytes,
			k->params, k->extra)) {
		return code;
	}
	*out = handle(g->nodes->size());
	g->nodes->push_back(std::move(node));
	return success;
}

EMU_API cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long) {
	EMU_ENTER;
	Graph *g = static_cast<Graph *>(graph);
	if (d.graphs.count(g) == 0) return d.error(invalid_handle);
	if (int code = d.charge("cuGraphInstantiate", 1)) return code;
	Graph *exec = new Graph{std::make_shared<std::vector<Node>>(*g->nodes)};
	d.execs.insert(exec);
	*out = exec;
	return success;
}

EMU_API cuGraphLaunch(void *exec, void *handle) {
	EMU_ENTER;
	Graph *g = static_cast<Graph *>(exec);
	Stream *s = d.stream(handle);
	if (d.execs.count(g) == 0 || s == nullptr) return d.error(invalid_handle);
	if (d.settings.fail_launch >= 0 && d.launch_calls++ == d.settings.fail_launch) {
		return d.error(launch_out_of_resources, "ROLLCALL_EMULATOR_FAIL_LAUNCH");
	}
	if (int code = d.charge("cuGraphLaunch", 0)) return code;
	uint64_t seed = d.settings.seed + (uint64_t)d.graphs_run++;
	return d.submit(s, [nodes = g->nodes, seed] {
		for (size_t n : order(*nodes, seed)) {
			if (int code = (*nodes)[n].run()) return code;
		}
		return 0;
	});
}

EMU_API cuGraphExecDestroy(void *exec) {
	EMU_ENTER;
	Graph *g = static_cast<Graph *>(exec);
	if (d.execs.erase(g) == 0) return d.error(invalid_handle);
	d.used -= d.charged(1);
	delete g;
	return success;
}

EMU_API cuGraphDestroy(void *graph) {
	EMU_ENTER;
	Graph *g = static_cast<Graph *>(graph);
	if (d.graphs.erase(g) == 0) return d.error(invalid_handle);
	delete g;
	return success;
}
