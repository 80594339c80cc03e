//go:build linux && amd64 && cgo

// The instructions of AMX, as the Intel 64 and IA-32 Architectures Software Developer's Manual describes them.
#define _GNU_SOURCE
#include "emulate.h"

#include <immintrin.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define TILES 8
#define ROWS 16
#define ROW_BYTES 64

typedef union {
	uint8_t bytes[ROW_BYTES];
	uint16_t bf16[32];
	float f32[16];
} row;

// The tiles of a thread. palette is 0 while they are not configured.
static __thread struct {
	uint8_t palette, rows[TILES];
	uint16_t row_bytes[TILES];
	row tile[TILES][ROWS];
} state;

static struct sigaction before; // who handles all other illegal instructions
static long emulated;

int tiles_in_use(void) { return state.palette != 0; }

long tiles_emulated(void) { return __atomic_load_n(&emulated, __ATOMIC_RELAXED); }

// fault reports what a processor would refuse, and ends the process.
static void __attribute__((noreturn, format(printf, 2, 3))) fault(const uint8_t *at, const char *format, ...) {
	char text[300];
	int n = snprintf(text, sizeof text, "tiles: instruction at %p: ", (const void *)at);
	va_list args;
	va_start(args, format);
	n += vsnprintf(text + n, sizeof text - n - 1, format, args);
	va_end(args);
	text[n++] = '\n';
	if (write(2, text, n) < 0) {
	}
	abort();
}

// poison fills all tiles with NaN. A processor clears them; no code shall rely on that.
static void poison(void) { memset(state.tile, 0xff, sizeof state.tile); }

// The configuration in memory.
typedef struct {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
} config;

static void load_config(const uint8_t *at, const void *from) {
	config c;
	memcpy(&c, from, sizeof c);
	poison();
	state.palette = 0;
	if (c.palette == 0)
		return;
	if (c.palette != 1)
		fault(at, "LDTILECFG: palette %d, want 1", c.palette);
	if (c.start_row != 0)
		fault(at, "LDTILECFG: start row %d, want 0", c.start_row);
	for (int i = 0; i < 14; i++)
		if (c.reserved[i])
			fault(at, "LDTILECFG: reserved byte %d is not 0", 2 + i);
	for (int i = 0; i < 16; i++) {
		int bytes = c.row_bytes[i], rows = c.rows[i];
		if (i >= TILES && (bytes || rows))
			fault(at, "LDTILECFG: tile %d, there are %d", i, TILES);
		if (bytes > ROW_BYTES || rows > ROWS || !bytes != !rows)
			fault(at, "LDTILECFG: tile %d: %d rows of %d bytes", i, rows, bytes);
		if (i < TILES) {
			state.row_bytes[i] = bytes;
			state.rows[i] = rows;
		}
	}
	state.palette = c.palette;
}

// configured ends the process unless tile t may be used.
static void configured(const uint8_t *at, const char *name, int t) {
	if (!state.palette)
		fault(at, "%s: no tiles are configured on this thread", name);
	if (t >= TILES)
		fault(at, "%s: tile %d, there are %d", name, t, TILES);
	if (!state.rows[t])
		fault(at, "%s: tile %d is not configured", name, t);
}

static float widen(uint16_t x) {
	uint32_t u = (uint32_t)x << 16;
	float f;
	memcpy(&f, &u, sizeof f);
	return f;
}

// multiply adds the products of the first pairs pairs of a and b to the first cols numbers of c. The processor's own
// arithmetic, told to flush subnormal numbers, does what TDPBF16PS shall do.
__attribute__((target("avx512f,fma"), noinline)) static void multiply(float *c, const uint16_t *a, const uint16_t *b,
	int b_pitch, int cols, int pairs) {
	float even[16] = {0}, odd[16] = {0};
	unsigned saved = _mm_getcsr();
	// Daz and ftz; round to nearest; no exceptions.
	unsigned flush = 0x1f80 | 1 << 15 | 1 << 6;
	__asm__ volatile("ldmxcsr %0" ::"m"(flush) : "memory");
	for (int k = 0; k < pairs; k++) {
		float x = widen(a[2 * k]), y = widen(a[2 * k + 1]);
		for (int j = 0; j < cols; j++) {
			even[j] = __builtin_fmaf(x, widen(b[k * b_pitch + 2 * j]), even[j]);
			odd[j] = __builtin_fmaf(y, widen(b[k * b_pitch + 2 * j + 1]), odd[j]);
		}
	}
	for (int j = 0; j < cols; j++)
		c[j] = c[j] + (even[j] + odd[j]);
	__asm__ volatile("ldmxcsr %0" ::"m"(saved) : "memory");
}

void tiles_multiply(float *c, const uint16_t *a, const uint16_t *b, int rows, int cols, int pairs) {
	for (int m = 0; m < rows; m++)
		multiply(c + m * cols, a + m * 2 * pairs, b, 2 * cols, cols, pairs);
}

static void dot(const uint8_t *at, int sum, int x, int y) {
	configured(at, "TDPBF16PS", sum);
	configured(at, "TDPBF16PS", x);
	configured(at, "TDPBF16PS", y);
	if (sum == x || sum == y || x == y)
		fault(at, "TDPBF16PS: tiles %d, %d and %d: want three", sum, x, y);
	int rows = state.rows[sum], bytes = state.row_bytes[sum], pairs = state.row_bytes[x] / 4;
	if (state.row_bytes[x] % 4 || bytes % 4 || state.rows[x] != rows || state.rows[y] != pairs ||
		state.row_bytes[y] != bytes)
		fault(at, "TDPBF16PS: %d rows of %d bytes by %d rows of %d bytes, added to %d rows of %d bytes", state.rows[x],
			state.row_bytes[x], state.rows[y], state.row_bytes[y], rows, bytes);
	for (int m = 0; m < ROWS; m++) {
		row *c = &state.tile[sum][m];
		if (m < rows)
			multiply(c->f32, state.tile[x][m].bf16, state.tile[y][0].bf16, 32, bytes / 4, pairs);
		int from = m < rows ? bytes : 0;
		memset(c->bytes + from, 0, ROW_BYTES - from);
	}
}

