//go:build linux && amd64 && cgo

// What emulator_linux_amd64.go calls.
#include <stdint.h>

// tiles_install installs the handler of SIGILL. It returns 0, or -1 if the system refuses.
int tiles_install(void);
// tiles_emulated returns how many instructions have been emulated.
long tiles_emulated(void);
// tiles_in_use returns whether the tiles of this thread are configured.
int tiles_in_use(void);
// tiles_multiply is TDPBF16PS on matrices in memory without gaps.
void tiles_multiply(float *c, const uint16_t *a, const uint16_t *b, int rows, int cols, int pairs);
// tiles_execute calls machine code.
void tiles_execute(void *code, void *a, void *b, void *c);
