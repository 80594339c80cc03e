/* fakecuda.c: a libcuda.so.1 for tests of the binding. Its device is the host and its only kernel is fill (fill.ptx).
 *
 * All work waits in a queue for the next synchronisation: a caller that reads without waiting reads old bytes.
 *
 * Environment variables: FAKE_version, FAKE_devices, FAKE_major, FAKE_mode and FAKE_memory (bytes) set what the library
 * reports, FAKE_log sets the messages of its compiler, and FAKE_<symbol>=N makes a function return N. The compiler
 * option -D<symbol>=other leaves a function out, and -DCOMPILER makes the library want its compiler of PTX, which it opens
 * by name as NVIDIA's does. Every object takes a byte of device memory besides its own memory, so
 * that a leak shows in cuMemGetInfo. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint32_t *out;
  uint32_t value, n;
} fill; /* the kernel's parameter */
typedef struct work {
  enum { FILL, COPY, SET } kind;
  fill f; /* FILL writes value, value+1 and so on; SET writes the same value n times */
  void *dst;
  const void *src;
  size_t n;
  struct work *next;
} work;
typedef struct {
  work *first, **end;
} graph;

static long taken;      /* bytes of the device */
static graph queue = {.end = &queue.first};

static long set(const char *name, long otherwise) {
  char key[100];
  snprintf(key, sizeof key, "FAKE_%s", name);
  const char *v = getenv(key);
  return v && *v ? atol(v) : otherwise;
}
#define PLANNED                     \
  do {                              \
    int r = (int)set(__func__, 0);  \
    if (r) return r;                \
  } while (0)

static void *make(size_t n) {
  taken++;
  return calloc(1, n);
}
static int end(void *p) {
  taken--;
  free(p);
  return 0;
}

static int append(graph *g, work w) {
  *g->end = malloc(sizeof w);
  **g->end = w;
  (*g->end)->next = NULL;
  g->end = &(*g->end)->next;
  return 0;
}
static int put(work w) { return append(&queue, w); }
static int flush(void) {
  for (work *w = queue.first, *next; w; w = next) {
    for (uint32_t i = 0; w->kind != COPY && i < w->f.n; i++) w->f.out[i] = w->f.value + (w->kind == FILL ? i : 0);
    if (w->kind == COPY) memcpy(w->dst, w->src, w->n);
    next = w->next;
    free(w);
  }
  queue = (graph){.end = &queue.first};
  return 0;
}
static int copy(void *dst, const void *src, size_t n) {
  return put((work){.kind = COPY, .dst = dst, .src = src, .n = n});
}

int cuInit(unsigned flags) { PLANNED; return (int)flags; }
int cuDriverGetVersion(int *v) { PLANNED; *v = (int)set("version", 12040); return 0; }
static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
};
static int explain(int e, const char **name, const char **text) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == e) return *name = errors[i].name, *text = errors[i].text, 0;
  return 1;
}
int cuGetErrorName(int e, const char **s) { const char *text; return explain(e, s, &text); }
int cuGetErrorString(int e, const char **s) { const char *name; return explain(e, &name, s); }

