// graph.cpp: API calls about captures and graphs. A graph is the list of captured operations, in the order of the
// calls. Each operation holds a copy of its launch arguments.
#include "driver.h"

using namespace emu;

EMU_API cuStreamBeginCapture_v2(void *handle, int mode) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	if (s == nullptr) return d.error(invalid_handle);
	if (s == &d.null_stream) return d.error(capture_unsupported, "the default stream cannot capture");
	if (s->capture != nullptr) return d.error(invalid_value, "the stream captures already");
	s->capture = std::make_shared<Capture>();
	s->capture->origin = s;
	s->capture->mode = mode;
	s->capture->thread = std::this_thread::get_id();
	s->unjoined = false;
	return success;
}

EMU_API cuStreamEndCapture(void *handle, void **out) {
	EMU_ENTER;
	*out = nullptr;
	Stream *s = d.stream(handle);
	if (s == nullptr) return d.error(invalid_handle);
	std::shared_ptr<Capture> c = s->capture;
	if (c == nullptr || c->origin != s) return d.error(capture_unmatched);
	if (c->mode != 2 && c->thread != std::this_thread::get_id()) return d.error(capture_wrong_thread);
	bool unjoined = false;
	for (Stream *other : d.streams) {
		if (other->capture != c) continue;
		unjoined = unjoined || (other != s && other->unjoined);
		other->capture = nullptr;
		other->unjoined = false;
	}
	for (Event *e : d.events) {
		if (e->capture == c) e->capture = nullptr;
	}
	if (c->invalid) return d.error(capture_invalidated);
	if (unjoined) {
		return d.error(capture_unjoined, "a stream's work was captured and the capturing stream does not wait for it");
	}
	Graph *g = new Graph{std::make_shared<const std::vector<std::function<int()>>>(std::move(c->ops))};
	d.graphs.insert(g);
	*out = g;
	return success;
}

EMU_API cuStreamIsCapturing(void *handle, int *status) {
	EMU_ENTER;
	Stream *s = d.stream(handle);
	if (s == nullptr) return d.error(invalid_handle);
	*status = s->capture == nullptr ? 0 : s->capture->invalid ? 2 : 1;
	return success;
}

EMU_API cuGraphGetNodes(void *graph, void **nodes, size_t *n) {
	EMU_ENTER;
	Graph *g = static_cast<Graph *>(graph);
	if (d.graphs.count(g) == 0) return d.error(invalid_handle);
	if (nodes != nullptr) {
		for (size_t i = 0; i < *n; i++) {
			nodes[i] = i < g->ops->size() ? const_cast<std::function<int()> *>(&(*g->ops)[i]) : nullptr;
		}
		if (*n > g->ops->size()) *n = g->ops->size();
		return success;
	}
	*n = g->ops->size();
	return success;
}

EMU_API cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long) {
	EMU_ENTER;
	Graph *g = static_cast<Graph *>(graph);
	if (d.graphs.count(g) == 0) return d.error(invalid_handle);
	if (int code = d.charge("cuGraphInstantiate", 1)) return code;
	Graph *exec = new Graph(*g);
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
	return d.submit(s, [ops = g->ops] {
		for (const auto &op : *ops) {
			if (int code = op()) return code;
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