// An instruction with a prefix of three bytes.
typedef struct {
	const uint8_t *at, *next;
	int opcode, prefix, reg, rm, second, w, l;
	int in_memory, has_sib;
	uint8_t *address; // base + displacement
	int64_t index;	  // scaled
} instruction;

// decode reads the instruction at rip, and returns 0 if it is none of map 0F38 with a VEX prefix of three bytes.
static int decode(instruction *i, const greg_t *g) {
	static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
		REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	const uint8_t *p = (const uint8_t *)g[REG_RIP];
	*i = (instruction){.at = p};
	if (p[0] != 0xc4 || (p[1] & 31) != 2)
		return 0;
	int r = !(p[1] & 0x80) << 3, x = !(p[1] & 0x40) << 3, b = !(p[1] & 0x20) << 3;
	i->w = p[2] >> 7;
	i->second = ~p[2] >> 3 & 15;
	i->l = p[2] >> 2 & 1;
	i->prefix = p[2] & 3;
	i->opcode = p[3];
	int modrm = p[4], mod = modrm >> 6;
	i->reg = r | (modrm >> 3 & 7);
	i->rm = b | (modrm & 7);
	p += 5;
	if (mod == 3) {
		i->next = p;
		return 1;
	}
	i->in_memory = 1;
	int base = i->rm, absolute = 0, relative = 0;
	if ((modrm & 7) == 4) {
		int sib = *p++, index = x | (sib >> 3 & 7);
		i->has_sib = 1;
		base = b | (sib & 7);
		if (index != 4)
			i->index = (int64_t)((uint64_t)g[order[index]] << (sib >> 6));
		absolute = mod == 0 && (sib & 7) == 5;
	} else
		relative = mod == 0 && (modrm & 7) == 5;
	int64_t displacement = 0;
	if (mod == 1)
		displacement = (int8_t)*p++;
	else if (mod == 2 || absolute || relative) {
		int32_t d;
		memcpy(&d, p, 4);
		displacement = d;
		p += 4;
	}
	i->next = p;
	int64_t from = relative ? (int64_t)p : absolute ? 0 : g[order[base]];
	i->address = (uint8_t *)(from + displacement);
	return 1;
}

// move loads tile t from memory, or stores it there.
static void move(const instruction *i, int store) {
	const char *name = store ? "TILESTORED" : "TILELOADD";
	if (!i->has_sib)
		fault(i->at, "%s: the address has no index", name);
	configured(i->at, name, i->reg);
	row *tile = state.tile[i->reg];
	int rows = state.rows[i->reg], bytes = state.row_bytes[i->reg];
	for (int m = 0; m < ROWS; m++) {
		uint8_t *memory = i->address + m * i->index;
		if (store) {
			if (m < rows)
				memcpy(memory, tile[m].bytes, bytes);
			continue;
		}
		memset(&tile[m], 0, sizeof(row));
		if (m < rows)
			memcpy(tile[m].bytes, memory, bytes);
	}
}

// run does what an instruction does, and returns 0 if it is none of AMX.
static int run(const instruction *i) {
	enum { none, p66, pf3, pf2 };
	int vector = i->opcode << 2 | i->prefix;
	if (i->w || i->l || (i->opcode != 0x5c && i->second != 0))
		return 0;
	switch (vector) {
	case 0x49 << 2 | none:
		if (i->in_memory && i->reg == 0)
			load_config(i->at, i->address + i->index);
		else if (!i->in_memory && i->reg == 0 && i->rm == 0) { // TILERELEASE
			state.palette = 0;
			poison();
		} else
			return 0;
		return 1;
	case 0x49 << 2 | pf2:
		if (i->in_memory || i->rm != 0)
			return 0;
		configured(i->at, "TILEZERO", i->reg);
		memset(state.tile[i->reg], 0, sizeof state.tile[0]);
		return 1;
	case 0x4b << 2 | pf2:
	case 0x4b << 2 | pf3:
		if (!i->in_memory)
			return 0;
		move(i, i->prefix == pf3);
		return 1;
	case 0x5c << 2 | pf3:
		if (i->in_memory)
			return 0;
		dot(i->at, i->reg, i->rm, i->second);
		return 1;
	}
	return 0;
}

static void handle(int signal, siginfo_t *info, void *context) {
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	instruction i;
	if (decode(&i, g) && run(&i)) {
		g[REG_RIP] = (greg_t)i.next;
		__atomic_add_fetch(&emulated, 1, __ATOMIC_RELAXED);
		return;
	}
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(signal, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(signal);
	else
		fault((const uint8_t *)g[REG_RIP], "illegal");
}

int tiles_install(void) {
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	ours.sa_sigaction = handle;
	// Faults of the handler itself, such as a page without access, must reach Go's runtime.
	sigfillset(&ours.sa_mask);
	sigdelset(&ours.sa_mask, SIGSEGV);
	sigdelset(&ours.sa_mask, SIGBUS);
	sigdelset(&ours.sa_mask, SIGABRT);
	return sigaction(SIGILL, &ours, &before);
}

void tiles_execute(void *code, void *a, void *b, void *c) { ((void (*)(void *, void *, void *))code)(a, b, c); }