int cuDeviceGetCount(int *n) { PLANNED; *n = (int)set("devices", 1); return 0; }
int cuDeviceGet(int *d, int i) { PLANNED; *d = i; return 0; }
int cuDeviceGetName(char *s, int n, int d) { PLANNED; snprintf(s, (size_t)n, "Fake %d", d); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { PLANNED; (void)d; *n = (size_t)set("memory", 1 << 20); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) {
  PLANNED;
  (void)d;
  switch (a) {
  case 16: *v = 132; return 0;
  case 20: *v = (int)set("mode", 0); return 0;
  case 75: *v = (int)set("major", 9); return 0;
  case 76: *v = (int)set("major", 9) == 7 ? 5 : 0; return 0;
  case 97: *v = 227 << 10; return 0;
  }
  return 1;
}
static unsigned flags_set;
int cuDevicePrimaryCtxSetFlags_v2(int d, unsigned flags) { PLANNED; (void)d; flags_set = flags; return 0; }
int cuDevicePrimaryCtxGetState(int d, unsigned *flags, int *active) {
  PLANNED;
  (void)d;
  *flags = flags_set;
  *active = 1;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int d) { PLANNED; (void)d; *c = make(1); return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { PLANNED; (void)d; taken--; return 0; }
int cuCtxSetCurrent(void *c) { PLANNED; (void)c; return 0; }

int cuModuleLoadDataEx(void **m, const void *ptx, unsigned n, int *options, void **values) {
  for (unsigned i = 0; i + 1 < n; i++)
    if (options[i] == 5 && options[i + 1] == 6 && getenv("FAKE_log"))
      snprintf(values[i], (size_t)values[i + 1], "%s", getenv("FAKE_log"));
  PLANNED;
#ifdef COMPILER
  void *compiler = dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_NOW);
  if (!compiler || !dlsym(compiler, "fake_compiler")) return 221; /* one of NVIDIA's is not ours */
#endif
  if (!strstr(ptx, ".entry fill(")) return 218;
  *m = make(1);
  return 0;
}
int cuModuleUnload(void *m) { PLANNED; return end(m); }
int cuModuleGetFunction(void **f, void *m, const char *name) {
  PLANNED;
  (void)m;
  if (strcmp(name, "fill")) return 500;
  *f = &taken;
  return 0;
}
int cuFuncGetAttribute(int *v, int a, void *f) { PLANNED; (void)f; *v = (int[]){1024, 512, 0, 0, 16, 0, 0, 0, 0, 40}[a]; return 0; }
int cuFuncSetAttribute(void *f, int a, int v) {
  PLANNED;
  (void)f;
  return a == 9 ? v < -1 || v > 100 : a != 8 || v > (227 << 10) - 512;
}
int cuFuncGetParamInfo(void *f, size_t i, size_t *offset, size_t *size) {
  PLANNED;
  (void)f;
  if (i) return 1;
  *offset = 0;
  *size = sizeof(fill);
  return 0;
}
static int fill_of(work *w, unsigned gx, unsigned others, unsigned bx, void **params, void **extra) {
  fill a = *(fill *)params[0];
  if (extra || others != 1 || bx > 1024) return 1;
  if (a.n > gx * bx) a.n = gx * bx;
  *w = (work){.kind = FILL, .f = a};
  return 0;
}
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *s, void **params, void **extra) {
  PLANNED;
  (void)f, (void)s, (void)shared;
  work w;
  int r = fill_of(&w, gx, gy * gz * by * bz, bx, params, extra);
  return r ? r : put(w);
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  PLANNED;
  *total = (size_t)set("memory", 1 << 20);
  *free = *total - (size_t)taken;
  return 0;
}
int cuMemAlloc_v2(void **p, size_t n) { /* the size lies in front */
  PLANNED;
  if (taken + (long)n > set("memory", 1 << 20)) return 2;
  taken += (long)n;
  size_t *b = malloc(n + 256);
  *b = n;
  *p = (char *)b + 256;
  return 0;
}
int cuMemFree_v2(void *p) {
  PLANNED;
  size_t *b = (size_t *)((char *)p - 256);
  taken -= (long)*b;
  free(b);
  return 0;
}
int cuMemHostAlloc(void **p, size_t n, unsigned flags) { PLANNED; *p = make(n); return (int)flags; }
int cuMemFreeHost(void *p) { PLANNED; return end(p); }
int cuMemcpyHtoDAsync_v2(void *d, const void *s, size_t n, void *h) { PLANNED; (void)h; return copy(d, s, n); }
int cuMemcpyDtoHAsync_v2(void *d, const void *s, size_t n, void *h) { PLANNED; (void)h; return copy(d, s, n); }
int cuMemsetD32Async(void *d, unsigned v, size_t n, void *s) {
  PLANNED;
  (void)s;
  return put((work){.kind = SET, .f = {d, v, (uint32_t)n}});
}

int cuStreamCreate(void **s, unsigned flags) { PLANNED; *s = make(1); return flags != 1; }
int cuStreamDestroy_v2(void *s) { PLANNED; return end(s); }
int cuStreamSynchronize(void *s) { PLANNED; (void)s; return flush(); }
int cuGraphDestroy(void *p) {
  PLANNED;
  graph *g = p;
  for (work *w = g->first, *next; w; w = next) next = w->next, free(w);
  return end(g);
}
int cuEventCreate(void **e, unsigned flags) { PLANNED; *e = make(1); return (int)flags; }
int cuEventDestroy_v2(void *e) { PLANNED; return end(e); }
int cuEventRecord(void *e, void *s) { PLANNED; (void)e, (void)s; return 0; }
int cuEventElapsedTime(float *ms, void *a, void *b) { PLANNED; (void)a, (void)b; *ms = 1.5f; return 0; }
int cuGraphCreate(void **g, unsigned flags) {
  PLANNED;
  graph *made = make(sizeof *made);
  made->end = &made->first;
  *g = made;
  return (int)flags;
}
typedef struct {
  void *func;
  unsigned gx, gy, gz, bx, by, bz, shared;
  void **params, **extra, *kern, *ctx;
} launch;
int cuGraphAddKernelNode_v2(void **node, void *p, void *const *after, size_t n, const launch *l) {
  PLANNED;
  graph *g = p;
  work w, *found;
  int r = fill_of(&w, l->gx, l->gy * l->gz * l->by * l->bz, l->bx, l->params, l->extra);
  for (size_t i = 0; i < n && !r; i++) { /* every node to wait for is one of the graph */
    for (found = g->first; found && found != after[i];) found = found->next;
    if (!found) r = 1;
  }
  if (r) return r;
  work **at = g->end;
  append(g, w);
  *node = *at;
  return 0;
}
int cuGraphInstantiateWithFlags(void **x, void *g, unsigned long long flags) { /* a copy, which outlives the graph */
  PLANNED;
  graph *copied = make(sizeof *copied);
  copied->end = &copied->first;
  for (work *w = ((graph *)g)->first; w; w = w->next) append(copied, *w);
  *x = copied;
  return (int)flags;
}
int cuGraphLaunch(void *x, void *s) {
  PLANNED;
  (void)s;
  for (work *w = ((graph *)x)->first; w; w = w->next) put(*w);
  return 0;
}
int cuGraphExecDestroy(void *x) { PLANNED; return cuGraphDestroy(x); }
